/** A batch job is an execution of its own archetype: a run without a workflow, whose events are its start and its end. */
import type { BatchProgress } from '../../batches/batch.ts';

export type Batch = {
  /** temporal.api.workflowservice.v1.StartBatchOperationRequest */
  readonly definition: Uint8Array;
  readonly progress: BatchProgress;
  /** The timer of its next step, or of its last. */
  readonly stepTaskId: number;
};
