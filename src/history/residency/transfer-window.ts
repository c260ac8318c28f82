/**
 * Which tasks for workers are in memory, where a database has rows of them: of a million activities that wait for a worker, or for matching to
 * accept them, a few are here.
 *
 *     committed, or brought ─▶ tried ─┬─ matching stored it ─ noted ─▶ idle ─ written ─▶ its row alone, until it starts or is obsolete
 *                              ▲      ├─ a poll has it, or a sticky queue ─┘
 *                              │      └─ refused ─ a pause ─┬─▶ tried again
 *                              │                            └ too many wait, or others wait for their turn ─▶ at the end of the line
 *                              └── few are left: the next of the line ◀── ids, 8 bytes each; written, their rows alone ──┘
 *
 * Rows that a memory begins with come in the order of their ids, before the line, but for those that matching has stored: no page reads them. That
 * matching has stored a task is noted in the journal a moment later, and so long it stays: the note is for what is pending still. A task that is new is tried at once, however many wait: those of a queue whose matching partition is away hold up no other. For the same
 * reason what was refused goes to the end of the line; with a horizon, as timers have it, 2,000 tasks of one queue would keep all others in the table.
 *
 * What has failed (src/actors/history/hand-over/failed-tasks.ts) waits beside all that: its next attempt may be minutes away, and a thousand of them would
 * keep what is merely refused from its turn.
 *
 * Messages to other shards stay in memory: decisions ask for them (whether a run may be forgotten, what its deletion leaves behind).
 */
import { Fifo } from '../../kernel/fifo.ts';
import { installTransfer } from './install.ts';
import type { TransferTaskRow } from '../shard/rows.ts';
import { RowWindow } from './row-window.ts';
import { isDispatch, type PendingTransfer } from '../run/tasks.ts';

export type TransferWindowLimits = Readonly<Record<keyof typeof defaultTransferWindowLimits, number>>;

export const defaultTransferWindowLimits = {
  /** Tasks for workers in memory that are tried, or wait for their next attempt; beyond that one that is refused stands in line. */
  tasksMax: 2_000,
  /** With so few tasks left in memory more are brought, if there are more. */
  tasksLeft: 1_000,
  pageRows: 1_000,
} as const;

/** Tasks that have failed and are in memory until their next attempt, beside the others and not counted with them; more stand in line. */
const FAILING_TASKS_MAX = 500;

/** What to read: by task id, from behind that one on. */
export type TransferPage = {
  readonly afterTaskId: number;
  readonly max: number;
  /** The only tasks to bring; undefined: all that were there when this memory began. */
  readonly wanted: ReadonlySet<number> | undefined;
};

export class TransferWindow extends RowWindow<TransferPage, TransferTaskRow, PendingTransfer> {
  #limits: TransferWindowLimits = defaultTransferWindowLimits;
  /** Rows of that range have not been read by this memory. */
  #unread: { readonly afterTaskId: number; readonly lastTaskId: number } | undefined;
  /** Tasks whose turn is to come; the first is the next. What has ended meanwhile is passed over then. */
  readonly #line = new Fifo<number>();
  /** The first of the line, by their ids: in the order of the line, that of many pauses, a page would bring two of its rows. */
  #called: readonly number[] = [];
  /** The last page could not be read: whoever needs none goes first. */
  #isAway = false;
  #brought: PendingTransfer[] = [];
  /** Matching has stored them, and that is to be noted. */
  readonly #toNote = new Set<number>();
  /** Idle, and in memory: somebody tries them after a pause. */
  readonly #failing = new Set<number>();

  /** From now on tasks that are written need not be in memory. Called before anything has happened. */
  opens(limits: TransferWindowLimits): void {
    this.#limits = limits;
  }

  /** The table has tasks that are not in memory, all of them up to there. */
  beginsUnread(lastTaskId: number): void {
    this.#unread = { afterTaskId: -1, lastTaskId };
  }

  // ── What becomes of those that are tried ───────────────────────────────────────────────────────────────────────────────────

  /** A poll has the task, or the memory of a sticky queue. */
  delivered(taskId: number): void {
    this.#rests(taskId);
  }

  stored(taskId: number): void {
    this.#failsNoMore(taskId);
    if (this.shard.transferTasks.rest(taskId)) this.#toNote.add(taskId);
  }

  /** The journal notes that matching has stored these tasks, as many of them as were pending. */
  noted(taskIds: readonly number[]): void {
    for (const taskId of taskIds) if (this.#toNote.delete(taskId) && this.isWritten(taskId)) this.shard.leaveTransfer(taskId);
  }

  /** For a task that was refused. False: its next turn comes when it has stood in line. */
  keeps(taskId: number): boolean {
    return this.shard.transferTasks.waiting <= this.#limits.tasksMax || !this.#standInLine(taskId);
  }

  /** The pause after that is over. False: the same; others wait, and there is no room for them. */
  hasTurn(taskId: number): boolean {
    return !this.othersWait || this.#isRoom || !this.#standInLine(taskId);
  }

  /** For a task that has failed. False: its next attempt comes when it has stood in line. */
  fails(taskId: number): boolean {
    if (this.#failing.has(taskId)) return true;
    if (this.#failing.size >= FAILING_TASKS_MAX) return !this.#standInLine(taskId);
    if (this.shard.transferTasks.rest(taskId)) this.#failing.add(taskId);
    return true;
  }

  get othersWait(): boolean {
    return this.#isForPages || this.#line.length > 0;
  }

  /** Somebody comes by the next page. */
  get #isForPages(): boolean {
    return this.#unread !== undefined || this.#called.length > 0;
  }

  /** Tasks that have come since this was asked last: to be tried, in their order. */
  takeBrought(): readonly PendingTransfer[] {
    if (this.#brought.length === 0) return this.#brought;
    const brought = this.#brought;
    this.#brought = [];
    return brought;
  }

  #standInLine(taskId: number): boolean {
    const stands = this.#rests(taskId);
    if (stands) this.#line.push(taskId);
    return stands;
  }

  /** The task leaves memory at once if it may; else when a checkpoint is durable. */
  #rests(taskId: number): boolean {
    this.#failsNoMore(taskId);
    const rests = this.shard.transferTasks.rest(taskId);
    if (rests && this.isWritten(taskId)) this.shard.leaveTransfer(taskId);
    return rests;
  }

  #failsNoMore(taskId: number): void {
    if (this.#failing.delete(taskId)) this.shard.transferTasks.wake(taskId);
  }

  // ── What comes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  override wants(): boolean {
    return this.page === undefined && this.othersWait && this.#isRoom;
  }

