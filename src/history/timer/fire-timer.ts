/** Timers that are due. One that no longer fits the state does nothing but end. */
import { unreachable } from '../../kernel/assert.ts';
import { fireCallbackBackoff } from '../callback/attempt.ts';
import { fireActivityRetry, fireActivityTimeout } from '../activity/activity-close.ts';
import { decideClose } from '../execution/close.ts';
import { fireRetention } from '../execution/retire.ts';
import type { FireTimer } from './fire-timer-command.ts';
import type { Draft } from '../draft.ts';
import { fireWorkflowTaskTimeout } from '../workflow-task/fail-workflow-task.ts';
import { findRun } from '../reject.ts';
import type { HistoryReply } from '../replies.ts';
import { endRunLetter } from '../redrive/redrive.ts';
import { isRunning, type RunView, type UserTimer } from '../state.ts';
import { fireScheduleWake } from '../schedule/schedule-decisions.ts';
import type { TimerTask } from '../tasks.ts';
import { ensureWorkflowTask } from '../workflow-task/workflow-task.ts';

const done: HistoryReply = { kind: 'done' };

export function fireTimer(draft: Draft, command: FireTimer): HistoryReply {
  const task = draft.shard.timers.get(command.taskId);
  if (task === undefined || task.fireTimeMs > draft.nowMs) return done;
  fire(draft, task, command);
  endRunLetter(draft, command.taskId);
  return done;
}

function fire(draft: Draft, task: TimerTask, command: FireTimer): void {
  switch (task.kind) {
    case 'activityTimeout':
      return fireActivityTimeout(draft, task);
    case 'activityRetry':
      return fireActivityRetry(draft, task);
    case 'workflowTaskTimeout':
      return fireWorkflowTaskTimeout(draft, task, command.jitter);
    case 'userTimer':
    case 'firstWorkflowTask':
    case 'runTimeout':
    case 'executionTimeout': {
      draft.finishTask(task.taskId);
      const run = findRun(draft.shard, task.key);
      if (run !== undefined) fireForRun(draft, run, task, command);
      return;
    }
    case 'retention':
      return fireRetention(draft, task);
    case 'callbackBackoff':
      return fireCallbackBackoff(draft, task);
    case 'scheduleWake':
      return fireScheduleWake(draft, task);
    case 'archiveExecution':
    case 'letterCheck':
    case 'batchStep':
      // They run beside the shard.
      return;
    default:
      return unreachable(task);
  }
}

function fireForRun(
  draft: Draft,
  run: RunView,
  task: Extract<TimerTask, { readonly kind: 'userTimer' | 'firstWorkflowTask' | 'runTimeout' | 'executionTimeout' }>,
  { newRunId = '', retentionMs }: FireTimer,
): void {
  const firing = draft.open(run);
  switch (task.kind) {
    case 'userTimer':
      if (isRunning(run)) fireUserTimers(draft, run, task.taskId);
      return;
    case 'firstWorkflowTask':
      if (run.previousStartedEventId === 0) ensureWorkflowTask(firing);
      return;
    case 'runTimeout':
    case 'executionTimeout':
      if (!isRunning(run)) return;
      decideClose(firing, { kind: 'timedOut', successor: { runId: newRunId, retentionMs } });
  }
}

/** All that are due, by time and then by start; of very many the first, with the rest to follow by their own tasks. */
function fireUserTimers(draft: Draft, run: RunView, firedTaskId: number): void {
  // After a pause of ours both may be past; the run's end comes first then, and what is later never fires.
  const { runExpirationMs } = run.start;
  const untilMs = runExpirationMs === 0 ? draft.nowMs : Math.min(draft.nowMs, runExpirationMs);
  const due = dueTimers(draft, run, untilMs);
  due.sort((a, b) => a.fireTimeMs - b.fireTimeMs || a.startedEventId - b.startedEventId);
  const together = due.slice(0, draft.limits.timersFiredTogetherMax);
  // The task that fired is over: its timer must not wait for another.
  const own = due.find(({ taskId }) => taskId === firedTaskId);
  if (own !== undefined && !together.includes(own)) together.push(own);
  const firing = draft.open(run);
  for (const { timerId, startedEventId, taskId } of together) {
    draft.finishTask(taskId);
    firing.addOrBuffer('timerFired', { timerId, startedEventId });
  }
  if (together.length > 0) ensureWorkflowTask(firing);
}

/** One timer at a time may be due in a run with thousands: the search must not look at all the others each time. */
function dueTimers(draft: Draft, run: RunView, untilMs: number): UserTimer[] {
  const due: UserTimer[] = [];
  const dueInShard = draft.shard.timers.due(untilMs, run.timers.size);
  if (dueInShard === undefined) {
    for (const timer of run.timers.values()) if (timer.fireTimeMs <= untilMs) due.push(timer);
    return due;
  }
  for (const task of dueInShard) {
    const timer = task.kind === 'userTimer' && task.key.runId === run.key.runId ? run.timers.get(task.timerId) : undefined;
    if (timer?.taskId === task.taskId) due.push(timer);
  }
  return due;
}
