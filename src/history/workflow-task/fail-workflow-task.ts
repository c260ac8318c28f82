/** A workflow task that fails or times out, and the attempt that follows. */
import { assert } from '../../kernel/assert.ts';
import { terminateByServer } from '../execution/close.ts';
import type { FailWorkflowTask, ResetStickyTaskQueue } from '../commands.ts';
import type { Draft, RunDraft } from '../draft.ts';
import { findRun, findRunning, isRejected, workflowClosed } from '../reject.ts';
import type { HistoryReply } from '../replies.ts';
import { addWorkflowTaskFailed } from './failed-event.ts';
import { reportProblem } from './reported-problems.ts';
import { findStartedTask } from './started-task.ts';
import { isRunning, type RunView } from '../state.ts';
import type { TimerTask } from '../tasks.ts';
import { taskQueueKind, timeoutType, workflowTaskFailedCause } from '../generated/enums.ts';
import { unsendUpdates } from '../update/send-updates.ts';
import { dispatchWorkflowTask, finishWorkflowTaskTasks, scheduleWorkflowTask, workflowTaskDeadline } from './workflow-task.ts';

export function failWorkflowTask(draft: Draft, command: FailWorkflowTask): HistoryReply {
  const found = findStartedTask(draft, command.task);
  if (found.kind === 'rejected') {
    const run = findRun(draft.shard, command.task.key);
    return run !== undefined && !isRunning(run) ? workflowClosed : found;
  }
  const failing = draft.open(found.run);
  if (command.cause === workflowTaskFailedCause.grpcMessageTooLarge) {
    terminateByServer(failing, 'GrpcMessageTooLarge');
    return { kind: 'done' };
  }
  writeWorkflowTaskFailed(failing, {
    cause: command.cause,
    failure: command.failure?.bytes,
    identity: command.identity,
    binaryChecksum: command.binaryChecksum,
  });
  scheduleWorkflowTask(failing, { jitter: command.jitter });
  return { kind: 'done' };
}

export type TaskFailure = {
  readonly cause: number;
  readonly failure: Uint8Array | undefined;
  readonly identity: string;
  readonly binaryChecksum: string;
};

/** An event for the first attempt only: a failing workflow would otherwise fill its history with its failures. */
export function writeWorkflowTaskFailed(run: RunDraft, { cause, failure, identity, binaryChecksum }: TaskFailure): void {
  run.ensureReal();
  const { workflowTask } = run.run;
  assert(workflowTask !== undefined, 'a task fails');
  finishWorkflowTaskTasks(run);
  if (workflowTask.kind === 'transient') {
    run.addFact({ kind: 'workflowTaskFailed', unhandledCommand: cause === workflowTaskFailedCause.unhandledCommand });
  } else {
    const { scheduledEventId, startedEventId } = workflowTask;
    addWorkflowTaskFailed(run, { scheduledEventId, startedEventId, cause, failure, identity, binaryChecksum });
  }
  reportProblem(run, workflowTask.attempt, { kind: 'failed', cause });
  unsendUpdates(run.draft, run.run.key.runId);
}

/** The worker that had it did not answer in time. Likewise. */
export function writeWorkflowTaskTimedOut(run: RunDraft): void {
  const { workflowTask } = run.run;
  assert(workflowTask !== undefined, 'a task times out');
  finishWorkflowTaskTasks(run);
  const { kind, attempt, scheduledEventId, startedEventId } = workflowTask;
  if (kind === 'transient') run.addFact({ kind: 'workflowTaskFailed', unhandledCommand: false });
  else run.add('workflowTaskTimedOut', { scheduledEventId, startedEventId, timeoutType: timeoutType.startToClose });
  reportProblem(run, attempt, { kind: 'timedOut', timeoutType: timeoutType.startToClose });
  unsendUpdates(run.draft, run.run.key.runId);
}

/** No worker has polled. */
export function writeNotPolled(run: RunDraft): void {
  const { workflowTask } = run.run;
  assert(workflowTask !== undefined, 'a task times out');
  finishWorkflowTaskTasks(run);
  const { scheduledEventId } = workflowTask;
  run.add('workflowTaskTimedOut', { scheduledEventId, startedEventId: 0, timeoutType: timeoutType.scheduleToStart });
}

export function fireWorkflowTaskTimeout(
  draft: Draft,
  task: Extract<TimerTask, { readonly kind: 'workflowTaskTimeout' }>,
  jitter: number,
): void {
  const run = findRun(draft.shard, task.key);
  draft.finishTask(task.taskId);
  if (run === undefined) return;
  const changing = draft.open(run);
  const { workflowTask } = run;
  if (!isRunning(run) || workflowTask === undefined || workflowTask.stamp !== task.stamp) return;
  const deadlineMs = workflowTaskDeadline(run, task.timeout, draft.limits);
  if (deadlineMs === undefined) return;
  // It came from outside, with a time that is not its own.
  if (deadlineMs > draft.nowMs) {
    changing.addTask({ ...task, taskId: draft.nextTaskId(), fireTimeMs: deadlineMs });
    return;
  }
  if (task.timeout === 'scheduleToStart') writeNotPolled(changing);
  else writeWorkflowTaskTimedOut(changing);
  scheduleWorkflowTask(changing, { jitter });
}

/** A task that waits in the sticky queue moves to the normal one. No event. */
export function resetStickyTaskQueue(draft: Draft, command: ResetStickyTaskQueue): HistoryReply {
  const run = findRunning(draft.shard, command.key);
  if (isRejected(run)) return run;
  clearStickiness(draft, run);
  return { kind: 'done' };
}

/** A workflow task that waits in the sticky queue moves to the normal one. */
export function clearStickiness(draft: Draft, run: RunView): void {
  if (run.sticky === undefined) return;
  const changing = draft.open(run);
  changing.addFact({ kind: 'stickyCleared' });
  const { workflowTask } = changing.run;
  if (workflowTask !== undefined && workflowTask.startedEventId === 0 && workflowTask.taskQueue.kind === taskQueueKind.sticky) {
    finishWorkflowTaskTasks(changing);
    changing.addFact({ kind: 'workflowTaskRequeued', taskQueue: run.start.taskQueue });
    dispatchWorkflowTask(changing);
  }
}
