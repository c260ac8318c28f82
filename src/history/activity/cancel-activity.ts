/** REQUEST_CANCEL_ACTIVITY_TASK: one that no worker runs is cancelled at once, a running one learns of it with its next heartbeat. */
import { writeStartedEvent } from './activity-close.ts';
import { isPaused } from '../steps/activity-task.ts';
import { closesActivity } from '../run/event-meanings.ts';
import { notePauseInfo } from '../steps/pause-info.ts';
import { bad, commandMeta, type CommandFailure, type CommandOfType, type Completion } from '../steps/completion.ts';

const cause = 'badRequestCancelActivityAttributes';
const impossible = 'invalid history builder state for action: add-activitytask-cancel-requested-event';

export function requestCancelActivityTask(
  completion: Completion,
  command: CommandOfType<'requestCancelActivityTask'>,
): CommandFailure | undefined {
  const { run, request, completedEventId } = completion;
  const a = command.attributes;
  if (a === undefined) return bad(cause, 'RequestCancelActivityTaskCommandAttributes is not set on RequestCancelActivityTaskCommand.');
  const { scheduledEventId } = a;
  if (scheduledEventId <= 0) return bad(cause, 'ScheduledEventId is not set on RequestCancelActivityTaskCommand.');
  const activity = run.run.activities.get(scheduledEventId);
  const isRefused = activity === undefined ? !closeIsBuffered(completion, scheduledEventId) : activity.cancelRequestedEventId !== 0;
  if (isRefused) return bad(cause, `${impossible}, ScheduledEventID: ${scheduledEventId}`);
  const attributes = { scheduledEventId, workflowTaskCompletedEventId: completedEventId };
  const requestedEventId = run.add('activityTaskCancelRequested', attributes, commandMeta(command));
  if (activity === undefined || activity.startedTimeMs !== 0) return undefined;
  writeStartedEvent(run, scheduledEventId);
  // Written like an event from outside, behind the events of the commands.
  run.buffer('activityTaskCanceled', {
    details: run.draft.wire.encodePayloads(['"ACTIVITY_ID_NOT_STARTED"']),
    latestCancelRequestedEventId: requestedEventId,
    scheduledEventId,
    startedEventId: 0,
    identity: request.identity,
    workerVersion: undefined,
  });
  if (isPaused(activity)) completion.cancelledPaused = true;
  completion.closesBuffered?.add(scheduledEventId);
  completion.cancelledUnstarted = true;
  return undefined;
}

/** Once, behind all cancellations of a task: what `TemporalPauseInfo` says is worked out over all activities. */
export function noteCancelledPaused(completion: Completion): void {
  if (completion.cancelledPaused) notePauseInfo(completion.run);
  completion.cancelledPaused = false;
}

/** Looked for once: one task may ask for as many cancellations as it has commands, with as many events buffered. */
function closeIsBuffered(completion: Completion, scheduledEventId: number): boolean {
  const { buffered } = completion.run.run;
  completion.closesBuffered ??= new Set(buffered.filter(closesActivity).map(({ attributes }) => attributes.scheduledEventId));
  return completion.closesBuffered.has(scheduledEventId);
}
