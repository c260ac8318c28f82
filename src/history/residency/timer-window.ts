/**
 * Which timers of a shard are in memory, where a database has rows of them: a million workflows that sleep until next week cost nothing here.
 *
 *                     now      half of it              horizon      until
 *     in memory   ────┼─── all ───┼───────────────────────┤ - - - - - ┤      what is not written yet
 *     in the table    all that are written, near and far
 *                                 └ the next page is read, from the horizon on: begin ─ install … ─ end
 *
 * A timer beyond the horizon stays until its row is written; then it leaves (`leave`), and comes back with the window that reaches it. From
 * `begin` on nothing leaves that the page may bring: it is passed over where it is in memory. What is due stays as well, be it in a window or not.
 *
 * Where very many are near, the horizon comes nearer, and what lies behind it leaves.
 */
import type { TaskPlace } from '../commands/shard-task-commands.ts';
import { installTimer } from './install.ts';
import type { TimerPage, TimerRow } from '../shard/rows.ts';
import { RowWindow } from './row-window.ts';
import type { TimerTask } from '../run/tasks.ts';
import { beforeAll } from '../run/timer-queue.ts';

export type TimerWindowLimits = Readonly<Record<keyof typeof defaultTimerWindowLimits, number>>;

export const defaultTimerWindowLimits = {
  /** No timer that is due later than that is brought into memory. */
  aheadMsMax: 600_000,
  /** Near timers that are brought into memory; those that begin there come on top. */
  timersMax: 10_000,
  /** With so few near timers left in memory more are brought, if there are more. */
  timersLeft: 2_000,
  /** Above so many the horizon comes nearer, until there are `timersMax`. */
  timersNearMax: 20_000,
  pageRows: 500,
  /** Timers that are due and cannot be decided keep others that are due in the table no longer than that. */
  overdueMsMax: 10_000,
} as const;

export class TimerWindow extends RowWindow<TimerPage, TimerRow, TimerTask> {
  #limits: TimerWindowLimits = defaultTimerWindowLimits;
  /** Half of the time that the last page has brought is over. */
  #wakeMs = -Infinity;
  #broughtMs = -Infinity;
  /** The table has more than was brought, or may have. */
  #hasMore = true;

  /** From now on timers that are written need not be in memory. Called before anything has happened. */
  opens(limits: TimerWindowLimits): void {
    this.#limits = limits;
    this.shard.moveTimerHorizon(beforeAll);
  }

  get horizon(): TaskPlace {
    return this.shard.timers.horizon;
  }

  override get wakeMs(): number {
    return this.#wakeMs;
  }

  override wants(nowMs: number): boolean {
    const { near, horizon } = this.shard.timers;
    const { timersMax, timersLeft, overdueMsMax } = this.#limits;
    if (this.page !== undefined) return false;
    if (near < timersMax && nowMs >= this.#wakeMs) return true;
    if (near < timersLeft && this.#hasMore) return true;
    return horizon.fireTimeMs <= nowMs && nowMs - this.#broughtMs >= overdueMsMax;
  }

  override get goesOn(): boolean {
    return this.#hasMore && this.shard.timers.near < this.#limits.timersMax;
  }

  protected override nextPage(nowMs: number): TimerPage {
    const { horizon, near } = this.shard.timers;
    const { aheadMsMax, pageRows, timersMax } = this.#limits;
    return {
      afterFireTimeMs: Math.max(horizon.fireTimeMs, Number.MIN_SAFE_INTEGER),
      afterTaskId: Math.min(Math.max(horizon.taskId, -1), Number.MAX_SAFE_INTEGER),
      untilMs: Math.max(nowMs + aheadMsMax, horizon.fireTimeMs),
      max: Math.max(1, Math.min(pageRows, timersMax - near)),
    };
  }

  protected override bring(row: TimerRow): void {
    installTimer(this.shard, row, this.wire);
  }

  protected override ended({ untilMs, max }: TimerPage, rows: readonly TimerRow[], nowMs: number): void {
    const last = rows.at(-1);
    this.#hasMore = rows.length >= max;
    const horizon = this.#hasMore && last !== undefined ? last : { fireTimeMs: untilMs, taskId: Infinity };
    this.#broughtMs = nowMs;
    this.#reachesTo({ fireTimeMs: horizon.fireTimeMs, taskId: horizon.taskId }, nowMs);
  }

  override comeNearer(nowMs: number): void {
    const { timers } = this.shard;
    const { timersMax, timersNearMax } = this.#limits;
    if (timers.near <= timersNearMax || this.page !== undefined) return;
    const place = timers.placeOf(timersMax / (timers.near + timers.far));
    // What is due is needed, however many those are.
    if (place === undefined || place.fireTimeMs <= nowMs || place.fireTimeMs > timers.horizon.fireTimeMs) return;
    this.#hasMore = true;
    this.#reachesTo(place, nowMs);
  }

  protected override *candidates(nowMs: () => number): Generator<TimerTask | undefined, void> {
    const { timers } = this.shard;
    if (timers.far === 0) return;
    for (const task of timers.values()) yield this.#isFar(task, nowMs()) ? task : undefined;
  }

  protected override left({ taskId }: TimerTask): void {
    this.shard.leaveTimer(taskId);
  }

  #isFar(task: TimerTask, nowMs: number): boolean {
    const neededUntilMs = Math.max(nowMs, this.page?.untilMs ?? -Infinity);
    return task.fireTimeMs > neededUntilMs && this.shard.timers.isFar(task);
  }

  #reachesTo(place: TaskPlace, nowMs: number): void {
    this.shard.moveTimerHorizon(place);
    this.#wakeMs = nowMs + Math.max(0, place.fireTimeMs - nowMs) / 2;
  }
}
