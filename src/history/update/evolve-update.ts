/** What an update leaves in its run beside its events. */
import type { EventOf } from '../events.ts';
import type { Run } from '../state.ts';

export function evolveUpdate(
  run: Run,
  event: EventOf<'workflowExecutionUpdateAccepted'> | EventOf<'workflowExecutionUpdateCompleted'>,
): void {
  if (event.type === 'workflowExecutionUpdateAccepted') {
    const updateId = event.attributes.protocolInstanceId;
    run.updates.set(updateId, { updateId, acceptedEventId: event.eventId, completedEventId: 0 });
    return;
  }
  const { meta, acceptedEventId } = event.attributes;
  const updateId = meta?.updateId ?? '';
  run.updates.set(updateId, { updateId, acceptedEventId, completedEventId: event.eventId });
}
