/** What events do to the signals and cancel requests under way to other workflows. */
import { unreachable } from '../../kernel/assert.ts';
import type { HistoryEvent } from '../events.ts';
import type { ExternalRequest, Run } from '../state.ts';

type ExternalEvent = Extract<
  HistoryEvent,
  { readonly type: `signalExternal${string}` | `requestCancelExternal${string}` | `externalWorkflow${string}` }
>;

export function evolveExternal(run: Run, event: ExternalEvent): void {
  switch (event.type) {
    case 'signalExternalWorkflowExecutionInitiated': {
      const { signalName, input, header } = event.attributes;
      run.externalSignals.set(event.eventId, externalRequest(event, { reason: '', signalName, input, header }));
      return;
    }
    case 'externalWorkflowExecutionSignaled':
    case 'signalExternalWorkflowExecutionFailed':
      run.externalSignals.delete(event.attributes.initiatedEventId);
      return;
    case 'requestCancelExternalWorkflowExecutionInitiated': {
      const { reason } = event.attributes;
      run.externalCancels.set(event.eventId, externalRequest(event, { reason, signalName: '', input: undefined, header: undefined }));
      return;
    }
    case 'externalWorkflowExecutionCancelRequested':
    case 'requestCancelExternalWorkflowExecutionFailed':
      run.externalCancels.delete(event.attributes.initiatedEventId);
      return;
    default:
      return unreachable(event);
  }
}

type Initiated = Extract<ExternalEvent, { readonly type: `${string}Initiated` }>;

function externalRequest(
  { eventId, attributes }: Initiated,
  { reason, signalName, input, header }: Pick<ExternalRequest, 'reason' | 'signalName' | 'input' | 'header'>,
): ExternalRequest {
  return {
    initiatedEventId: eventId,
    namespace: attributes.namespace,
    namespaceId: attributes.namespaceId,
    workflowExecution: attributes.workflowExecution ?? noExecution,
    childWorkflowOnly: attributes.childWorkflowOnly,
    control: attributes.control,
    reason,
    signalName,
    input,
    header,
    workflowTaskCompletedEventId: attributes.workflowTaskCompletedEventId,
    taskId: 0,
  };
}

const noExecution = { workflowId: '', runId: '' };
