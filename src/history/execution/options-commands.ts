/** What is asked of the options of a workflow. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { PriorityPath } from '../priority.ts';

/** Only what `fields` names counts. */
export type PriorityChange = { readonly fields: readonly PriorityPath[]; readonly priority: Uint8Array | undefined };

/** Reply: WorkflowOptionsUpdated, also when nothing changes. `runId` '' = the current run. */
export type UpdateWorkflowOptions = PriorityChange & {
  readonly kind: 'updateWorkflowOptions';
  readonly key: RunKey;
  readonly identity: string;
};
