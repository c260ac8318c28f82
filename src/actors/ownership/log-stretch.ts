/**
 * Reading back what stands between the last confirmed record and some later offset, to learn what became of an append.
 *
 *     last confirmed                                     until
 *          │   void   batch?   claim?   void   batch again? │
 *     ─────●──────────────────────────────────────────────▶ │
 *
 * Two questions are settled so: an append came back with an unexpected base offset (docs/protocol.md, R5), and a claim that was made in
 * doubt has landed (R7). In both the answer is what `effective` says, nothing else.
 *
 * Where the log was trimmed beyond what was confirmed, a part of the stretch is gone. Whoever trims has a later checkpoint and leaves its last
 * record (T13): a successor shows by its epoch. Nothing else can be told of what is left, and none of it is taken for the batch.
 */
import { unreachable } from '../../kernel/assert.ts';
import { effective } from './effective.ts';
import { LogError, missingOffsets } from '../log.ts';
import { readThrough } from './read-through.ts';
import type { Claim, ClaimCodec } from './claim.ts';
import type { LogCursor } from './effective.ts';
import type { Log, LogRecord, PartitionId, RecordPosition, StoredRecord } from '../log.ts';

export type ClaimInLog = Claim & { readonly epoch: number; readonly offset: number };

export type Stretch = {
  /** False: the last confirmed record is not where it was, the log was cut and written over (T6). */
  readonly intact: boolean;
  /** Behind the stretch. */
  readonly cursor: LogCursor;
  /** Where the whole batch counts; undefined when it does not. */
  readonly found: number | undefined;
  /** Records counted that are not of the batch; or the beginning of the stretch was trimmed, and nobody knows. */
  readonly foreign: boolean;
  /** The first claim in it that counts and is not ours. */
  readonly rival: ClaimInLog | undefined;
  /** The last claim in it that counts: who owns the partition now. */
  readonly owner: ClaimInLog | undefined;
};

export type StretchQuery = {
  readonly log: Log;
  readonly partition: PartitionId;
  readonly claims: ClaimCodec;
  /** Where the owner stands. */
  readonly cursor: Readonly<LogCursor>;
  /** The last record that counted, as the owner saw it confirmed. */
  readonly last: RecordPosition | undefined;
  readonly until: number;
  /** The records in question, stamped; may be empty. */
  readonly batch: readonly LogRecord[];
  readonly ownNonces: ReadonlySet<string>;
  /** Told of what does not count and should not be there. */
  noticed(verdict: 'foreign' | 'gap', record: StoredRecord): void;
  /** Waits a moment; false = nobody wants the answer any more. */
  pause(): Promise<boolean>;
};

/** Undefined when nobody wants the answer any more. Throws LogError when the log cannot be read. */
export async function readStretch(query: StretchQuery): Promise<Stretch | undefined> {
  const { log, partition } = query;
  for (;;) {
    const walk = new Walk(query);
    const { start } = await log.bounds(partition);
    walk.startAt(start);
    try {
      return (await readThrough(query, walk)) ? walk.result() : undefined;
    } catch (error) {
      if (!(error instanceof LogError) || error.code !== 'out-of-range') throw error;
      const bounds = await log.bounds(partition);
      if (bounds.end < query.until) throw error;
      // Trimmed while it was read, or the trim was undone since: once more, from where the log starts now.
      if (!(await query.pause())) return undefined;
    }
  }
}

class Walk {
  readonly cursor: LogCursor;
  readonly #query: StretchQuery;
  #intact = true;
  #matched = 0;
  #base = 0;
  #foreign = false;
  #rival: ClaimInLog | undefined;
  #owner: ClaimInLog | undefined;
  #isTrimmed = false;

  constructor(query: StretchQuery) {
    this.#query = query;
    this.cursor = { ...query.cursor };
  }

  /** One record early, to see that the last confirmed one is still there, unless it was trimmed. */
  startAt(logStart: number): void {
    const { last, cursor, until } = this.#query;
    if (last !== undefined && last.offset >= logStart) this.cursor.offset = last.offset;
    if (logStart <= cursor.offset) return;
    this.#isTrimmed = true;
    this.#foreign = true;
    this.cursor.offset = logStart;
    // Whoever trims all that was asked for has a checkpoint beyond it.
    if (logStart >= until) this.#rival = this.#owner = unnamedOwner(cursor.epoch + 1, logStart);
  }

  step(record: StoredRecord): void {
    const { last, claims, ownNonces, partition } = this.#query;
    if (record.offset === last?.offset) {
      this.#intact = record.epoch === last.epoch && record.sequence === last.sequence;
      this.cursor.offset = record.offset + 1;
      return;
    }
    const verdict = effective(this.cursor, record, claims);
    if (this.#isTrimmed && verdict !== 'claim' && verdict !== 'hole') {
      if (verdict === 'gap' && record.epoch > this.cursor.epoch) this.#noteSuccessor(record);
      return;
    }
    switch (verdict) {
      case 'claim':
        this.#owner = { ...claims.decode(record.value), epoch: record.epoch, offset: record.offset };
        if (!ownNonces.has(this.#owner.ownerNonce)) this.#rival ??= this.#owner;
        return;
      case 'record':
        return this.#match(record);
      case 'hole':
        throw missingOffsets(partition, this.cursor.offset, record.offset - 1);
      case 'void':
        return;
      case 'foreign':
      case 'gap':
        return this.#query.noticed(verdict, record);
      default:
        return unreachable(verdict);
    }
  }

  /** Claims of lower epochs do not count from here on. */
  #noteSuccessor({ epoch, sequence, offset }: StoredRecord): void {
    this.cursor.epoch = epoch;
    this.cursor.sequence = sequence;
    this.#owner = unnamedOwner(epoch, offset);
    this.#rival ??= this.#owner;
  }

  #match(record: StoredRecord): void {
    const next = this.#query.batch[this.#matched];
    const isNext = next !== undefined && sameRecord(next, record);
    if (this.#matched === 0) this.#base = record.offset;
    if (!isNext || record.offset !== this.#base + this.#matched) this.#foreign = true;
    else this.#matched += 1;
  }

  result(): Stretch {
    const whole = this.#matched > 0 && this.#matched === this.#query.batch.length;
    return {
      intact: this.#intact,
      cursor: this.cursor,
      found: whole ? this.#base : undefined,
      foreign: this.#foreign || (this.#matched > 0 && !whole),
      rival: this.#rival,
      owner: this.#owner,
    };
  }
}

/** Its claim was trimmed: only what it wrote, or its checkpoint, tells of it. */
export function unnamedOwner(epoch: number, offset: number): ClaimInLog {
  return { ownerNonce: '', owner: 'another owner', epoch, offset };
}

/** Epoch and sequence name one content for ever (T2); where they do not, nothing is taken for granted. */
function sameRecord(sent: LogRecord, found: LogRecord): boolean {
  if (sent.epoch !== found.epoch || sent.sequence !== found.sequence) return false;
  if (sent.key !== found.key || sent.value.byteLength !== found.value.byteLength) return false;
  return sent.value.every((byte, index) => byte === found.value[index]);
}
