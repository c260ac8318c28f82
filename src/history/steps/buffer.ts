/**
 * Events that came from outside while a workflow task was started get their ids and their place:
 *
 *   Completed · events of its commands · buffered, in order of arrival · buffered closes · next Scheduled
 *
 * Closes of activities and children move behind all others, so that a Started always precedes its close; the close learns the
 * Started's id here.
 */
import { type ActivityClose, type ChildClose, closesActivity, closesChild } from '../run/event-meanings.ts';
import type { RunDraft } from '../draft/draft.ts';
import type { HistoryEvent } from '../run/events.ts';

export function flushBuffer(run: RunDraft): void {
  const { buffered } = run.run;
  if (buffered.length === 0) return;
  run.addBufferFlushed();
  const startedIds = new Map<number, number>();
  for (const event of buffered) {
    if (closesActivity(event) || closesChild(event)) continue;
    const eventId = run.addBuffered(event);
    if (event.type === 'activityTaskStarted') startedIds.set(event.attributes.scheduledEventId, eventId);
    if (event.type === 'childWorkflowExecutionStarted') startedIds.set(event.attributes.initiatedEventId, eventId);
  }
  for (const event of buffered) if (closesActivity(event) || closesChild(event)) run.addBuffered(withStartedId(event, startedIds));
}

function withStartedId(event: ActivityClose | ChildClose, startedIds: ReadonlyMap<number, number>): HistoryEvent {
  const { attributes } = event;
  if (attributes.startedEventId !== 0) return event;
  const startedEventId = startedIds.get('scheduledEventId' in attributes ? attributes.scheduledEventId : attributes.initiatedEventId);
  if (startedEventId === undefined) return event;
  // One attribute changes, the kind of the event does not.
  return { ...event, attributes: { ...attributes, startedEventId } } as HistoryEvent;
}
