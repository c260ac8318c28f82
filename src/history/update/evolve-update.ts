/** What an update leaves in its run beside its events. */
import { unreachable } from '../../kernel/assert.ts';
import { attachToUpdate } from '../callback/update-callbacks.ts';
import type { EventOf } from '../events.ts';
import { attachRequestOfUpdate } from '../execution/evolve-execution.ts';
import { eventTypeNumber } from '../generated/public-api.ts';
import type { HistoryWire } from '../replies.ts';
import type { Run } from '../state.ts';

type UpdateEvent =
  | EventOf<'workflowExecutionUpdateAdmitted'>
  | EventOf<'workflowExecutionUpdateAccepted'>
  | EventOf<'workflowExecutionUpdateCompleted'>;

export function evolveUpdate(run: Run, event: UpdateEvent, wire: HistoryWire): void {
  const { eventId } = event;
  switch (event.type) {
    case 'workflowExecutionUpdateAdmitted': {
      const { request } = event.attributes;
      const updateId = request === undefined ? '' : wire.updateIdOf(request);
      run.updates.set(updateId, { updateId, admittedEventId: eventId, acceptedEventId: 0, completedEventId: 0 });
      attachRequest(run, event, updateId, request, wire);
      return;
    }
    case 'workflowExecutionUpdateAccepted': {
      const updateId = event.attributes.protocolInstanceId;
      const admittedEventId = run.updates.get(updateId)?.admittedEventId ?? 0;
      run.updates.set(updateId, { updateId, admittedEventId, acceptedEventId: eventId, completedEventId: 0 });
      attachRequest(run, event, updateId, event.attributes.acceptedRequest, wire);
      return;
    }
    case 'workflowExecutionUpdateCompleted': {
      const { meta, acceptedEventId } = event.attributes;
      const updateId = meta?.updateId ?? '';
      const admittedEventId = run.updates.get(updateId)?.admittedEventId ?? 0;
      run.updates.set(updateId, { updateId, admittedEventId, acceptedEventId, completedEventId: eventId });
      return;
    }
    default:
      return unreachable(event);
  }
}

/** Its request id is one of the run's, and its callbacks wait from now on. */
function attachRequest(run: Run, event: UpdateEvent, updateId: string, request: Uint8Array | undefined, wire: HistoryWire): void {
  if (request === undefined) return;
  const { requestId, callbacks } = wire.attachmentOf(request);
  if (requestId === '') return;
  attachRequestOfUpdate(run, requestId, event.eventId, eventTypeNumber[event.type]);
  attachToUpdate(run, { updateId, requestId, callbacks }, event.eventTimeMs);
}