  get #isRoom(): boolean {
    return this.shard.transferTasks.waiting < this.#limits.tasksLeft;
  }

  override get goesOn(): boolean {
    return this.wants();
  }

  override get wakeMs(): number {
    return Infinity;
  }

  /** Few are left: the next of the line come that are still in memory. Those need no page. */
  resume(): void {
    if (this.#isForPages && !this.#isAway) return;
    for (let taskId = this.#line.peek(); taskId !== undefined && this.#isRoom; taskId = this.#line.peek()) {
      if (!this.shard.hasTask(taskId)) return;
      this.#line.shift();
      const task = this.shard.transferTasks.wake(taskId);
      if (task !== undefined) this.#brought.push(task);
    }
  }

  override abandon(): void {
    super.abandon();
    this.#isAway = true;
    for (let looks = Math.min(this.#line.length, this.#limits.pageRows); looks > 0; looks--) {
      if (this.shard.hasTask(this.#line.peek() ?? 0)) break;
      this.#line.push(this.#line.shift());
    }
    this.resume();
  }

  protected override nextPage(): TransferPage {
    const { pageRows } = this.#limits;
    if (this.#unread !== undefined) return { afterTaskId: this.#unread.afterTaskId, max: pageRows, wanted: undefined };
    if (this.#called.length === 0) this.#called = this.#callFromLine();
    return { afterTaskId: (this.#called[0] ?? 0) - 1, max: pageRows, wanted: new Set(this.#called) };
  }

  /** Tasks behind one that is in memory come after it, and that one needs no page. */
  #callFromLine(): readonly number[] {
    const called: number[] = [];
    for (let taskId = this.#line.peek(); taskId !== undefined; taskId = this.#line.peek()) {
      if (called.length === this.#limits.pageRows || this.shard.hasTask(taskId)) break;
      called.push(this.#line.shift());
    }
    return called.sort((one, other) => one - other);
  }

  protected override bring(row: TransferTaskRow): void {
    const { taskId } = row;
    const atMatching = row.atMatching || this.isAtMatching(taskId);
    if (this.isReading && (atMatching || !this.#isNext(taskId))) return;
    if (this.shard.residency?.unread.has(taskId) === true) return;
    const task = installTransfer(this.shard, { ...row, atMatching }, this.wire);
    if (!this.shard.transfers.has(taskId)) return;
    // With no page it is there to be looked at.
    if (this.isReading) this.#brought.push(task);
    else this.shard.transferTasks.rest(taskId);
  }

  /** The task is one of those for which the page is read. Others of its rows are of tasks that polls have, or whose turn comes later. */
  #isNext(taskId: number): boolean {
    if (this.page === undefined) return false;
    return this.page.wanted === undefined ? taskId <= (this.#unread?.lastTaskId ?? -1) : this.page.wanted.has(taskId);
  }

  /** The row was written, and nobody had heard of that: the task waits for its turn no longer, so it does not leave. */
  protected override passOver(taskId: number): void {
    const task = this.#isNext(taskId) && !this.#failing.has(taskId) ? this.shard.transferTasks.wake(taskId) : undefined;
    if (task !== undefined) this.#brought.push(task);
  }

  protected override ended({ max, wanted }: TransferPage, rows: readonly TransferTaskRow[]): void {
    const last = rows.at(-1);
    const readTo = rows.length < max || last === undefined ? Infinity : last.taskId;
    if (wanted === undefined) {
      const lastTaskId = this.#unread?.lastTaskId ?? -1;
      this.#unread = readTo >= lastTaskId ? undefined : { afterTaskId: readTo, lastTaskId };
    } else {
      // Of those that had no row, each has ended.
      this.#called = this.#called.filter((taskId) => taskId > readTo);
    }
    this.#isAway = false;
    this.resume();
  }

  // ── What leaves ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  protected override *candidates(nowMs: () => number): Generator<PendingTransfer | undefined, void> {
    const { transfers, transferTasks } = this.shard;
    let ahead = 0;
    for (const task of transfers.values()) {
      const waits = isDispatch(task) && !transferTasks.isIdle(task.taskId);
      // In a fold nobody tries them: the first stay, as many as there should be.
      const isBeyond = waits && ahead++ >= this.#limits.tasksMax && nowMs() === -Infinity;
      const isDone = isDispatch(task) && !waits && !this.#toNote.has(task.taskId) && !this.#failing.has(task.taskId);
      yield isBeyond || isDone ? task : undefined;
    }
  }

  protected override left({ taskId }: PendingTransfer): void {
    this.#standInLine(taskId);
    this.shard.leaveTransfer(taskId);
  }
}
