/**
 * Which tasks of a shard are in memory, where a database has rows of them: the others are rows alone, and come back in pages.
 *
 *     begin ─▶ a page is read ─▶ install, row by row … ─▶ end          leave ─▶ what is written, and not needed here, goes
 *
 * What has ended is not brought back by a row that is still to be deleted. Pages are read and installed in one lane with the writes: else a row
 * that was read, and deleted behind that, would come to life again. What a page passes over, because it is in memory, stays there until the end of
 * the page. The timers (timer-window.ts) and the tasks for workers (transfer-window.ts) differ in what is needed when.
 */
import { assert } from '../../kernel/assert.ts';
import type { Changes } from '../shard/changes.ts';
import type { TaskRow } from '../shard/rows.ts';
import type { StateWire } from '../shard/state-wire.ts';
import type { Shard } from '../shard/shard.ts';
import type { PendingTask } from '../run/tasks.ts';

export abstract class RowWindow<Page, Row extends TaskRow, Task extends PendingTask> {
  protected readonly shard: Shard;
  protected readonly wire: StateWire;
  readonly #changes: Changes;
  protected page: Page | undefined;

  constructor(shard: Shard, changes: Changes, wire: StateWire) {
    this.shard = shard;
    this.#changes = changes;
    this.wire = wire;
  }

  get isReading(): boolean {
    return this.page !== undefined;
  }

  /** The time has come to read a page. A few comparisons. */
  abstract wants(nowMs: number): boolean;

  abstract get goesOn(): boolean;

  /** When to ask `wants` at the latest, whatever happens; Infinity: when something does. */
  abstract get wakeMs(): number;

  begin(nowMs: number): Page {
    assert(this.page === undefined, 'one page at a time');
    this.page = this.nextPage(nowMs);
    return this.page;
  }

  /** A row of the page. Throws what cannot be decoded; then that task is none. */
  install(row: Row): void {
    const { taskId } = row;
    if (this.#changes.isGone(taskId)) return;
    if (this.shard.hasTask(taskId)) this.passOver(taskId);
    else this.bring(row);
  }

  end(rows: readonly Row[], nowMs: number): void {
    const page = this.page;
    assert(page !== undefined, 'a page was begun');
    this.page = undefined;
    this.ended(page, rows, nowMs);
  }

  /** The page could not be read. */
  abandon(): void {
    this.page = undefined;
  }

  /** After a checkpoint is durable, before what may leave does. */
  comeNearer(_nowMs: number): void {}

  /** Tasks leave whose rows are written and that are not needed; with a pause after each look at one. `nowMs`: in a fold, -Infinity. */
  *leave(nowMs: () => number): Generator<undefined, void> {
    for (const task of this.candidates(nowMs)) {
      if (task !== undefined && this.isWritten(task.taskId)) this.left(task);
      yield;
    }
  }

  protected isWritten(taskId: number): boolean {
    return !this.#changes.isTaskUnwritten(taskId);
  }

  protected isAtMatching(taskId: number): boolean {
    return this.#changes.isAtMatching(taskId);
  }

  protected abstract nextPage(nowMs: number): Page;
  protected abstract bring(row: Row): void;
  /** The task is in memory, where it stays until the end of the page. */
  protected passOver(_taskId: number): void {}
  protected abstract ended(page: Page, rows: readonly Row[], nowMs: number): void;
  /** Tasks that memory does not need; undefined stands for one that it needs. */
  protected abstract candidates(nowMs: () => number): Iterable<Task | undefined>;
  protected abstract left(task: Task): void;
}
