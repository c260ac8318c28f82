/** What an update leaves in its run beside its events. */
import { unreachable } from '../../kernel/assert.ts';
import type { EventOf } from '../events.ts';
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
      return;
    }
    case 'workflowExecutionUpdateAccepted': {
      const updateId = event.attributes.protocolInstanceId;
      const admittedEventId = run.updates.get(updateId)?.admittedEventId ?? 0;
      run.updates.set(updateId, { updateId, admittedEventId, acceptedEventId: eventId, completedEventId: 0 });
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
