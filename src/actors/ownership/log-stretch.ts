/**
 * Reading back what stands between the last confirmed record and some later offset, to learn what became of an append.
 *
 *     last confirmed                                     until
 *          │   void   batch?   claim?   void   batch again? │
 *     ─────●──────────────────────────────────────────────▶ │
 *
 * Two questions are settled so: an append came back with an unexpected base offset (docs/protocol.md, R5), and a claim that was made in
 * doubt has landed (R7). In both the answer is what `effective` says, nothing else. It is read as well when others have appended, and when the leader
 * changed.
 *
 * Where the log was trimmed beyond what was confirmed, a part of the stretch is gone. Whoever trims has a later checkpoint and leaves its last
 * record (T13): a successor shows by its epoch. Nothing else can be told of what is left, and none of it is taken for the batch.
 */
import { unreachable } from '../../kernel/assert.ts';
import { LogError, missingOffsets, partitionName, type LogRecord, type RecordPosition, type StoredRecord } from '../../ports/log.ts';
import { type ClaimInLog, effective, type LogCursor, type Stretch } from './effective.ts';
import type { Ownership } from './ownership.ts';

type JournalTailOptions = Ownership & { readonly retryDelayMs: number };

type StretchQuery = Pick<Ownership, 'partition' | 'claims' | 'position' | 'notices'> & {
  /** The last record that counted, as the owner saw it confirmed. */
  readonly last: RecordPosition | undefined;
  readonly until: number;
  /** The records in question, stamped; may be empty. */
  readonly batch: readonly LogRecord[];
  readonly ownNonces: ReadonlySet<string>;
};

const noNonces: ReadonlySet<string> = new Set();

export class JournalTail {
  readonly #options: JournalTailOptions;

  constructor(options: JournalTailOptions) {
    this.#options = options;
  }

  /** Reads up to `until`, where `batch` should be; undefined: the log cannot be read now, or the term of ownership is over. */
  async tryStretch(until: number, batch: readonly LogRecord[]): Promise<Stretch | undefined> {
    try {
      return await this.stretch(until, batch, noNonces);
    } catch (error) {
      if (error instanceof LogError && (this.#options.retries.mayPass(error) || error.code === 'out-of-range')) {
        this.#options.logger.warn('the log cannot be read back', { error });
        return undefined;
      }
      throw error;
    }
  }

  /** Undefined when the term of ownership is over; throws LogError when the log cannot be read. */
  async stretch(until: number, batch: readonly LogRecord[], ownNonces: ReadonlySet<string>): Promise<Stretch | undefined> {
    const { log, partition, claims, position, notices, retries, retryDelayMs } = this.#options;
    const { term } = retries;
    const query = { partition, claims, position, notices, last: position.last, until, batch, ownNonces };
    const pause = async (): Promise<boolean> => {
      await retries.sleep(retryDelayMs);
      return term === retries.term;
    };
    for (;;) {
      const walk = new Walk(query);
      const { start } = await log.bounds(partition);
      walk.startAt(start);
      try {
        return (await readThrough({ log, partition, until, pause }, walk)) ? walk.result() : undefined;
      } catch (error) {
        if (!(error instanceof LogError) || error.code !== 'out-of-range') throw error;
        const bounds = await log.bounds(partition);
        if (bounds.end < until) throw error;
        // Trimmed while it was read, or the trim was undone since: once more, from where the log starts now.
        if (!(await pause())) return undefined;
      }
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
    this.cursor = { ...query.position.cursor };
  }

  /** One record early, to see that the last confirmed one is still there, unless it was trimmed. */
  startAt(logStart: number): void {
    const { last, position, until } = this.#query;
    const { cursor } = position;
    if (last !== undefined && last.offset >= logStart) this.cursor.offset = last.offset;
    if (logStart <= cursor.offset) return;
    this.#isTrimmed = true;
    this.#foreign = true;
    this.cursor.offset = logStart;
    // Whoever trims all that was asked for has a checkpoint beyond it.
    if (logStart >= until) this.#rival = this.#owner = unnamedOwner(cursor.epoch + 1, logStart);
  }

  step(record: StoredRecord): void {
    const { last, claims, ownNonces, partition, notices, position } = this.#query;
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
        return notices.tell(verdict, record, position.cursor);
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

const READ_BYTES = 1024 * 1024;
/** Reads may lag behind an append that was acknowledged, or an end that was told. This often in a row they may show nothing. */
const SHORT_READS_MAX = 20;

type Reading = Pick<Ownership, 'log' | 'partition'> & {
  readonly until: number;
  /** Waits a moment; false = nobody wants the answer any more. */
  pause(): Promise<boolean>;
};

export type Reader = {
  /** Where it stands: `step` moves it on. */
  readonly cursor: { readonly offset: number };
  step(record: StoredRecord): void;
};

/** False when nobody wants the answer any more. Throws LogError when the log cannot be read. */
export async function readThrough(reading: Reading, reader: Reader): Promise<boolean> {
  const { log, partition, until } = reading;
  for (let shortReads = 0; reader.cursor.offset < until;) {
    const records = await log.read(partition, reader.cursor.offset, READ_BYTES);
    if (records.length === 0) {
      shortReads += 1;
      if (shortReads > SHORT_READS_MAX) throw await whyNothing(reading, reader.cursor.offset);
      if (!(await reading.pause())) return false;
    }
    for (const record of records) {
      // By where the reader stands, not by the record: a hole may reach from before `until` to behind it.
      if (reader.cursor.offset >= until) break;
      reader.step(record);
    }
  }
  return true;
}

/** It lags; or what was seen behind it is gone, and no waiting brings it back. */
async function whyNothing({ log, partition, until }: Reading, offset: number): Promise<LogError> {
  const { end } = await log.bounds(partition);
  const name = partitionName(partition);
  if (end < until) return new LogError('out-of-range', `${name} ends at ${end}, but offset ${until - 1} was seen`);
  return new LogError('unavailable', `${name} shows nothing at offset ${offset} yet`);
}
