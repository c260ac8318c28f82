/** What a parent hears of the end of its child. */
import { unreachable } from '../../kernel/assert.ts';
import type { RunClose } from '../closing-events.ts';
import type { CloseOutcome } from '../commands.ts';

/** undefined: another run goes on in its place. */
export function closeOutcome(event: RunClose): CloseOutcome | undefined {
  if ('newExecutionRunId' in event.attributes && event.attributes.newExecutionRunId !== '') return undefined;
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
    case 'workflowExecutionContinuedAsNew':
      return undefined;
    default:
      return unreachable(event);
  }
}
