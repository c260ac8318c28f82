/** What events do to the signals and cancel requests under way to other workflows. */
import { unreachable } from '../../kernel/assert.ts';
import type { HistoryEvent } from '../events.ts';
import type { Run } from '../state.ts';

type ExternalEvent = Extract<
  HistoryEvent,
  { readonly type: `signalExternal${string}` | `requestCancelExternal${string}` | `externalWorkflow${string}` }
>;

export function evolveExternal(run: Run, event: ExternalEvent): void {
  switch (event.type) {
    case 'signalExternalWorkflowExecutionInitiated': {
      const a = event.attributes;
      run.externalSignals.set(event.eventId, {
        initiatedEventId: event.eventId,
        namespace: a.namespace,
        namespaceId: a.namespaceId,
        workflowExecution: a.workflowExecution ?? noExecution,
        childWorkflowOnly: a.childWorkflowOnly,
        control: a.control,
        reason: '',
        signalName: a.signalName,
        input: a.input,
        header: a.header,
        workflowTaskCompletedEventId: a.workflowTaskCompletedEventId,
        taskId: 0,
      });
      return;
    }
    case 'externalWorkflowExecutionSignaled':
    case 'signalExternalWorkflowExecutionFailed':
      run.externalSignals.delete(event.attributes.initiatedEventId);
      return;
    case 'requestCancelExternalWorkflowExecutionInitiated': {
      const a = event.attributes;
      run.externalCancels.set(event.eventId, {
        initiatedEventId: event.eventId,
        namespace: a.namespace,
        namespaceId: a.namespaceId,
        workflowExecution: a.workflowExecution ?? noExecution,
        childWorkflowOnly: a.childWorkflowOnly,
        control: a.control,
        reason: a.reason,
        signalName: '',
        input: undefined,
        header: undefined,
        workflowTaskCompletedEventId: a.workflowTaskCompletedEventId,
        taskId: 0,
      });
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

const noExecution = { workflowId: '', runId: '' };
