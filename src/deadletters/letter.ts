/**
 * A letter: one task that left normal processing, with what is known of why. Texts that are not known are '', numbers and times undefined.
 * Times are ms since 1970.
 */

/** A whole number; a bigint where it is beyond 2^53, which another cluster may have. */
export type Whole = number | bigint;

export type DeadLetterCause = 'retries-exhausted' | 'permanent-error' | 'namespace-deleted';

/** Whose trouble it looks like, told where the task has failed. '' = not known: the letter is of an older version. */
export type LetterDisposition =
  | ''
  /** The task's own: it can never succeed as it is. */
  | 'poison'
  /** Nobody knows: it was refused until its retries were used up. */
  | 'exhausted'
  /** Of something that other tasks need as well: a folder, a store. Mend that, then merge. */
  | 'systemic'
  /** What it acts on is gone. */
  | 'target-gone'
  /** An operator's: his pattern has picked the error. */
  | 'operator';

/** Which queue: of one kind of tasks that come from one cluster. */
export type DeadLetterQueue = {
  /** The place of its actor and of its rows, for ever. */
  readonly number: number;
  /** `transfer`, `timer`, …; lower case, without a dot. */
  readonly category: string;
  /** On the wire: 1 transfer, 2 timer, 3 replication, 4 visibility, 5 archival, 7 outbound; undefined: it has none. */
  readonly categoryId: number | undefined;
  readonly sourceCluster: string;
  readonly targetCluster: string;
};

/** What the task is about, as it was when the letter was made. */
export type LetterTask = {
  readonly taskId: Whole;
  /** As the enumeration calls it: `TASK_TYPE_TRANSFER_START_CHILD_EXECUTION`. */
  readonly taskType: string;
  readonly taskVersion: Whole | undefined;
  readonly fireTimeMs: number | undefined;
  readonly createdTimeMs: number | undefined;
  readonly shardId: number;
  /** Of replication alone. */
  readonly sourceShardId: number | undefined;
  readonly namespaceId: string;
  readonly namespace: string;
  readonly targetNamespaceId: string;
  readonly targetNamespace: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly workflowType: string;
  /** The event that the task refers to; of replication the first one, and then the one behind the last. */
  readonly eventId: Whole | undefined;
  readonly nextEventId: Whole | undefined;
  /** The full name of the message that `value` is: `temporal.server.api.persistence.v1.TransferTaskInfo`. */
  readonly valueType: string;
  readonly value: Uint8Array;
};

export type LetterError = { readonly errorType: string; readonly errorMessage: string };

/** The last failure, and what led to it. */
export type LetterFailure = LetterError & {
  readonly cause: DeadLetterCause;
  readonly disposition: LetterDisposition;
  readonly errorStack: string;
  /** The outermost first. */
  readonly errorChain: readonly LetterError[];
  /** 16 hex digits: the same for failures of one kind. */
  readonly fingerprint: string;
  /** In normal processing. */
  readonly attempts: number;
  readonly firstFailureTimeMs: number;
  readonly lastFailureTimeMs: number;
  /** Who ran it: `TransferQueueProcessor`. */
  readonly handler: string;
  readonly node: string;
  readonly build: string;
};

/** What happened to it before: failures, and merges that failed. */
export type LetterEvent = {
  readonly timeMs: number;
  readonly kind: string;
  readonly errorType: string;
  readonly jobId: string;
  /** Absent in old letters. */
  readonly fingerprint?: string;
};

/** The journal record that holds the task. */
export type LetterOrigin = { readonly topic: string; readonly partition: number; readonly offset: number; readonly group: string };

/** Which letter of its shard it was: a shard numbers those for one queue from 1 on, and those of a cluster made anew do so again. */
export type HandOver = {
  readonly shard: number;
  readonly sequence: number;
  /** Of the cluster that shard is of, as the queue's owner writes it. Absent: not taken yet, or of an older version. */
  readonly clusterId?: string;
};

export type LetterState = 'open' | 'quarantined';

export type Letter = {
  readonly handOver: HandOver;
  readonly task: LetterTask;
  readonly failure: LetterFailure;
  readonly origin: LetterOrigin | undefined;
  readonly traceparent: string;
  readonly deadLetterTimeMs: number;
  /** Merges that have failed. */
  readonly generation: number;
  readonly state: LetterState;
  /** The oldest first. */
  readonly history: readonly LetterEvent[];
  /** The last job that tried it. */
  readonly jobId: string;
};
