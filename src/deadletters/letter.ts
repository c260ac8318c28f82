/** A letter: one task that left normal processing, and why. Unknown texts are '', numbers and times undefined. Times are ms since 1970. */
import type { DeadLetterCause, LetterDisposition, LetterState } from '../kernel/letter-words.ts';

/** A whole number; a bigint where it is beyond 2^53, which another cluster may have. */
export type Whole = number | bigint;

/** A queue holds the tasks of one category from one cluster. */
export type DeadLetterQueue = {
  /** The place of its actor and of its rows, for ever. */
  readonly number: number;
  /** `transfer`, `timer`, …; lower case, without a dot. */
  readonly category: string;
  /** The number on the wire: 1 transfer, 2 timer, 3 replication, 4 visibility, 5 archival, 7 outbound; undefined: there is none. */
  readonly categoryId: number | undefined;
  readonly sourceCluster: string;
  readonly targetCluster: string;
};

/** What the task is about, as it was when the letter was made. */
export type LetterTask = {
  readonly taskId: Whole;
  /** The name in the enumeration: `TASK_TYPE_TRANSFER_START_CHILD_EXECUTION`. */
  readonly taskType: string;
  readonly taskVersion: Whole | undefined;
  readonly fireTimeMs: number | undefined;
  readonly createdTimeMs: number | undefined;
  readonly shardId: number;
  /** Known for replication tasks alone. */
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
  /** Attempts in normal processing. */
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
  readonly fingerprint: string;
};

/** Names a letter of its shard. A shard numbers the letters for one queue from 1 on, and the shards of a new cluster do so again. */
export type HandOver = {
  readonly shard: number;
  readonly sequence: number;
  /** The cluster that the shard belongs to, as the queue's owner writes it; '': the owner has not accepted the letter yet. */
  readonly clusterId: string;
};

export type Letter = {
  readonly handOver: HandOver;
  readonly task: LetterTask;
  readonly failure: LetterFailure;
  /** The journal record that holds the task. */
  readonly origin: { readonly topic: string; readonly partition: number; readonly offset: number; readonly group: string } | undefined;
  readonly traceparent: string;
  readonly deadLetterTimeMs: number;
  /** Merges that have failed. */
  readonly generation: number;
  readonly state: LetterState;
  /** The oldest events come first. */
  readonly history: readonly LetterEvent[];
  /** The last job that tried the letter. */
  readonly jobId: string;
};
