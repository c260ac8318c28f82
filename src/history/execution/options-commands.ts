/** What is asked of the options of a workflow. */
import type { PriorityPath } from '../priority.ts';

type WorkflowKey = { readonly namespaceId: string; readonly workflowId: string; readonly runId: string };

/** Only what `fields` names counts. */
export type PriorityChange = { readonly fields: readonly PriorityPath[]; readonly priority: Uint8Array | undefined };

/** Reply: WorkflowOptionsUpdated, also when nothing changes. `runId` '' = the current run. */
export type UpdateWorkflowOptions = PriorityChange & {
  readonly kind: 'updateWorkflowOptions';
  readonly key: WorkflowKey;
  readonly identity: string;
};
