/**
 * What a shard's next checkpoint has to write. `Shard` tells it of each change before it is made.
 *
 *     since the last cut:  change set ── cut ──▶ Cut: captured, then written ── durable ──▶ nothing
 *                          change set (empty)          └ a write that failed is tried again with the same rows
 *
 * One cut at a time. With no database there is none of this.
 */
import { assert } from '../../kernel/assert.ts';
import type { RunsBehind } from './runs-behind.ts';
import type { RunView } from '../run/state.ts';
import { ChangeSet } from './change-set.ts';
import { Cut, type Encoding } from './cut.ts';
import type { ShardCheckpoint } from './rows.ts';

export class Changes {
  readonly #of: Encoding;
  readonly #behind: RunsBehind;
  /** What `Shard` tells goes there itself, before it is done; another one after each cut. */
  since = new ChangeSet(0);
  #cut: Cut | undefined;
  /** How many checkpoints have deleted runs: what was read before the last of them may have been a row that is gone. */
  retirements = 0;
  durableCount = 0;

  constructor(of: Encoding, behind: RunsBehind) {
    this.#of = of;
    this.#behind = behind;
  }

  // ── What `Shard` tells, each before it is done ─────────────────────────────────────────────────────────────────────────────

  runChanges(run: RunView): void {
    this.#cut?.touch(run);
    this.since.runs.set(run.key.runId, run);
  }

  /** The shard is what rows say: nothing has changed. */
  installed(): void {
    this.since = new ChangeSet(this.#of.shard.taskIdLast);
  }

  // ── For whoever writes checkpoints ─────────────────────────────────────────────────────────────────────────────────────────

  /** The state as it is now is what the next checkpoint brings up to date. At once, after any record. */
  cut(): void {
    assert(this.#cut === undefined, 'one cut at a time');
    this.#cut = new Cut(this.#of, this.#behind.cut(), this.since);
    this.since = new ChangeSet(this.#of.shard.taskIdLast);
  }

  /** Rows exactly as they were at the cut, whatever has been evolved since (`Cut.capture`). */
  capture(goOn: () => boolean): ShardCheckpoint | undefined {
    assert(this.#cut !== undefined, 'a cut is captured');
    return this.#cut.capture(goOn);
  }

  /** What was captured is in the database for good. */
  durable(): void {
    assert(this.#cut?.captured === true, 'what is durable was captured');
    this.durableCount++;
    if (this.#cut.changes.retired.size > 0) this.retirements++;
    this.#behind.stored(this.#cut.behind);
    this.#cut = undefined;
  }

  /** The table may still have a row of this task, which has ended. */
  isGone(taskId: number): boolean {
    return this.since.isGone(taskId) || this.#cut?.changes.isGone(taskId) === true;
  }

  /** The table may not have the row of this task yet, which is in its queue. */
  isTaskUnwritten(taskId: number): boolean {
    return this.since.tasks.has(taskId) || this.#cut?.changes.tasks.has(taskId) === true;
  }

  /** Matching has stored the task, and its row may not say so yet. */
  isAtMatching(taskId: number): boolean {
    return this.since.atMatching.has(taskId) || this.#cut?.changes.atMatching.has(taskId) === true;
  }

  /** The run's row, if it has one, is not what the run is. */
  isUnwritten(runId: string): boolean {
    return this.since.runs.has(runId) || this.#cut?.changes.runs.has(runId) === true;
  }

  /** How many those are: one that has changed again since the cut counts twice. */
  get unwrittenRuns(): number {
    return this.since.runs.size + (this.#cut?.changes.runs.size ?? 0);
  }

  /** The row of the run, if there is one, is to be deleted. */
  isRetired(runId: string): boolean {
    return this.since.retired.has(runId) || this.#cut?.changes.retired.has(runId) === true;
  }

  get retiredCount(): number {
    return this.since.retired.size + (this.#cut?.changes.retired.size ?? 0);
  }

  /** The workflow id's pointer in the table is not the newest one. By `executionKey`. */
  isPointerUnwritten(execution: string): boolean {
    return this.since.currentRuns.has(execution) || this.#cut?.changes.currentRuns.has(execution) === true;
  }
}
