/**
 * The records of a queue's topic. Each is whole by itself: a command may write many, and after a crash some may be there without the rest.
 *
 *     letter       key `41`        a letter, or the same once more with what has changed (a merge that failed, quarantine, compaction)
 *     resolved     key `41`        a tombstone: merged or purged
 *     head         key `@head`     the ids that were given; behind the others of every command
 *     handedOver   key `@from:7`   what came from a shard last; likewise, and so that compaction may leave out old letters
 */
import type { HandedOver } from './hand-overs.ts';
import type { HandOver, Letter, LetterFailure, LetterTask, Whole } from './letter.ts';
import { int64Max, int64Min } from '../kernel/int64.ts';
import { cutToUtf8Bytes } from '../kernel/utf8.ts';
import type { DeadLetterCause, LetterDisposition, LetterState, ResolvedHow } from '../kernel/letter-words.ts';

/** Whoever asked for the change, and why: what a tombstone tells. */
export type Authorship = { readonly jobId: string; readonly who: string; readonly why: string };

export type LetterRecord = {
  readonly kind: 'letter';
  /** When the record was written; a task's own times are in the letter. */
  readonly timeMs: number;
  readonly messageId: number;
  readonly letter: Letter;
};

export type ResolvedRecord = {
  readonly kind: 'resolved';
  readonly timeMs: number;
  readonly messageId: number;
  readonly how: ResolvedHow;
  readonly who: string;
  /** '' = none given. */
  readonly why: string;
  readonly jobId: string;
  readonly generation: number;
  /** Why a merged letter had nothing left to do. Absent: it had. */
  readonly detail?: string;
};

export type HeadRecord = {
  readonly kind: 'head';
  readonly timeMs: number;
  readonly nextId: number;
  /** The lowest id in the queue; `nextId`: there is none. */
  readonly lowestOpen: number;
  /** All that counts of what stands before this offset stands behind it once more: the journal may begin there. 0: nothing was carried yet. */
  readonly cut: number;
  /** With a new cut: letters that were purged since the cut was begun, and can still be read behind it. */
  readonly uncutPurges: number;
  /** The incarnation of the topic, from its first letter on. */
  readonly incarnation: number;
  /** Why the letters in front of it were written. Undefined: they are new, or there are none. */
  readonly act?: LettersAct;
};

/** `carried`: as they were, behind a cut. */
export type LettersAct = { readonly kind: 'carried' } | (Authorship & { readonly kind: 'mergeFailed' | 'restored' });

export type HandedOverRecord = {
  readonly kind: 'handedOver';
  readonly timeMs: number;
  readonly shard: number;
  /** The cluster that the shard belongs to. */
  readonly clusterId: string;
  /** The oldest first. */
  readonly recent: readonly HandedOver[];
};

/** Written like a letter of ours, and not readable by this version: it stays in the queue as it is. */
export type DamagedLetterRecord = {
  readonly kind: 'damaged';
  readonly timeMs: number;
  readonly messageId: number;
  readonly reason: string;
  /** The hand-over as far as it can be read, without which the shard would wait for the letter for ever. */
  readonly handOver: HandOver | undefined;
  /** `open` when not even that can be read. */
  readonly state: LetterState;
};

export type DeadLetterRecord = LetterRecord | ResolvedRecord | HeadRecord | HandedOverRecord | DamagedLetterRecord;

/**
 * What an index knows of a letter: all that is listed, counted, filtered and grouped by. Its task's bytes, its stack and its history are not
 * here: they are read from the topic at `offset`.
 *
 * A row fits every database, whatever its letter holds: its texts are cut, and a number beyond 64 bits, which no task has, is not known. Texts that
 * are not known are '', numbers and times undefined. Times are ms since 1970.
 */
export type LetterRow = Pick<LetterTask, 'taskType' | 'namespaceId' | 'namespace' | 'workflowId' | 'runId' | 'workflowType'> &
  Pick<LetterFailure, 'errorType' | 'errorMessage' | 'fingerprint' | 'attempts' | 'node' | 'build'> &
  Pick<Letter, 'generation' | 'state' | 'deadLetterTimeMs'> & {
    readonly messageId: number;
    /** The offset of the last record of the letter. */
    readonly offset: number;
    readonly taskId: Whole | undefined;
    readonly shardId: number | undefined;
    readonly cause: DeadLetterCause | '';
    /** '': the letter cannot be read. */
    readonly disposition: LetterDisposition | '';
    readonly taskFireTimeMs: number | undefined;
    readonly firstFailureTimeMs: number | undefined;
    readonly lastFailureTimeMs: number | undefined;
    readonly firstEventId: Whole | undefined;
    readonly nextEventId: Whole | undefined;
    readonly version: Whole | undefined;
    readonly sourceCluster: string;
    /** This version cannot read it: nothing is known but its id, and `errorMessage` says why. */
    readonly isDamaged: boolean;
  };

/** Bytes of each text in UTF-8: an entry of an index of PostgreSQL takes 2,704 bytes. */
const LETTER_TEXT_BYTES_MAX = 2_048;

type LetterPlace = { readonly sourceCluster: string; readonly offset: number };

export function letterRow(record: LetterRecord | DamagedLetterRecord, { sourceCluster, offset }: LetterPlace): LetterRow {
  const { messageId } = record;
  const place = { messageId, offset, sourceCluster: cut(sourceCluster) };
  if (record.kind === 'damaged') {
    const { timeMs, reason, state } = record;
    return { ...unknown, ...place, deadLetterTimeMs: timeMs, errorMessage: cut(reason), state, isDamaged: true };
  }
  const { task, failure, generation, state, deadLetterTimeMs } = record.letter;
  const { cause, disposition, attempts, firstFailureTimeMs, lastFailureTimeMs } = failure;
  const { shardId, fireTimeMs } = task;
  return {
    ...place,
    ...{ cause, disposition, attempts, firstFailureTimeMs, lastFailureTimeMs, generation, state, deadLetterTimeMs },
    ...{ shardId, taskFireTimeMs: fireTimeMs },
    ...{ taskId: storable(task.taskId), version: storable(task.taskVersion) },
    ...{ firstEventId: storable(task.eventId), nextEventId: storable(task.nextEventId) },
    ...{ taskType: cut(task.taskType), workflowType: cut(task.workflowType) },
    ...{ namespaceId: cut(task.namespaceId), namespace: cut(task.namespace), workflowId: cut(task.workflowId), runId: cut(task.runId) },
    ...{ errorType: cut(failure.errorType), errorMessage: cut(failure.errorMessage), fingerprint: cut(failure.fingerprint) },
    ...{ node: cut(failure.node), build: cut(failure.build) },
    isDamaged: false,
  };
}

const noIds = { taskId: undefined, shardId: undefined, firstEventId: undefined, nextEventId: undefined, version: undefined };
const noTimes = { taskFireTimeMs: undefined, firstFailureTimeMs: undefined, lastFailureTimeMs: undefined };
const noTexts = { taskType: '', namespaceId: '', namespace: '', workflowId: '', runId: '', workflowType: '', node: '', build: '' } as const;
const noFailure = { cause: '', disposition: '', errorType: '', fingerprint: '', attempts: 0 } as const;
const unknown = { ...noIds, ...noTimes, ...noTexts, ...noFailure, generation: 0 };

function storable(value: Whole | undefined): Whole | undefined {
  return typeof value === 'bigint' && (value < int64Min || value > int64Max) ? undefined : value;
}

function cut(text: string): string {
  return cutToUtf8Bytes(text, LETTER_TEXT_BYTES_MAX);
}
