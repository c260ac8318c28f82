import type { BatchProgress } from '../../batches/batch.ts';

/** A run without a workflow, whose events are its start and its end. */
export type Batch = {
  readonly archetype: 'batch';
  /** temporal.api.workflowservice.v1.StartBatchOperationRequest */
  readonly definition: Uint8Array;
  readonly progress: BatchProgress;
  /** The timer of its next step, or of its last. */
  readonly stepTaskId: number;
};
