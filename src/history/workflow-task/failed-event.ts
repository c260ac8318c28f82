/** The event of a workflow task that has failed: by its worker, or because the server ends it. */
import type { RunDraft } from '../draft.ts';
import type { WorkflowTaskFailedAttributes } from '../generated/public-api.ts';

type Failed = Pick<WorkflowTaskFailedAttributes, 'scheduledEventId' | 'startedEventId' | 'cause'> &
  /** Else it is the server that says so, of no other run. */
  Partial<Pick<WorkflowTaskFailedAttributes, 'failure' | 'identity' | 'baseRunId' | 'newRunId' | 'binaryChecksum'>>;

export function addWorkflowTaskFailed(
  run: RunDraft,
  {
    scheduledEventId,
    startedEventId,
    cause,
    failure,
    identity = 'history-service',
    baseRunId = '',
    newRunId = '',
    binaryChecksum = '',
  }: Failed,
): void {
  run.add('workflowTaskFailed', {
    scheduledEventId,
    startedEventId,
    cause,
    failure,
    identity,
    baseRunId,
    newRunId,
    forkEventVersion: 0,
    binaryChecksum,
    workerVersion: undefined,
  });
}
