/**
 * Which records of a journal count. Every reader uses this one function: owners, projections, tools, tests (docs/protocol.md, T8).
 *
 *     offset      0      1      2      3      4      5      6      7      8        10
 *     epoch.seq   1.0    1.1    1.2    2.0    1.3    2.1    2.1    2.3    –        2.2
 *                 claim                claim
 *     verdict     claim  record record claim  void   record void   gap    foreign  hole
 *                                             fenced        twice
 *
 * A claim is valid if its epoch is greater than that of the last valid claim; it has sequence 0 of its epoch. A record counts if its
 * epoch is that of the last valid claim and its sequence is the next one. Of two claims of one epoch the first in the log wins (T1).
 * The key alone makes no claim: records are named by people, and one may name a namespace `@claim`.
 *
 * Nothing else counts, but not everything else is harmless. A fenced owner's records and duplicates are *void*: every takeover may leave
 * some. What Perdure cannot have written is *foreign*: no stamp, a claim that cannot be read, an epoch out of all proportion; were it to
 * count, one stray record would take the partition from its owner. A *gap* in the stamps (a sequence that is not the next, an epoch that
 * nobody claimed) and a *hole* in the offsets are losses: an owner appends only behind what was confirmed to it, and a log numbers
 * without leaving out, so something was here and is gone. Behind a gap nothing of that epoch counts; behind a hole nothing can be known.
 */
import { assert } from '../../kernel/assert.ts';
import type { LogRecord, StoredRecord } from '../../ports/log.ts';

/** How far a journal was read: the stamp of the last record that counted, and the offset to read next. Before any claim: 0, 0. */
export type LogPosition = { readonly epoch: number; readonly sequence: number; readonly offset: number };

/**
 * `cutEpoch`: records before `offset` are gone, perhaps with the claim of the epoch that goes on there. Until a claim is met the first record of
 * each epoch above that one counts, and those that follow it.
 */
export type LogCursor = { epoch: number; sequence: number; offset: number; cutEpoch?: number | undefined };

export type Stamped = Pick<StoredRecord, 'key' | 'epoch' | 'sequence' | 'offset' | 'value'>;

export type Verdict = 'claim' | 'record' | 'void' | 'foreign' | 'gap' | 'hole';

/**
 * Owners count up by one, also with each claim that nobody answered, and those take two seconds at least: the largest jump that is still
 * taken for ours leaves room for three weeks of them. A process that outlived an outage that long must be started again.
 */
export const EPOCH_JUMP_MAX = 1_000_000;

/** Judges the next record and moves the cursor behind it; a hole stops it. */
export function effective(cursor: LogCursor, record: Stamped, claims: Pick<ClaimCodec, 'decode'>): Verdict {
  assert(record.offset >= cursor.offset, 'records are judged once, in the order of the log');
  if (record.offset > cursor.offset) return 'hole';
  cursor.offset = record.offset + 1;
  if (record.epoch === 0 || record.epoch > cursor.epoch + EPOCH_JUMP_MAX) return 'foreign';
  if (isClaim(record)) return judgeClaim(cursor, record, claims);
  if (cursor.cutEpoch !== undefined && record.epoch > cursor.cutEpoch) {
    cursor.epoch = record.epoch;
    cursor.sequence = record.sequence - 1;
    cursor.cutEpoch = record.epoch;
  }
  if (record.epoch < cursor.epoch) return 'void';
  if (record.epoch > cursor.epoch || record.sequence > cursor.sequence + 1) return 'gap';
  if (record.sequence !== cursor.sequence + 1) return 'void';
  cursor.sequence = record.sequence;
  return 'record';
}

/** What stands before `offset` is gone: for journals whose records are each whole by themselves. */
export function goOnAt(cursor: LogCursor, offset: number): void {
  cursor.cutEpoch = cursor.epoch - 1;
  cursor.offset = offset;
}

/** A record is a claim by its form: the records of a journal are numbered from 1 in each epoch. */
export function isClaim({ key, sequence }: Pick<Stamped, 'key' | 'sequence'>): boolean {
  return key === CLAIM_KEY && sequence === 0;
}

function judgeClaim(cursor: LogCursor, record: Stamped, claims: Pick<ClaimCodec, 'decode'>): Verdict {
  if (record.epoch <= cursor.epoch) return 'void';
  if (!readable(record, claims)) return 'foreign';
  cursor.epoch = record.epoch;
  cursor.sequence = 0;
  cursor.cutEpoch = undefined;
  return 'claim';
}

function readable({ value }: Stamped, claims: Pick<ClaimCodec, 'decode'>): boolean {
  try {
    return claims.decode(value).ownerNonce !== '';
  } catch {
    return false;
  }
}

/**
 * May derived data that stands at `stored` be replaced by data that stands at `mine`? Asked in the transaction that writes it, so that
 * a fenced owner that still runs cannot overwrite its successor's (T11). Projections will; today only those of the simulation do.
 */
export function mayReplace(stored: LogPosition | undefined, mine: LogPosition): boolean {
  if (stored === undefined) return true;
  if (stored.epoch !== mine.epoch) return stored.epoch < mine.epoch;
  return stored.sequence <= mine.sequence;
}

const CLAIM_KEY = '@claim';

export type Claim = {
  /** Drawn anew for every claim: an owner whose reply was lost tells its own claim from a rival's by it (T1). */
  readonly ownerNonce: string;
  /** The host, port and process of the owner, for people. */
  readonly owner: string;
};

export type ClaimInLog = Claim & { readonly epoch: number; readonly offset: number };

/** What stands between the last record that was confirmed to an owner and some later offset. */
export type Stretch = {
  /** False: the last confirmed record is not where it was, the log was cut and written over (T6). */
  readonly intact: boolean;
  readonly cursor: LogCursor;
  /** Where the whole batch counts; undefined when it does not. */
  readonly found: number | undefined;
  /** Records counted that are not of the batch; or the beginning of the stretch was trimmed, and nobody knows. */
  readonly foreign: boolean;
  /** The first claim in the stretch that counts and is not ours. */
  readonly rival: ClaimInLog | undefined;
  /** The last claim in it that counts: who owns the partition now. */
  readonly owner: ClaimInLog | undefined;
};

export interface ClaimCodec {
  encode(claim: Claim): Uint8Array;
  /** Throws on what it cannot read. */
  decode(value: Uint8Array): Claim;
}

export function claimRecord(codec: ClaimCodec, claim: Claim, epoch: number, timeMs: number): LogRecord {
  const value = codec.encode(claim);
  return { key: CLAIM_KEY, schema: 1, epoch, sequence: 0, type: 'Claim', namespace: '', workflowId: '', runId: '', timeMs, value };
}
