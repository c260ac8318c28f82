/** Events that several decisions write, with what each of these leaves unsaid. */
import type { RunDraft } from '../draft/draft.ts';
import type { WorkflowExecutionOptionsUpdatedAttributes, WorkflowTaskFailedAttributes } from '../generated/public-api.ts';

type Failed = Pick<WorkflowTaskFailedAttributes, 'scheduledEventId' | 'startedEventId' | 'cause'> & Partial<WorkflowTaskFailedAttributes>;

const saidByServer = {
  failure: undefined,
  identity: 'history-service',
  baseRunId: '',
  newRunId: '',
  forkEventVersion: 0,
  binaryChecksum: '',
  workerVersion: undefined,
} as const;

export function addWorkflowTaskFailed(run: RunDraft, failed: Failed): void {
  run.add('workflowTaskFailed', { ...saidByServer, ...failed });
}

type Options = Partial<WorkflowExecutionOptionsUpdatedAttributes>;

const noOptions = {
  versioningOverride: undefined,
  unsetVersioningOverride: false,
  attachedRequestId: '',
  attachedCompletionCallbacks: [],
  identity: '',
  priority: undefined,
  timeSkippingConfig: undefined,
  workflowUpdateOptions: [],
  timeSkippingConfigUpdated: false,
} as const;

export function addOptionsUpdated(run: RunDraft, options: Options, links: readonly Uint8Array[] = []): void {
  run.addOrBuffer('workflowExecutionOptionsUpdated', { ...noOptions, ...options }, { workerMayIgnore: true, links });
}
