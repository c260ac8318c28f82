/** How an activity ends: what a worker says of it, or what its timers say. */
import type { TaskOf } from '../run/tasks.ts';
import { assert } from '../../kernel/assert.ts';
import { armActivityTimer, endBackoff, endTasks, isPaused, nextDeadline, pendingActivity, waitForBackoff } from '../steps/activity-task.ts';
import type { ActivityTimeout } from '../steps/activity-task.ts';
import { writeActivityStarted } from './start-activity-task.ts';
import { decideRetry } from './activity-retry.ts';
import type {
  ActivityRef,
  CancelActivityTask,
  CompleteActivityTask,
  FailActivityTask,
  RecordActivityHeartbeat,
} from '../commands/history-commands.ts';
import type { FailureFacts, OpaqueFailure } from '../commands/failure.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { notePauseInfo } from '../steps/pause-info.ts';
import { activityNotFound, findRun, reject, rejectInvalid, workflowClosed, workflowNotFound } from '../run/reject.ts';
import type { HistoryReply, Rejected } from '../run/history-replies.ts';
import { type Activity, isRunning, type RunView } from '../run/state.ts';
import { retryState, timeoutType } from '../generated/enums.ts';
import { ensureWorkflowTask } from '../steps/workflow-task.ts';

type Found = { readonly kind: 'found'; readonly run: RunView; readonly activity: Activity };

/** A token names one attempt, which must be started; an id names whichever attempt is pending. */
function findActivity(draft: Draft, ref: ActivityRef): Found | Rejected {
  const run = findRun(draft.shard, ref.key);
  if (run === undefined) return ref.scheduledEventId === 0 ? workflowNotFound(ref.key) : activityNotFound;
  if (!isRunning(run)) return workflowClosed;
  if (ref.scheduledEventId === 0) {
    const scheduledEventId = run.activityIds.get(ref.activityId)?.scheduledEventId;
    const activity = scheduledEventId === undefined ? undefined : run.activities.get(scheduledEventId);
    if (activity !== undefined) return { kind: 'found', run, activity };
    const message = `cannot find pending activity with ActivityID ${ref.activityId}, check workflow execution history for more details`;
    return reject({ reason: 'activity-not-found', message });
  }
  const activity = run.activities.get(ref.scheduledEventId);
  if (activity === undefined || activity.startedTimeMs === 0) return activityNotFound;
  if (ref.attempt !== 0 && activity.attempt !== ref.attempt) return activityNotFound;
  return { kind: 'found', run, activity };
}

export function completeActivityTask(draft: Draft, command: CompleteActivityTask): HistoryReply {
  const found = findActivity(draft, command.activity);
  if (found.kind === 'rejected') return found;
  const { run, activity } = found;
  const { scheduledEventId } = activity;
  const { identity, result } = command;
  const changing = draft.open(run);
  // Known by its id, it may be completed by someone who never polled for it.
  if (activity.startedTimeMs === 0) writeActivityStarted(changing, { scheduledEventId, requestId: '', identity, workerVersion: undefined });
  if (result !== undefined && result.length > draft.limits.blobBytesMax) {
    failOrRetry(changing, scheduledEventId, serverFailure(draft, 'Complete result exceeds size limit.'), { identity });
    return { kind: 'done' };
  }
  const startedEventId = writeStartedEvent(changing, scheduledEventId);
  changing.addOrBuffer('activityTaskCompleted', { result, scheduledEventId, startedEventId, identity, workerVersion: undefined });
  tellEnd(changing, activity);
  return { kind: 'done' };
}

export function failActivityTask(draft: Draft, command: FailActivityTask): HistoryReply {
  const found = findActivity(draft, command.activity);
  if (found.kind === 'rejected') return found;
  if (found.activity.startedTimeMs === 0) return activityNotFound;
  const changing = draft.open(found.run);
  const { scheduledEventId } = found.activity;
  const tooLarge = command.failure !== undefined && command.failure.bytes.length > draft.limits.blobBytesMax;
  const failure = tooLarge ? serverFailure(draft, 'Failure exceeds size limit.') : withFewCauses(draft, command.failure);
  failOrRetry(changing, scheduledEventId, failure, command);
  return { kind: 'done' };
}

