/**
 * Events that came from outside while a workflow task was started get their ids and their place:
 *
 *   Completed · events of its commands · buffered, in order of arrival · buffered closes · next Scheduled
 *
 * Closes of activities and children move behind all others, so that a Started always precedes its close; the close learns the
 * Started's id here.
 */
import type { RunDraft } from '../draft.ts';
import type { HistoryEvent } from '../events.ts';

export function flushBuffer(run: RunDraft): void {
  const { buffered } = run.run;
  if (buffered.length === 0) return;
  run.addBufferFlushed();
  const startedIds = new Map<number, number>();
  for (const event of buffered) {
    if (closes(event)) continue;
    const eventId = run.addBuffered(event);
    if (event.type === 'activityTaskStarted') startedIds.set(event.attributes.scheduledEventId, eventId);
    if (event.type === 'childWorkflowExecutionStarted') startedIds.set(event.attributes.initiatedEventId, eventId);
  }
  for (const event of buffered) if (closes(event)) run.addBuffered(withStartedId(event, startedIds));
}

type CloseEvent = Extract<
  HistoryEvent,
  {
    readonly type:
      | 'activityTaskCompleted'
      | 'activityTaskFailed'
      | 'activityTaskTimedOut'
      | 'activityTaskCanceled'
      | 'childWorkflowExecutionCompleted'
      | 'childWorkflowExecutionFailed'
      | 'childWorkflowExecutionCanceled'
      | 'childWorkflowExecutionTimedOut'
      | 'childWorkflowExecutionTerminated';
  }
>;

function closes(event: HistoryEvent): event is CloseEvent {
  switch (event.type) {
    case 'activityTaskCompleted':
    case 'activityTaskFailed':
    case 'activityTaskTimedOut':
    case 'activityTaskCanceled':
    case 'childWorkflowExecutionCompleted':
    case 'childWorkflowExecutionFailed':
    case 'childWorkflowExecutionCanceled':
    case 'childWorkflowExecutionTimedOut':
    case 'childWorkflowExecutionTerminated':
      return true;
    default:
      return false;
  }
}

function withStartedId(event: CloseEvent, startedIds: ReadonlyMap<number, number>): HistoryEvent {
  const { attributes } = event;
  if (attributes.startedEventId !== 0) return event;
  const startedEventId = startedIds.get('scheduledEventId' in attributes ? attributes.scheduledEventId : attributes.initiatedEventId);
  if (startedEventId === undefined) return event;
  // One attribute changes, the kind of the event does not.
  return { ...event, attributes: { ...attributes, startedEventId } } as HistoryEvent;
}
