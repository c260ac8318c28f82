/** What a parent hears of the end of its child. */
import type { CloseOutcome } from '../commands.ts';
import type { HistoryEvent } from '../events.ts';

/** undefined: the event closes no run, or a successor goes on in the run's place. */
export function closeOutcome(event: HistoryEvent): CloseOutcome | undefined {
  switch (event.type) {
    case 'workflowExecutionCompleted':
      return { kind: 'completed', result: event.attributes.result };
    case 'workflowExecutionFailed':
      return { kind: 'failed', failure: event.attributes.failure, retryState: event.attributes.retryState };
    case 'workflowExecutionCanceled':
      return { kind: 'canceled', details: event.attributes.details };
    case 'workflowExecutionTerminated':
      return { kind: 'terminated' };
    case 'workflowExecutionTimedOut':
      return { kind: 'timedOut', retryState: event.attributes.retryState };
    default:
      return undefined;
  }
}
