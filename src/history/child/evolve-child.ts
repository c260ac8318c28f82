/** What events do to the pending children. */
import { unreachable } from '../../kernel/assert.ts';
import type { HistoryEvent } from '../events.ts';
import type { StartChildWorkflowExecutionInitiatedAttributes } from '../generated/public-api.ts';
import type { Run } from '../state.ts';

type ChildEvent = Extract<HistoryEvent, { readonly type: `startChild${string}` | `childWorkflow${string}` }>;

export function evolveChild(run: Run, event: ChildEvent): void {
  switch (event.type) {
    case 'startChildWorkflowExecutionInitiated':
      beginChild(run, event.eventId, event.attributes, event.userMetadata);
      return;
    case 'childWorkflowExecutionStarted': {
      const { initiatedEventId, workflowExecution } = event.attributes;
      const child = run.children.get(initiatedEventId);
      if (child === undefined) return;
      // eventId is 0 while the event is buffered; the second time it is real.
      run.children.set(initiatedEventId, { ...child, runId: workflowExecution?.runId ?? '', startedEventId: event.eventId, taskId: 0 });
      return;
    }
    case 'startChildWorkflowExecutionFailed':
    case 'childWorkflowExecutionCompleted':
    case 'childWorkflowExecutionFailed':
    case 'childWorkflowExecutionCanceled':
    case 'childWorkflowExecutionTimedOut':
    case 'childWorkflowExecutionTerminated':
      run.children.delete(event.attributes.initiatedEventId);
      return;
    default:
      return unreachable(event);
  }
}

function beginChild(
  run: Run,
  initiatedEventId: number,
  attributes: StartChildWorkflowExecutionInitiatedAttributes,
  userMetadata: Uint8Array | undefined,
): void {
  run.children.set(initiatedEventId, { initiatedEventId, attributes, userMetadata, runId: '', startedEventId: 0, taskId: 0 });
}