export function cancelActivityTask(draft: Draft, command: CancelActivityTask): HistoryReply {
  const found = findActivity(draft, command.activity);
  if (found.kind === 'rejected') return found;
  const { run, activity } = found;
  if (activity.startedTimeMs === 0) return activityNotFound;
  if (activity.cancelRequestedEventId === 0) {
    return rejectInvalid('unable to mark activity as canceled without activity being request canceled first');
  }
  const { scheduledEventId } = activity;
  const changing = draft.open(run);
  if (command.details !== undefined && command.details.length > draft.limits.blobBytesMax) {
    failOrRetry(changing, scheduledEventId, serverFailure(draft, 'Cancel details exceed size limit.'), command);
    return { kind: 'done' };
  }
  const startedEventId = writeStartedEvent(changing, scheduledEventId);
  const { details, identity } = command;
  const ended = { scheduledEventId, startedEventId, identity, workerVersion: undefined };
  changing.addOrBuffer('activityTaskCanceled', { ...ended, details, latestCancelRequestedEventId: activity.cancelRequestedEventId });
  tellEnd(changing, activity);
  return { kind: 'done' };
}

export function recordActivityHeartbeat(draft: Draft, command: RecordActivityHeartbeat): HistoryReply {
  const found = findActivity(draft, command.activity);
  if (found.kind === 'rejected') return found;
  if (found.activity.startedTimeMs === 0) return activityNotFound;
  const { scheduledEventId, cancelRequestedEventId, operations } = found.activity;
  const changing = draft.open(found.run);
  if (command.details !== undefined && command.details.length > draft.limits.blobBytesMax) {
    failOrRetry(changing, scheduledEventId, serverFailure(draft, 'Heartbeat details exceed size limit.'), command);
    return { kind: 'heartbeat', cancelRequested: true, activityPaused: false, activityReset: false };
  }
  changing.addFact({ kind: 'activityHeartbeat', scheduledEventId, details: command.details });
  const activityReset = operations?.resetRequested ?? false;
  return { kind: 'heartbeat', cancelRequested: cancelRequestedEventId !== 0, activityPaused: isPaused(found.activity), activityReset };
}

const noFacts: FailureFacts = { kind: 'none', type: '', nonRetryable: false, nextRetryDelayMs: 0, message: '' };

function serverFailure(draft: Draft, message: string): OpaqueFailure {
  const bytes = draft.wire.encodeFailure({ message, cause: undefined, info: { kind: 'server', nonRetryable: true } });
  return { facts: { ...noFacts, kind: 'server', nonRetryable: true, message }, bytes };
}

function withFewCauses(draft: Draft, failure: OpaqueFailure | undefined): OpaqueFailure | undefined {
  if (failure === undefined) return undefined;
  const bytes = draft.wire.limitCauses(failure.bytes, draft.limits.failureCausesMax);
  return bytes === failure.bytes ? failure : { facts: failure.facts, bytes };
}

/** `lastHeartbeatDetails`: for the next attempt, if there is one. */
type Failing = Pick<FailActivityTask, 'identity'> & Partial<Pick<FailActivityTask, 'lastHeartbeatDetails'>>;

function failOrRetry(run: RunDraft, scheduledEventId: number, failure: OpaqueFailure | undefined, by: Failing): void {
  const { identity, lastHeartbeatDetails: lastDetails } = by;
  const activity = pendingActivity(run, scheduledEventId);
  const decision = decideRetry(activity, failure?.facts ?? noFacts, run.draft.nowMs);
  if (decision.retry) {
    if (lastDetails !== undefined && lastDetails.length <= run.draft.limits.blobBytesMax) {
      run.addFact({ kind: 'activityHeartbeat', scheduledEventId, details: lastDetails });
    }
    retryActivity(run, activity, decision.intervalMs, failure);
    return;
  }
  const startedEventId = writeStartedEvent(run, scheduledEventId);
  const ended = { scheduledEventId, startedEventId, identity, workerVersion: undefined, retryState: decision.retryState };
  run.addOrBuffer('activityTaskFailed', { ...ended, failure: failure?.bytes });
  tellEnd(run, activity);
}

function retryActivity(run: RunDraft, activity: Activity, intervalMs: number, failure: OpaqueFailure | undefined): void {
  const { scheduledEventId } = activity;
  endTasks(run, scheduledEventId);
  run.addFact({ kind: 'activityRetried', scheduledEventId, intervalMs, failure: retained(run.draft, failure) });
  if (isPaused(activity)) return;
  if (run.run.pause !== undefined) armActivityTimer(run, scheduledEventId);
  else if (intervalMs === 0) endBackoff(run, scheduledEventId);
  else waitForBackoff(run, scheduledEventId);
}

