/**
 * When the journals of one process are checkpointed: they share its event loop, its database, and the time that a restart takes.
 *
 *     a journal has reason ──▶ ┐                    ┌─▶ cut ─ capture ─ write ─ durable ─┐
 *                              ├─ waits ── turn ──▶ │                                    ├──▶ the next: whose tail is longest
 *     all tails too long ────▶ ┘  longest first     └─▶ cut ─ capture ─ write ─ durable ─┘
 *                                                       two at a time
 *
 * A restart folds what no checkpoint covers, of all journals together: a hundred short tails are as long as one.
 */
import { UnwrittenState, type UnwrittenStateOptions } from './unwritten-state.ts';

export const defaultCheckpointScheduleLimits = {
  /** Records of all journals that no cut covers, and their bytes, roughly: beyond, the journal that has most of them is cut. */
  recordsMax: 40_000,
  recordBytesMax: 64 * 1024 * 1024,
  atOnceMax: 2,
  /** State that is in memory because it is not written: beyond, no workflow is started. */
  unwrittenStateBytesMax: 512 * 1024 * 1024,
};

export type CheckpointScheduleLimits = Readonly<typeof defaultCheckpointScheduleLimits>;

export type CheckpointScheduleOptions = Partial<CheckpointScheduleLimits> & Pick<UnwrittenStateOptions, 'clock' | 'logger'>;

/** Why nothing is written, and since when (monotonic). */
export type CheckpointTrouble = { readonly sinceMs: number; readonly reason: string };

export interface ScheduledJournal {
  /** Records that no cut covers. */
  readonly tailRecords: number;
  /** What is in memory because it is not written, roughly. */
  readonly unwrittenBytes: number;
  /** Why what was begun is not written. */
  readonly writeTrouble: CheckpointTrouble | undefined;
  /** Its turn: a checkpoint begins, and ends with `ended`. False: there is no reason any more, and the turn is over. */
  begin(): boolean;
  /** The journal waits for a turn, and those who have theirs cannot write: its turn is not near. */
  noTurn(reason: string): void;
}

/** Whoever waits longer for a turn is told of: usually it comes within a second. */
const LONG_TURN_MS = 10_000;

export class CheckpointSchedule {
  readonly unwritten: UnwrittenState;
  readonly #limits: CheckpointScheduleLimits;
  readonly #journals = new Set<ScheduledJournal>();
  readonly #waiting = new Set<ScheduledJournal>();
  readonly #underWay = new Set<ScheduledJournal>();
  #records = 0;
  #bytes = 0;

  constructor({ clock, logger, ...limits }: CheckpointScheduleOptions) {
    this.#limits = { ...defaultCheckpointScheduleLimits, ...limits };
    this.unwritten = new UnwrittenState({ bytesMax: this.#limits.unwrittenStateBytesMax, clock, logger });
  }

  /** Why a journal that has waited for so long has no turn yet; undefined: there is nothing to say of it. */
  whyNoTurn(waitedMs: number): string | undefined {
    for (const { writeTrouble } of this.#underWay) if (writeTrouble !== undefined) return writeTrouble.reason;
    return waitedMs < LONG_TURN_MS ? undefined : 'the checkpoints of other partitions are written first';
  }

  join(journal: ScheduledJournal): void {
    this.#journals.add(journal);
    this.unwritten.join(journal);
  }

  leave(journal: ScheduledJournal): void {
    this.#journals.delete(journal);
    this.unwritten.leave(journal);
    this.#waiting.delete(journal);
    this.ended(journal);
  }

  /** Called for each record: cheap. */
  committed(bytes: number): void {
    this.#records += 1;
    this.#bytes += bytes;
    this.unwritten.committed(bytes);
    if (this.#isTooMuch && this.#waiting.size + this.#underWay.size < this.#limits.atOnceMax) this.#takeLongest();
  }

  /** So many records are covered by a cut, or never will be. */
  cut(records: number, bytes: number): void {
    this.#records -= records;
    this.#bytes -= bytes;
  }

  /** Begins when it is its turn, perhaps at once. */
  wants(journal: ScheduledJournal): void {
    if (this.#underWay.has(journal)) return;
    this.#waiting.add(journal);
    this.#next();
  }

  /** One that has its turn cannot write now. */
  stuck(reason: string): void {
    for (const journal of this.#waiting) journal.noTurn(reason);
  }

  /** Durable, given up, or at rest for long: others may begin. */
  ended(journal: ScheduledJournal): void {
    if (this.#underWay.delete(journal)) this.#next();
  }

  get #isTooMuch(): boolean {
    return this.#records >= this.#limits.recordsMax || this.#bytes >= this.#limits.recordBytesMax;
  }

  #takeLongest(): void {
    const longest = longestOf(this.#journals, (journal) => !this.#underWay.has(journal));
    if (longest !== undefined) this.wants(longest);
  }

  #next(): void {
    while (this.#underWay.size < this.#limits.atOnceMax) {
      const journal = longestOf(this.#waiting, () => true);
      if (journal === undefined) return;
      this.#waiting.delete(journal);
      this.#underWay.add(journal);
      if (!journal.begin()) this.#underWay.delete(journal);
    }
  }
}

function longestOf(journals: ReadonlySet<ScheduledJournal>, may: (journal: ScheduledJournal) => boolean): ScheduledJournal | undefined {
  let longest: ScheduledJournal | undefined;
  for (const journal of journals) {
    if (may(journal) && (longest === undefined || journal.tailRecords > longest.tailRecords)) longest = journal;
  }
  return longest;
}
