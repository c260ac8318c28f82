/**
 * Reading back what stands between the last confirmed record and some later offset, to learn what became of an append.
 *
 *     last confirmed                                     until
 *          │   void   batch?   claim?   void   batch again? │
 *     ─────●──────────────────────────────────────────────▶ │
 *
 * Two questions are settled so: an append came back with an unexpected base offset (docs/protocol.md, R5), and a claim that was made in
 * doubt has landed (R7). In both the answer is what `effective` says, nothing else.
 */
import { unreachable } from '../../kernel/assert.ts';
import { effective } from './effective.ts';
import { LogError, missingOffsets } from '../log.ts';
import { readThrough } from './read-through.ts';
import type { Claim, ClaimCodec } from './claim.ts';
import type { LogCursor } from './effective.ts';
import type { Log, LogRecord, PartitionId, StoredRecord } from '../log.ts';

export type ClaimInLog = Claim & { readonly epoch: number; readonly offset: number };

/** The last record that counted, as its owner saw it confirmed. */
export type LastCounted = { readonly offset: number; readonly epoch: number; readonly sequence: number };

export type Stretch = {
  /** False: the last confirmed record is not where it was, the log was cut and written over (T6). */
  readonly intact: boolean;
  /** Behind the stretch. */
  readonly cursor: LogCursor;
  /** Where the whole batch counts; undefined when it does not. */
  readonly found: number | undefined;
  /** Records counted that are not of the batch. */
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
  readonly last: LastCounted | undefined;
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
  const walk = new Walk(query);
  const { start } = await query.log.bounds(query.partition);
  walk.startAt(start);
  return (await readThrough(query, walk)) ? walk.result() : undefined;
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

  constructor(query: StretchQuery) {
    this.#query = query;
    this.cursor = { ...query.cursor };
  }

  /** One record early, to see that the last confirmed one is still there, unless it was trimmed. */
  startAt(logStart: number): void {
    const { last, cursor } = this.#query;
    if (last !== undefined && last.offset >= logStart) this.cursor.offset = last.offset;
    else if (logStart > cursor.offset) throw new LogError('corrupt', `the log starts at ${logStart}, behind what was confirmed`);
  }

  step(record: StoredRecord): void {
    const { last, claims, ownNonces, partition } = this.#query;
    if (record.offset === last?.offset) {
      this.#intact = record.epoch === last.epoch && record.sequence === last.sequence;
      this.cursor.offset = record.offset + 1;
      return;
    }
    const verdict = effective(this.cursor, record, claims);
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

/** Epoch and sequence name one content for ever (T2); where they do not, nothing is taken for granted. */
function sameRecord(sent: LogRecord, found: LogRecord): boolean {
  if (sent.epoch !== found.epoch || sent.sequence !== found.sequence) return false;
  if (sent.key !== found.key || sent.value.byteLength !== found.value.byteLength) return false;
  return sent.value.every((byte, index) => byte === found.value[index]);
}
