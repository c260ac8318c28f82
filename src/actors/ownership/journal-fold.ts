/**
 * Fills new memory from the journal: at a takeover, and when memory was dropped in doubt.
 *
 *     open ─▶ 0, or a checkpoint ── record ── void ── claim ── record ── … ──▶ until     what counts goes to memory, in slices of the event loop
 *
 * The log must still hold all that was confirmed to us, and what is known elsewhere (T5); where each record is whole by itself the fold goes on behind
 * those that are gone, and says which they were. What keeps the fold from its end is returned: the
 * owner decides what becomes of the partition.
 */
import { errorText } from '../../kernel/error-text.ts';
import { unreachable } from '../../kernel/assert.ts';
import { LogError, missingOffsets } from '../log.ts';
import { missingBeginning, missingEnd } from './missing-records.ts';
import type { CheckpointPosition } from '../database.ts';
import type { ClaimCodec } from './claim.ts';
import type { LogPosition } from './effective.ts';
import type { JournalNotices } from './journal-notices.ts';
import type { Log, OffsetRange, PartitionId, StoredRecord } from '../log.ts';
import type { OwnerPosition } from './owner-position.ts';
import type { Retries } from './retries.ts';
import type { ReplayProgress } from './replay-progress.ts';
import type { LoopTurns } from '../loop-turns.ts';

export type FoldTrouble =
  /** The log no longer holds what it confirmed, or holds something else there. */
  | { readonly kind: 'vanished'; readonly found: string }
  /** The log starts behind where the fold stands or would begin. Another may have written a checkpoint since, and trimmed behind it. */
  | { readonly kind: 'trimmed'; readonly found: string }
  /** Another has restored the checkpoint since: what the rows say is not what the journal goes on from here. */
  | { readonly kind: 'fenced'; readonly found: string }
  /** Somebody must look at it. */
  | { readonly kind: 'unreadable'; readonly reason: string; readonly error: unknown };

/**
 * What of a journal may be gone, beside what a checkpoint has. `beginning`: what counted there was written again behind it. `anything`: each record is
 * whole by itself.
 */
export type MayLack = 'beginning' | 'anything';

export type JournalFoldOptions = {
  readonly partition: PartitionId;
  readonly log: Log;
  readonly claims: ClaimCodec;
  /** Moved on with each record. */
  readonly position: OwnerPosition;
  readonly notices: JournalNotices;
  readonly progress: ReplayProgress;
  readonly turns: LoopTurns;
  /** When the term of ownership ends, so does the fold, without a result. */
  readonly retries: Retries;
  /** Where there is a database, a journal may begin behind 0. */
  readonly hasDatabase: boolean;
  /** Before records of one read are applied they are decoded, with a pause after each, and what they need is brought in. */
  readonly decodeAhead: (records: readonly StoredRecord[]) => Iterable<undefined>;
  readonly ahead: () => Promise<'fenced' | undefined> | undefined;
  /** Throws what cannot be applied. */
  readonly apply: (record: StoredRecord) => void;
  /** undefined: a journal that has lost records is refused. */
  readonly mayLack?: MayLack | undefined;
  /** As in OwnedMemory. */
  readonly recordsLost: (lost: readonly OffsetRange[]) => void;
};

/** Taken apart into records in one go, in the turn in which it comes. */
const READ_BYTES = 512 * 1024;
/** A fold that was shown nothing so often in a row asks whether the log still is as long as it was. */
const SHORT_READS_BEFORE_BOUNDS = 5;

export class JournalFold {
  readonly #options: JournalFoldOptions;
  /** What stood where this fold would have read. */
  #lost: OffsetRange[] = [];

  constructor(options: JournalFoldOptions) {
    this.#options = options;
  }

  /**
   * To where the fold begins: the checkpoint, or 0, or what is left of the beginning. That, and the end that the log has now; undefined when the term is
   * over. `isLast`: no later checkpoint tells of what the log has lost.
   */
  async open(
    checkpoint: CheckpointPosition | undefined,
    elsewhere: LogPosition | undefined,
    isLast: boolean,
  ): Promise<FoldTrouble | { readonly kind: 'open'; readonly start: number; readonly end: number } | undefined> {
    const { partition, log, position, retries, hasDatabase, mayLack } = this.#options;
    this.#lost = [];
    position.restart(checkpoint, elsewhere);
    const bounds = await retries.persist(() => log.bounds(partition));
    if (bounds === undefined) return undefined;
    const missing = missingEnd(bounds, checkpoint) ?? position.missing(bounds.end);
    if (missing !== undefined) return vanished(missing);
    const found = missingBeginning(bounds, checkpoint, hasDatabase);
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
    const { position, recordsLost } = this.#options;
    if (this.#lost.length > 0) recordsLost(this.#lost.splice(0));
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
    const { retries, decodeAhead, ahead, turns } = this.#options;
    const { term } = retries;
    for (const _pause of decodeAhead(records)) {
      if (turns.over()) await turns.slice();
      if (term !== retries.term) return undefined;
    }
    let loading = ahead();
    if (loading === undefined) return undefined;
    let loaded: 'fenced' | undefined;
    try {
      loaded = await retries.persist(async () => {
        const attempt = loading ?? ahead();
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

  #applyOne(record: StoredRecord): FoldTrouble | undefined {
    const { partition, claims, position, notices, apply } = this.#options;
    try {
      const verdict = position.step(record, claims);
      switch (verdict) {
        case 'record':
          apply(record);
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
  return `offset ${offset} held record ${known} when it was folded, or when the checkpoint in the database was written, and now holds ${epoch}.${sequence}`;
}

function vanished(found: string): FoldTrouble {
  return { kind: 'vanished', found };
}
