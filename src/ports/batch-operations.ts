/** What batch jobs do to workflows, as the shards that keep the jobs see it. The edge does it: by the very calls that clients make. */
import type { BatchPosition } from '../batches/batch.ts';

export type BatchTarget = { readonly workflowId: string; readonly runId: string };

/** `after`: where a step that ends with this one goes on. */
export type PlacedTarget = { readonly target: BatchTarget; readonly position: BatchPosition };

export type BatchPage = { readonly targets: readonly PlacedTarget[]; readonly isLast: boolean };

export type BatchJob = {
  readonly namespaceId: string;
  readonly namespace: string;
  /** The run of the job: the server knows its own requests again by it. */
  readonly runId: string;
  readonly startTimeMs: number;
  /** temporal.api.workflowservice.v1.StartBatchOperationRequest */
  readonly definition: Uint8Array;
};

export type BatchOutcome =
  /** The operation is done, or there is nothing left to do because the workflow is closed or gone. */
  | 'done'
  /** No attempt will ever succeed. */
  | 'failed'
  | 'again';

/** One job, opened for a step. What is asked for may throw BatchTrouble. */
export interface BatchWork {
  readonly perSecondMax: number;
  readonly concurrencyMax: number;
  /** How many it is about; 0 also where nobody can tell in time. */
  count(): Promise<number>;
  page(behind: BatchPosition, max: number): Promise<BatchPage>;
  /** Never rejects. */
  perform(target: BatchTarget): Promise<BatchOutcome>;
}

export interface BatchOperations {
  open(job: BatchJob): BatchWork;
}

export type BatchTroubleKind =
  /** The job only waits. */
  | 'passes'
  /** The job has failed after some attempts. */
  | 'mayPass'
  /** The job has failed, and its query can be asked no more. */
  | 'stays';

export class BatchTrouble extends Error {
  override readonly name = 'BatchTrouble';
  readonly kind: BatchTroubleKind;

  constructor(message: string, kind: BatchTroubleKind) {
    super(message);
    this.kind = kind;
  }
}
