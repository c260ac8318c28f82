/**
 * Fills new memory from the journal: at a takeover, and when memory was dropped in doubt.
 *
 *     open ─▶ 0, or a checkpoint ── record ── void ── claim ── record ── … ──▶ until     what counts goes to memory, in slices of the event loop
 *
 * The log must still hold all that was confirmed to us, and what is known elsewhere (T5); where each record is whole by itself the fold goes on behind
 * those that are gone, and says which they were. What keeps the fold from its end is returned: the owner decides what becomes of the partition.
 */
import { errorText } from '../../kernel/error-text.ts';
import { unreachable } from '../../kernel/assert.ts';
import { LogError, missingOffsets, type OffsetRange, type StoredRecord } from '../../ports/log.ts';
import { missingBeginning, missingEnd } from './missing-records.ts';
import type { CheckpointPosition } from '../../projections/database-port.ts';
import type { LogPosition } from './effective.ts';
import type { OwnerPosition } from './owner-position.ts';
import type { Ownership } from './ownership.ts';
import type { Restoration } from './restoration.ts';
import type { LoopTurns } from '../../ports/loop-turns.ts';
import { NowAndThen } from '../../ports/now-and-then.ts';
import type { ClockAndLogger } from '../../ports/machine.ts';

export type FoldTrouble =
  /** The log no longer holds what it confirmed, or holds something else there. */
  | { readonly kind: 'vanished'; readonly found: string }
  /** The log starts behind where the fold stands or would begin. Another may have written a checkpoint since, and trimmed behind it. */
  | { readonly kind: 'trimmed'; readonly found: string }
  /** Another has restored the checkpoint since: what the rows say is not what the journal goes on from here. */
  | { readonly kind: 'fenced'; readonly found: string }
  /** Somebody must look at the record. */
  | { readonly kind: 'unreadable'; readonly reason: string; readonly error: unknown };

/** Beside what a checkpoint has. `beginning`: what counted was written again behind it. `anything`: each record is whole by itself. */
export type MayLack = 'beginning' | 'anything';

/** When the term of ownership ends, so does the fold, without a result. */
type JournalFoldOptions = Ownership & {
  readonly progress: ReplayProgress;
  readonly turns: LoopTurns;
  readonly restoration: Restoration;
  /** undefined: a journal that has lost records is refused. */
  readonly mayLack: MayLack | undefined;
};

/** Taken apart into records in one go, in the turn in which it comes. */
const READ_BYTES = 512 * 1024;
/** A fold that was shown nothing so often in a row asks whether the log still is as long as it was. */
const SHORT_READS_BEFORE_BOUNDS = 5;

export class JournalFold {
  readonly #options: JournalFoldOptions;
  #lost: OffsetRange[] = [];

  constructor(options: JournalFoldOptions) {
    this.#options = options;
  }

  /** Where the fold begins, and the end of the log; undefined: the term is over. `isLast`: no later checkpoint tells of what is lost. */
  async open(
    checkpoint: CheckpointPosition | undefined,
    elsewhere: LogPosition | undefined,
    isLast: boolean,
  ): Promise<FoldTrouble | { readonly kind: 'open'; readonly start: number; readonly end: number } | undefined> {
    const { partition, log, position, retries, restoration, mayLack } = this.#options;
    this.#lost = [];
    position.restart(checkpoint, elsewhere);
    const bounds = await retries.persist(() => log.bounds(partition));
    if (bounds === undefined) return undefined;
    const missing = missingEnd(bounds, checkpoint) ?? position.missing(bounds.end);
    if (missing !== undefined) return vanished(missing);
    const found = missingBeginning(bounds, checkpoint, restoration.usesCheckpoints);
    if (found !== undefined && (mayLack === undefined || !isLast)) return { kind: 'trimmed', found };
    if (found !== undefined) this.#goOnAt(bounds.start);
    return { kind: 'open', start: position.cursor.offset, end: bounds.end };
  }

