/** A worker has polled for an activity: what it is given. */
import { assert } from '../../kernel/assert.ts';
import { armActivityTimer, isPaused, offerActivity, pendingActivity } from '../steps/activity-task.ts';
import type { StartActivityTask, WithdrawActivityStart } from '../commands/history-commands.ts';
import { mergedPriority } from '../commands/priority.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { attributesOf } from '../run/activity-options.ts';
import { findRun, reject, workflowBehind } from '../run/reject.ts';
import type { FactOf } from '../run/record.ts';
import type { HistoryReply, StartedActivityTask } from '../run/history-replies.ts';
import { type Activity, isRunning, type RunView } from '../run/state.ts';

const activityTaskNotFound = reject({ reason: 'task-not-found', message: 'Activity task not found.' });

export function startActivityTask(draft: Draft, command: StartActivityTask): HistoryReply {
  const run = findRun(draft.shard, command.key);
  if (run === undefined && draft.shard.isBehind(command.key.runId)) return workflowBehind;
  if (run === undefined || !isRunning(run) || draft.shard.aside.has(run.key.runId)) return activityTaskNotFound;
  const activity = run.activities.get(command.scheduledEventId);
  if (activity === undefined || activity.stamp !== command.stamp || activity.inBackoff) return activityTaskNotFound;
  if (activity.startedTimeMs !== 0) {
    return activity.requestId === command.pollRequestId ? describeStartedActivity(run, activity) : activityTaskNotFound;
  }
  if (isPaused(activity)) return activityTaskNotFound;
  const starting = draft.open(run);
  const { scheduledEventId, pollRequestId: requestId, identity, workerVersion } = command;
  writeActivityStarted(starting, { scheduledEventId, requestId, identity, workerVersion });
  return describeStartedActivity(run, pendingActivity(starting, scheduledEventId));
}

export function writeActivityStarted(run: RunDraft, start: Omit<FactOf<'activityStarted'>, 'kind'>): void {
  run.finishTask(pendingActivity(run, start.scheduledEventId).dispatchTaskId);
  run.addFact({ kind: 'activityStarted', ...start });
  armActivityTimer(run, start.scheduledEventId);
}

export function describeStartedActivity(run: RunView, activity: Activity): StartedActivityTask {
  const a = attributesOf(activity);
  assert(a.retryPolicy !== undefined, 'a scheduled activity has a retry policy');
  return {
    kind: 'activityTask',
    key: run.key,
    workflowType: run.start.workflowType,
    activityId: activity.activityId,
    activityType: a.activityType?.name ?? '',
    header: a.header,
    input: a.input,
    heartbeatDetails: activity.heartbeatDetails,
    scheduledEventId: activity.scheduledEventId,
    attempt: activity.attempt,
    scheduledTimeMs: activity.firstScheduledTimeMs,
    currentAttemptScheduledTimeMs: activity.scheduledTimeMs,
    startedTimeMs: activity.startedTimeMs,
    scheduleToCloseTimeoutMs: a.scheduleToCloseTimeoutMs,
    startToCloseTimeoutMs: a.startToCloseTimeoutMs,
    heartbeatTimeoutMs: a.heartbeatTimeoutMs,
    retryPolicy: a.retryPolicy,
    priority: mergedPriority(run.start.priority, a.priority),
  };
}

/** The poll that started it is gone: the task goes back into its queue, under a new stamp. */
export function withdrawActivityStart(draft: Draft, command: WithdrawActivityStart): HistoryReply {
  const run = findRun(draft.shard, command.key);
  const activity = run?.activities.get(command.scheduledEventId);
  if (run === undefined || activity === undefined || activity.startedTimeMs === 0) return { kind: 'done' };
  if (activity.requestId !== command.pollRequestId) return { kind: 'done' };
  const changing = draft.open(run);
  changing.addFact({ kind: 'activityStartWithdrawn', scheduledEventId: command.scheduledEventId });
  if (!isPaused(activity)) offerActivity(changing, command.scheduledEventId);
  return { kind: 'done' };
}
