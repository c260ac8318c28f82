/** Tasks from outside, into normal processing: as those of letters (steps/redrive.ts), but nobody waits, and failures become letters. */
import { callbackState } from '../generated/enums.ts';
import { callbackOf, hasFailed, isUnsettled } from '../run/callback.ts';
import { retentionOf } from '../steps/end-of-run.ts';
import type { Draft } from '../draft/draft.ts';
import { overtakenBy, pendingAgain, stopRetention } from '../steps/redrive.ts';
import { findRun, reject, rejectInvalid, workflowBehind } from '../run/reject.ts';
import type { HistoryReply } from '../run/history-replies.ts';
import type { RunView } from '../run/state.ts';
import type { PendingTask } from '../run/tasks.ts';
import { workflowTaskDeadline } from '../steps/workflow-task.ts';
import type { AddTasks } from '../commands/shard-task-commands.ts';
import { isPendingAlready } from './pending-already.ts';
import { targetProblem } from './task-target.ts';

/** One that has nothing left to do, or is pending, is not added: so it may be asked for again where the answer was lost. */
export function addTasks(draft: Draft, { key, tasks }: AddTasks): HistoryReply {
  const { shard, wire, nowMs } = draft;
  if (shard.aside.has(key.runId)) return reject({ reason: 'busy-workflow', message: 'the workflow of the tasks is quarantined' });
  if (shard.isBehind(key.runId)) return workflowBehind;
  const given = tasks.map((bytes) => wire.decodeTask(bytes));
  // All or none.
  for (const task of given) {
    const run = findRun(shard, task.key);
    const problem = run === undefined ? undefined : targetProblem(run, task, wire);
    if (problem !== undefined) return rejectInvalid(problem);
  }
  const called = new Set<string>();
  for (const [index, said] of given.entries()) {
    const task = inItsTime(draft, said);
    if (task === undefined || overtakenBy(draft, task) !== undefined || isPendingAlready(draft, task)) continue;
    if (task.kind === 'invokeCallback') {
      // That the first of them is pending is known when this is committed.
      if (called.has(task.callbackId)) continue;
      called.add(task.callbackId);
      stopRetention(draft, task);
    }
    addTask(draft, index, pendingAgain(task, draft.nextTaskId(), nowMs));
  }
  return { kind: 'done' };
}

/** A timer is due when its run says so, whatever time it comes with: neither before, nor so late that it is lost. undefined: the run has none such. */
function inItsTime(draft: Draft, task: PendingTask): PendingTask | undefined {
  const run = findRun(draft.shard, task.key);
  if (run === undefined) return task;
  switch (task.kind) {
    case 'runTimeout':
    case 'executionTimeout':
      return run.start.runExpirationMs === 0 ? undefined : { ...task, fireTimeMs: run.start.runExpirationMs };
    case 'firstWorkflowTask':
      return { ...task, fireTimeMs: run.start.executionTimeMs };
    case 'retention':
      return endsAnyway(draft, run) ? undefined : { ...task, fireTimeMs: run.closeTimeMs + retentionOf(draft, run) };
    case 'callbackBackoff': {
      const callback = callbackOf(run, task.callbackId);
      return callback?.state === callbackState.backingOff ? { ...task, fireTimeMs: callback.nextAttemptTimeMs } : undefined;
    }
    case 'archiveExecution':
      return draft.archives(run.key.namespaceId) && !run.callbacks.some(isUnsettled) ? { ...task, fireTimeMs: draft.nowMs } : undefined;
    case 'userTimer': {
      const timer = run.timers.get(task.timerId);
      return timer === undefined ? undefined : { ...task, fireTimeMs: timer.fireTimeMs };
    }
    case 'workflowTaskTimeout': {
      const fireTimeMs = workflowTaskDeadline(run, task.timeout, draft.limits);
      return fireTimeMs === undefined ? undefined : { ...task, fireTimeMs };
    }
    case 'activityRetry': {
      const activity = run.activities.get(task.scheduledEventId);
      return activity?.inBackoff === true ? { ...task, fireTimeMs: activity.scheduledTimeMs } : undefined;
    }
    default:
      return task;
  }
}

/** The retention of the run is pending, or comes when its callbacks, its archive, or their letters, need the run no more. */
function endsAnyway(draft: Draft, { key, callbacks, retentionTaskId }: RunView): boolean {
  const isPending = draft.shard.timers.get(retentionTaskId) !== undefined;
  return isPending || draft.archives(key.namespaceId) || callbacks.some(isUnsettled) || callbacks.some(hasFailed);
}

/** Queues count from 1. */
const NO_QUEUE = 0;

/** A letter that is begun, ended and confirmed in one record: its task waits, and no mark does. */
function addTask(draft: Draft, index: number, task: PendingTask): void {
  const letter = { queue: NO_QUEUE, messageId: index, generation: 0 };
  draft.beginLetter({ letter, task });
  draft.endLetter({ letter, outcome: { kind: 'applied' } });
  draft.confirmLetter(letter);
}