  /**
   * Reads on to `until` and applies what counts. The last record that counted is read once more, and what did not count behind it: the
   * log may have been cut and written over since (T6). Undefined: it is there, or the term is over.
   */
  async to(until: number): Promise<FoldTrouble | undefined> {
    const { log, partition, position, progress, turns, retries } = this.#options;
    const { term } = retries;
    // The checkpoint is beyond it.
    if (position.last !== undefined && position.last.offset >= until) return undefined;
    position.stepBack();
    progress.begin(position.cursor.offset, until);
    for (let attempt = 0; position.cursor.offset < until;) {
      const read = (): Promise<readonly StoredRecord[]> => log.read(partition, position.cursor.offset, READ_BYTES);
      const records = await retries.persist(() => turns.reading(read).catch((error: unknown) => this.#notRead(error)));
      if (records === 'trimmed') return { kind: 'trimmed', found: `the log was trimmed beyond offset ${position.cursor.offset}` };
      if (term !== retries.term || records === undefined) return undefined;
      attempt = records.length === 0 ? attempt + 1 : 0;
      const trouble = attempt > 0 ? await this.#waitForMore(attempt, until) : await this.#applyAll(records, until);
      if (term !== retries.term || trouble !== undefined) return trouble;
    }
    progress.end();
    return undefined;
  }

  /** Everything that is known elsewhere was met, and all that stood before the beginning. */
  complete(): FoldTrouble | undefined {
    const { position, memory } = this.#options;
    if (this.#lost.length > 0) memory.recordsLost(this.#lost.splice(0));
    const contradiction = position.contradiction(position.cursor.offset);
    return contradiction === undefined ? undefined : vanished(contradiction);
  }

  #goOnAt(offset: number): void {
    const { position } = this.#options;
    const from = position.cursor.offset;
    if (this.#lost.at(-1)?.from !== from) this.#lost.push({ from, to: offset - 1 });
    position.goOnAt(offset);
  }

  /** What was to be read has gone from the log's beginning: others know why. */
  async #notRead(error: unknown): Promise<'trimmed'> {
    const { log, partition, position } = this.#options;
    if (!(error instanceof LogError) || error.code !== 'out-of-range') throw error;
    const bounds = await log.bounds(partition);
    if (bounds.start > position.cursor.offset) return 'trimmed';
    if (bounds.end < position.cursor.offset) throw error;
    throw new LogError('unavailable', 'the start of the log has moved back', { cause: error });
  }

  /** A read shows nothing though the log was longer: it lags; or what was seen there is gone, and no waiting brings it back. */
  async #waitForMore(attempt: number, until: number): Promise<FoldTrouble | undefined> {
    const { log, partition, retries } = this.#options;
    const { term } = retries;
    await retries.backOff(attempt);
    if (term !== retries.term || attempt < SHORT_READS_BEFORE_BOUNDS) return undefined;
    const bounds = await retries.persist(() => log.bounds(partition));
    if (bounds === undefined || bounds.end >= until) return undefined;
    return vanished(`the log ends at ${bounds.end}, but offset ${until - 1} was seen`);
  }

  async #applyAll(records: readonly StoredRecord[], until: number): Promise<FoldTrouble | undefined> {
    const { claims, position, progress, turns, retries } = this.#options;
    const { term } = retries;
    await turns.slice();
    const lacking = await this.#readAhead(records);
    if (term !== retries.term || lacking !== undefined) return lacking;
    for (const record of records) {
      if (turns.over()) {
        progress.tick();
        await turns.slice();
      }
      // By where the fold stands, not by the record: a hole may reach from before `until` to behind it.
      if (term !== retries.term || position.cursor.offset >= until) return undefined;
      if (record.offset === position.last?.offset) {
        if (!position.passLast(record, claims)) return vanished(replaced(position, record));
        continue;
      }
      if (record.offset > position.cursor.offset && this.#options.mayLack === 'anything') this.#goOnAt(record.offset);
      const contradiction = position.contradiction(record.offset);
      if (contradiction !== undefined) return vanished(contradiction);
      const trouble = this.#applyOne(record);
      if (trouble !== undefined) return trouble;
      progress.folded(record);
    }
    progress.tick();
    return undefined;
  }

  async #readAhead(records: readonly StoredRecord[]): Promise<FoldTrouble | undefined> {
    const { retries, memory, turns } = this.#options;
    const { term } = retries;
    for (const _pause of memory.decodeAhead(records)) {
      if (turns.over()) await turns.slice();
      if (term !== retries.term) return undefined;
    }
    let loading = this.#ahead();
    if (loading === undefined) return undefined;
    let loaded: 'fenced' | undefined;
    try {
      loaded = await retries.persist(async () => {
        const attempt = loading ?? this.#ahead();
        loading = undefined;
        return await attempt;
      });
    } catch (error) {
      const reason = `what records from offset ${records[0]?.offset} on change cannot be loaded: ${errorText(error)}`;
      return { kind: 'unreadable', reason, error };
    }
    if (loaded === 'fenced') return { kind: 'fenced', found: 'another process has restored the checkpoint of this partition' };
    await turns.slice();
    return undefined;
  }

