/** What a shard is asked about batch jobs. `key`: of the run that carries the job; '' as its run id = the current one. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { BatchProgress, BatchStep } from '../../batches/batch.ts';

/** Reply: Done; rejected: already-started, also by a job that has ended and is kept still. */
export type StartBatch = {
  readonly kind: 'startBatch';
  readonly key: RunKey;
  readonly namespace: string;
  readonly newRunId: string;
  /** temporal.api.workflowservice.v1.StartBatchOperationRequest, checked. */
  readonly definition: Uint8Array;
  /** How many executions the list has; 0: there is a query, and that is not known yet. */
  readonly total: number;
  readonly identity: string;
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
  readonly retentionMs: number;
};

/** Reply: Done; rejected: workflow-not-found, workflow-closed. A job whose row cannot be read is removed unread. */
export type StopBatch = { readonly kind: 'stopBatch'; readonly key: RunKey; readonly reason: string; readonly identity: string };

export type DescribeBatch = { readonly kind: 'describeBatch'; readonly key: RunKey };

export type BatchRequest = StartBatch | StopBatch | DescribeBatch;

export type BatchStepped = { readonly kind: 'batchStepped'; readonly key: RunKey; readonly taskId: number; readonly step: BatchStep };

export type BatchDescription = {
  readonly kind: 'batchDescription';
  readonly key: RunKey;
  readonly namespace: string;
  readonly definition: Uint8Array;
  readonly progress: BatchProgress;
  /** `temporal.api.enums.v1.WorkflowExecutionStatus` */
  readonly status: number;
  readonly startTimeMs: number;
  /** 0 = it runs. */
  readonly closeTimeMs: number;
};
