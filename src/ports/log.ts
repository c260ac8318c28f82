/**
 * The log port: what a partition's actor needs of Kafka, and what the embedded log gives it as well.
 *
 * Appends are pulled, not pushed. An actor says *ready*; when its broker is free the adapter calls `seal()` on every ready
 * partition, sends one request with all their batches, and reports each outcome:
 *
 *     actor            adapter                     broker
 *       │ ready() ──────▶ │                            │
 *       │ ◀────── seal() ─│                            │
 *       │ batch ────────▶ │── one Produce, n batches ─▶│
 *       │                 │◀────────── base offsets ───│
 *       │ ◀─── settle() ──│                            │
 *
 * At most one batch of a partition is under way. `seal` and `settle` are called outside of any command (from `setImmediate` or an
 * I/O callback), never from within `ready()`.
 */

/** What one append may weigh. Every topic of ours allows it, so a legal batch never meets a broker's limit. */
export const APPEND_BYTES_MAX = 8 * 1024 * 1024;

/** One partition of one topic; `partition` counts from 0. */
export type PartitionId = { readonly topic: string; readonly partition: number };

/** Names a partition in messages, and as a key. */
export function partitionName({ topic, partition }: PartitionId): string {
  return `${topic}/${partition}`;
}

/**
 * One record of a journal. `epoch` and `sequence` are stamped when the batch is sealed. On Kafka the fields become the headers
 * `perdure.schema`, `perdure.epoch`, `perdure.sequence`, `type`, `namespace`, `workflow-id`, `run-id`, all UTF-8 text; the last
 * four are left out when empty.
 */
export type LogRecord = {
  /** Readable: `<namespace>/<workflow id>`; `@claim` for claims. */
  readonly key: string;
  readonly schema: number;
  readonly epoch: number;
  readonly sequence: number;
  /** What happened, for people who read the topic: `WorkflowExecutionStarted`, `Claim`, … */
  readonly type: string;
  readonly namespace: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly timeMs: number;
  readonly value: Uint8Array;
  /** Further ones, in order; no name twice, none of the above. */
  readonly headers?: readonly RecordHeader[] | undefined;
  /** Its value is null on Kafka, and empty here. */
  readonly isTombstone?: boolean | undefined;
};

/** UTF-8 text; the name is ASCII and not empty. */
export type RecordHeader = readonly [name: string, value: string];

export type StoredRecord = LogRecord & { readonly offset: number };

/** Names a record and its place. Of records that count, epoch and sequence name one content for ever. */
export type RecordPosition = Pick<StoredRecord, 'epoch' | 'sequence' | 'offset'>;

/** One record batch: appended whole or not at all. Never empty. */
export type SealedBatch = {
  /** Handed back with the outcome; an outcome of an earlier generation is dropped by its actor. */
  readonly generation: number;
  readonly records: readonly LogRecord[];
};

export type AppendOutcome =
  /** The batch is in the log, its first record at `baseOffset`. Whether it counts is for the actor to judge. */
  | { readonly kind: 'appended'; readonly generation: number; readonly baseOffset: number }
  /** Certainly not in the log, now or later: to be sent again. `denied`: our rights do not suffice. `tooLarge`: send fewer at a time. */
  | {
      readonly kind: 'refused';
      readonly generation: number;
      readonly reason: string;
      readonly denied?: boolean;
      readonly tooLarge?: boolean;
    }
  /** May be in the log, or land there later. */
  | { readonly kind: 'unknown'; readonly generation: number; readonly reason: string }
  /** A bug of ours on the way of this batch alone: sending it again would meet it again. */
  | { readonly kind: 'failed'; readonly generation: number; readonly error: unknown };

/** The actor's side of an attachment. */
export interface BatchSource {
  /** The open batch, now closed; undefined when there is nothing to append after all. */
  seal(): SealedBatch | undefined;
  settle(outcome: AppendOutcome): void;
  /** The connection to the partition's leader was lost, or the leader changed: nothing is sealed until the tail was looked at (T6). */
  reconnected?(): void;
}

export interface LogAttachment {
  /** The source has something to append. Idempotent; cheap enough to call once a command. */
  ready(): void;
  /** No `seal` or `settle` is called afterwards; an append under way may still land. */
  detach(): void;
}

export type LogBounds = { readonly start: number; readonly end: number };

export interface Log {
  /** True when no other process can append (embedded, under its lock): reads then need no barrier. */
  readonly exclusive: boolean;
  attach(partition: PartitionId, source: BatchSource): LogAttachment;
  /**
   * Records from `fromOffset` on, in order, at least one unless the end is reached (then `[]`); about `maxBytes`. What others wrote is
   * among them, with epoch 0 where it has no stamp of ours; an offset that is not among them is not in the log any more.
   * Throws LogError `out-of-range` when `fromOffset` is below the start or beyond the end.
   */
  read(partition: PartitionId, fromOffset: number, maxBytes: number): Promise<readonly StoredRecord[]>;
  /** `end` is the offset of the next record. */
  bounds(partition: PartitionId): Promise<LogBounds>;
  /** The read barrier: the log's end, asked for after this call was made. Callers that wait together share one request per broker. */
  end(partition: PartitionId): Promise<number>;
  /** What keeps it from answering for this partition now, for people; '' when it knows of nothing. */
  trouble?(partition: PartitionId): string;
  /** Records below `beforeOffset` may go (journal-trim.ts). After a broker crash they may reappear. */
  truncate(partition: PartitionId, beforeOffset: number): Promise<void>;
  close(): Promise<void>;
}

export type TopicSpec = {
  readonly name: string;
  readonly partitions: number;
  /** One line for people, printed beside the commands that create the topic. */
  readonly purpose: string;
  /** Its records are dead letters, which tools for Kafka read too; absent: a journal of ours alone. */
  readonly holdsLetters?: boolean;
};

/** A log that takes further topics while it serves. */
export interface GrowingLog extends Log {
  /** Makes the topic, or looks at it, so that its partitions can be used. Asked again it does nothing. Rejects with LogError. */
  addTopic(topic: TopicSpec): Promise<void>;
}

/** Offsets `from` to `to`, both included, are not in the log, though what stands before and behind them is: no fold can go on. */
export type OffsetRange = { readonly from: number; readonly to: number };

export function missingOffsets(partition: PartitionId, from: number, to: number): LogError {
  const what = from === to ? `offset ${from} is` : `offsets ${from} to ${to} are`;
  return new LogError(
    'corrupt',
    `${partitionName(partition)} is damaged: ${what} missing from its middle. Something other than Perdure removed records: was the topic ` +
      `compacted (cleanup.policy=compact), or were segments deleted? Correcting the setting does not bring them back: restore the topic from a copy`,
  );
}

export type LogErrorCode = 'out-of-range' | 'unavailable' | 'denied' | 'misconfigured' | 'locked' | 'corrupt' | 'closed';

/** What the outside world did to the log. `recoverable`: later may help. `denied`: our rights; who was served before may wait for them. */
export class LogError extends Error {
  override readonly name = 'LogError';
  readonly code: LogErrorCode;
  readonly recoverable: boolean;

  constructor(code: LogErrorCode, message: string, options: { readonly cause?: unknown; readonly recoverable?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.recoverable = options.recoverable ?? code === 'unavailable';
  }
}