  #ahead(): Promise<'fenced' | undefined> | undefined {
    const loading = this.#options.memory.ahead();
    return loading && this.#options.restoration.reading(loading);
  }

  #applyOne(record: StoredRecord): FoldTrouble | undefined {
    const { partition, claims, position, notices, memory } = this.#options;
    try {
      const verdict = position.step(record, claims);
      switch (verdict) {
        case 'record':
          memory.fold(record);
          return undefined;
        case 'claim':
        case 'void':
          return undefined;
        case 'foreign':
        case 'gap':
          notices.tell(verdict, record, position.cursor);
          return undefined;
        case 'hole': {
          const { message } = missingOffsets(partition, position.cursor.offset, record.offset - 1);
          return { kind: 'unreadable', reason: message, error: undefined };
        }
        default:
          return unreachable(verdict);
      }
    } catch (error) {
      return { kind: 'unreadable', reason: `the record at offset ${record.offset} cannot be applied: ${errorText(error)}`, error };
    }
  }
}

function replaced({ last }: OwnerPosition, { epoch, sequence, offset }: StoredRecord): string {
  const known = `${last?.epoch}.${last?.sequence}`;
  return `offset ${offset} held record ${known} when it was replayed, or when the checkpoint in the database was written, and now holds ${epoch}.${sequence}`;
}

function vanished(found: string): FoldTrouble {
  return { kind: 'vanished', found };
}

/** What this owner has read of its journal, in all its replays. */
export type Replayed = { readonly records: number; readonly bytes: number; readonly ms: number };

/** `onMoved`: called about once a second while the replay moves. */
type ReplayProgressOptions = ClockAndLogger & { readonly onMoved: () => void };

const SAY_EVERY_MS = 5_000;
const TELL_EVERY_MS = 1_000;

export class ReplayProgress {
  readonly #options: ReplayProgressOptions;
  #before: Replayed = { records: 0, bytes: 0, ms: 0 };
  #current: { readonly from: number; readonly until: number; readonly startMs: number; records: number; bytes: number } | undefined;
  #say: NowAndThen;
  #tell: NowAndThen;

  constructor(options: ReplayProgressOptions) {
    this.#options = options;
    this.#say = new NowAndThen(options.clock, SAY_EVERY_MS);
    this.#tell = new NowAndThen(options.clock, TELL_EVERY_MS);
  }

  get replayed(): Replayed {
    const { records, bytes, ms } = this.#before;
    const now = this.#current;
    if (now === undefined) return this.#before;
    return { records: records + now.records, bytes: bytes + now.bytes, ms: ms + this.#options.clock.monoMs() - now.startMs };
  }

  begin(from: number, until: number): void {
    this.end();
    this.#current = { from, until, startMs: this.#options.clock.monoMs(), records: 0, bytes: 0 };
    this.#say = new NowAndThen(this.#options.clock, SAY_EVERY_MS);
    // It has only just begun: nothing to say yet.
    this.#say.now();
    this.#options.logger.debug('replaying', { records: until - from });
  }

  folded({ key, value }: StoredRecord): void {
    if (this.#current === undefined) return;
    this.#current.records += 1;
    this.#current.bytes += key.length + value.byteLength;
  }

  /** Has to be called every few milliseconds of a replay. */
  tick(): void {
    const now = this.#current;
    if (now === undefined || !this.#tell.now()) return;
    this.#options.onMoved();
    if (!this.#say.now()) return;
    const seconds = Math.max(this.#options.clock.monoMs() - now.startMs, 1) / 1000;
    this.#options.logger.info('replaying', {
      records: now.records,
      bytes: now.bytes,
      percent: Math.floor((100 * now.records) / Math.max(1, now.until - now.from)),
      'records-per-second': Math.round(now.records / seconds),
      'bytes-per-second': Math.round(now.bytes / seconds),
    });
  }

  end(): void {
    this.#before = this.replayed;
    this.#current = undefined;
  }
}
