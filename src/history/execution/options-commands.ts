/** What is asked of the options of a workflow. */
import type { PriorityPath } from '../priority.ts';

type WorkflowKey = { readonly namespaceId: string; readonly workflowId: string; readonly runId: string };

/** Reply: WorkflowOptionsUpdated, also when nothing changes. `runId` '' = the current run. */
export type UpdateWorkflowOptions = {
  readonly kind: 'updateWorkflowOptions';
  readonly key: WorkflowKey;
  /** Only what `fields` names counts. */
  readonly fields: readonly PriorityPath[];
  readonly priority: Uint8Array | undefined;
  readonly identity: string;
};