/** A failure is kept through all retries: a large one is kept only by its message. */
function retained(draft: Draft, failure: OpaqueFailure | undefined): Uint8Array | undefined {
  if (failure === undefined || failure.bytes.length <= draft.limits.activityFailureBytesMax) return failure?.bytes;
  const message = failure.facts.message.slice(0, 1000);
  const cause = draft.wire.encodeFailure({
    message,
    cause: undefined,
    info: { kind: 'application', type: failure.facts.type, nonRetryable: failure.facts.nonRetryable },
  });
  return draft.wire.encodeFailure({ message: 'Failure exceeds size limit.', cause, info: { kind: 'server', nonRetryable: false } });
}

/** Ends its tasks, writes its Started. Answers that event's id; 0: none, or it is buffered: the close learns it with its place. */
export function writeStartedEvent(run: RunDraft, scheduledEventId: number): number {
  const activity = pendingActivity(run, scheduledEventId);
  endTasks(run, scheduledEventId);
  if (activity.startedTimeMs === 0) return 0;
  const { identity, requestId, attempt, lastFailure, workerVersion, startedTimeMs: timeMs } = activity;
  const attributes = { scheduledEventId, identity, requestId, attempt, lastFailure, workerVersion, buildIdRedirectCounter: 0 };
  return run.addOrBuffer('activityTaskStarted', attributes, { timeMs });
}

/** The workflow hears of the end; no list finds it by an activity that is over. */
function tellEnd(run: RunDraft, activity: Activity): void {
  if (isPaused(activity)) notePauseInfo(run);
  ensureWorkflowTask(run);
}

export function fireActivityRetry(draft: Draft, task: TaskOf<'activityRetry'>): void {
  const run = findRun(draft.shard, task.key);
  draft.finishTask(task.taskId);
  if (run === undefined) return;
  const changing = draft.open(run);
  const activity = run.activities.get(task.scheduledEventId);
  if (activity?.inBackoff !== true || activity.stamp !== task.stamp || isPaused(activity)) return;
  // It came from outside, with a time that is not its own.
  if (activity.scheduledTimeMs > draft.nowMs) {
    changing.addTask({ ...task, fireTimeMs: activity.scheduledTimeMs });
  } else endBackoff(changing, task.scheduledEventId);
}

export function fireActivityTimeout(draft: Draft, task: TaskOf<'activityTimeout'>): void {
  const run = findRun(draft.shard, task.key);
  draft.finishTask(task.taskId);
  if (run === undefined) return;
  const changing = draft.open(run);
  const activity = run.activities.get(task.scheduledEventId);
  if (activity === undefined || activity.stamp !== task.stamp) return;
  // Paused while its timer was a letter.
  if (isPaused(activity)) return;
  const deadline = nextDeadline(activity);
  assert(deadline !== undefined, 'an armed activity has a deadline');
  // A heartbeat has moved it.
  if (deadline.atMs > draft.nowMs) armActivityTimer(changing, task.scheduledEventId);
  else timeOutActivity(changing, activity, deadline.timeout);
}

const timeoutNames: { readonly [timeout in ActivityTimeout]: string } = {
  scheduleToStart: 'ScheduleToStart',
  scheduleToClose: 'ScheduleToClose',
  startToClose: 'StartToClose',
  heartbeat: 'Heartbeat',
};

function timeOutActivity(run: RunDraft, activity: Activity, timeout: ActivityTimeout): void {
  const { scheduledEventId } = activity;
  const { wire, nowMs } = run.draft;
  const encode = (message: string, type: number, cause: Uint8Array | undefined): Uint8Array =>
    wire.encodeFailure({ message, cause, info: { kind: 'timeout', timeoutType: type, lastHeartbeatDetails: activity.heartbeatDetails } });
  const message = `activity ${timeoutNames[timeout]} timeout`;
  const facts: FailureFacts = { ...noFacts, kind: 'timeout', type: `TemporalTimeout:${timeoutNames[timeout]}`, message };
  const decision = decideRetry(activity, facts, nowMs);
  if (decision.retry) {
    // Without its cause: kept through many retries, it would grow with every one.
    retryActivity(run, activity, decision.intervalMs, { facts, bytes: encode(message, timeoutType[timeout], undefined) });
    return;
  }
  // Out of time for another attempt: to the workflow that is the timeout of the whole.
  const outOfTime = decision.retryState === retryState.timeout && timeout !== 'scheduleToStart';
  const failure = outOfTime
    ? encode(
        'Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying',
        timeoutType.scheduleToClose,
        activity.lastFailure,
      )
    : encode(message, timeoutType[timeout], activity.lastFailure);
  const startedEventId = writeStartedEvent(run, scheduledEventId);
  run.addOrBuffer('activityTaskTimedOut', { failure, scheduledEventId, startedEventId, retryState: decision.retryState });
  ensureWorkflowTask(run);
}
