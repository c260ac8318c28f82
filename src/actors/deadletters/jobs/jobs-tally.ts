/**
 * How far a job is: what came of each letter, up to where all are handled, and which of the others are.
 *
 *     selected ids   ✓ ✓ ✓ ✓ │ ✓ · ✓ · · │ ─ ─ ─ ─ ─ ─
 *                       lastProcessed     window end
 */
import { countIds, countIdsUpTo, idsOf, nextId, rangesOfIds } from '../../../deadletters/bounds/id-ranges.ts';
import { jobLimits } from '../../../deadletters/bounds/job-limits.ts';
import type { JobEntry, JobFailure, JobNoop, JobProgress, JobSkip } from '../../../deadletters/jobs/job.ts';
import { handled, tried } from '../../../deadletters/jobs/jobs-state.ts';
import { unreachable } from '../../../kernel/assert.ts';

export type LetterOutcome =
  | { readonly kind: 'merged' }
  | { readonly kind: 'merged-noop'; readonly noop: JobNoop }
  | { readonly kind: 'purged' }
  | { readonly kind: 'restored' }
  /** Resolved by others before its turn. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly failure: JobFailure }
  /** Counts as a failure, unless the letter is asked for once more before the job ends. */
  | { readonly kind: 'unknown'; readonly failure: JobFailure }
  | { readonly kind: 'skipped'; readonly skip: JobSkip };

/** Handled letters after which progress is noted, which limits what a takeover looks at again. */
const NOTE_LETTERS = 1_000;

export class JobTally {
  readonly #ids: JobEntry['job']['ids'];
  readonly #counts: { -readonly [Name in keyof JobProgress['counts']]: number };
  readonly #failures: JobFailure[];
  readonly #skips: JobSkip[];
  readonly #noops: JobNoop[];
  readonly #settled = new Set<number>();
  /** Counted as failed, and perhaps merged. */
  readonly #unknown = new Set<number>();
  lastProcessed: number;
  windowEnd: number;
  /** Ids that were resolved when the plan was made: so many are not there when they are looked at, and no letters of the job. */
  readonly #holes: number;
  #passed: number;
  #notedLetters: number;
  #notedFailures = -1;

  constructor({ job, window }: JobEntry) {
    const { selected, notTried: _, ...counts } = job.counts;
    this.#ids = job.ids;
    this.#counts = counts;
    this.#failures = [...job.failures];
    this.#skips = [...job.skips];
    this.#noops = [...job.noops];
    this.lastProcessed = job.lastProcessedMessageId;
    this.windowEnd = window.end;
    for (const id of idsOf(window.settled)) this.#settled.add(id);
    for (const id of idsOf(window.unknown)) this.#unknown.add(id);
    this.#notedLetters = this.handled;
    this.#holes = countIds(job.ids) - selected;
    this.#passed = this.#holes === 0 ? 0 : countIdsUpTo(job.ids, this.lastProcessed) + this.#settled.size - this.handled;
  }

  get handled(): number {
    return handled(this.#counts);
  }

  get tried(): number {
    return tried(this.#counts);
  }

  get failed(): number {
    return this.#counts.failed;
  }

  /** Handled, with others in front of them that are not. */
  get settledAhead(): number {
    return this.#settled.size;
  }

  extendWindow(end: number): void {
    this.windowEnd = Math.max(this.windowEnd, end);
  }

  isSettled(id: number): boolean {
    return id <= this.lastProcessed || this.#settled.has(id);
  }

  unknownFrom(from: number): readonly number[] {
    return [...this.#unknown].filter((id) => id >= from).sort((one, other) => one - other);
  }

  /** Settles a letter once, and once more if its outcome was unknown. */
  settle(id: number, outcome: LetterOutcome): void {
    if (this.#unknown.delete(id)) this.#takeBack(id);
    else if (this.isSettled(id)) return;
    else this.#settled.add(id);
    if (outcome.kind === 'unknown' && this.#unknown.size < jobLimits.unknownIdsMax) this.#unknown.add(id);
    this.#count(outcome);
    for (let next = this.#next(); next !== undefined && this.#settled.delete(next); next = this.#next()) this.lastProcessed = next;
  }

  /** Nobody will say any more what has come of letters that may have been asked for. */
  loseWindow(errorMessage: string): void {
    for (let id = this.#next(); id !== undefined && id <= this.windowEnd; id = nextId(this.#ids, id + 1)) {
      const failure = { messageId: id, taskId: '', taskType: '', errorType: 'OutcomeUnknown', errorMessage, sameCause: false };
      if (!this.isSettled(id)) this.settle(id, { kind: 'failed', failure });
    }
  }

  // ── What of the progress is journaled: only what is new, because each note is a record in the journal of all jobs ───────────

  get hasMuchNew(): boolean {
    return this.handled - this.#notedLetters >= NOTE_LETTERS;
  }

  /** What to note; undefined: nothing is new. `windowEnd`: of the window that is committed; a larger one is noted until it is. */
  news(windowEnd: number): JobProgress | undefined {
    return this.handled === this.#notedLetters && this.windowEnd <= windowEnd ? undefined : this.#noted();
  }

  /** Each number of failures is noted once: the owner decides whether they are too many. */
  newFailures(): JobProgress | undefined {
    if (this.#notedFailures === this.failed) return undefined;
    this.#notedFailures = this.failed;
    return this.#noted();
  }

  #noted(): JobProgress {
    this.#notedLetters = this.handled;
    return this.progress();
  }

  progress(): JobProgress {
    return {
      counts: { ...this.#counts },
      lastProcessedMessageId: this.lastProcessed,
      window: { end: this.windowEnd, settled: rangesOfIds(this.#settled), unknown: rangesOfIds(this.#unknown) },
      failures: [...this.#failures],
      skips: [...this.#skips],
      noops: [...this.#noops],
    };
  }

  #next(): number | undefined {
    return nextId(this.#ids, this.lastProcessed + 1);
  }

  #takeBack(id: number): void {
    this.#counts.failed -= 1;
    const index = this.#failures.findIndex(({ messageId }) => messageId === id);
    if (index >= 0) this.#failures.splice(index, 1);
  }

  #count(outcome: LetterOutcome): void {
    switch (outcome.kind) {
      case 'merged-noop':
        this.#counts.merged += 1;
        this.#counts.mergedNoop += 1;
        if (this.#noops.length < jobLimits.noopsTold) this.#noops.push(outcome.noop);
        return;
      case 'failed':
      case 'unknown':
        this.#counts.failed += 1;
        if (this.#failures.length < jobLimits.failuresTold) this.#failures.push(outcome.failure);
        return;
      case 'skipped':
        this.#counts.skipped += 1;
        if (this.#skips.length < jobLimits.skipsTold) this.#skips.push(outcome.skip);
        return;
      case 'gone':
        if (this.#passed < this.#holes) this.#passed += 1;
        else this.#counts.gone += 1;
        return;
      case 'merged':
      case 'purged':
      case 'restored':
        this.#counts[outcome.kind] += 1;
        return;
      default:
        return unreachable(outcome);
    }
  }
}
