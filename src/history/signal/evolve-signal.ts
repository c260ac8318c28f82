/** What a signal leaves in its run beside its event. */
import type { EventOf } from '../events.ts';
import { eventTypeNumber } from '../generated/public-api.ts';
import type { Run } from '../state.ts';

export function evolveSignal(run: Run, event: EventOf<'workflowExecutionSignaled'>): void {
  const { requestId } = event.attributes;
  // Counted once: when it gets its id.
  if (event.eventId !== 0) run.signalCount++;
  if (requestId !== '') {
    run.signalRequestIds.set(requestId, { requestId, eventId: event.eventId, eventType: eventTypeNumber.workflowExecutionSignaled });
  }
}
