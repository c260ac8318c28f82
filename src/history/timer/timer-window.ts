/**
 * Which timers of a shard are in memory, where a database has rows of them: a million workflows that sleep until next week cost nothing here.
 *
 *                     now      half of it              horizon      until
 *     in memory   ────┼─── all ───┼───────────────────────┤ - - - - - ┤      what is not written yet
 *     in the table    all that are written, near and far
 *                                 └ the next page is read, from the horizon on: begin ─ install … ─ end
 *
 * A timer beyond the horizon stays until its row is written; then it leaves (`leave`), and comes back with the window that reaches it. What
 * has ended is not brought back by a row that is still to be deleted. Pages are read and installed in one lane with the writes: else
 * a row that was read, and deleted behind that, would come to life again. From `begin` on nothing leaves that the page may bring: it is passed over
 * where it is in memory. What is due stays as well, be it in a window or not.
 *
 * Where very many are near, the horizon comes nearer, and what lies behind it leaves.
 */
import { assert } from '../../kernel/assert.ts';
import type { Changes } from '../checkpoint/changes.ts';
import { installTimer } from '../checkpoint/install.ts';
import type { TimerRow } from '../checkpoint/rows.ts';
import type { StateWire } from '../checkpoint/state-wire.ts';
import type { Shard } from '../shard.ts';
import type { TimerTask } from '../tasks.ts';
import { beforeAll, type TimerPlace } from './timer-queue.ts';

export type TimerWindowLimits = {
  /** No timer that is due later than that is brought into memory. */
  readonly aheadMsMax: number;
  /** So many near timers are brought there; those that begin there come on top. */
  readonly timersMax: number;
  /** With so few left of them more are brought, if there are more. */
  readonly timersLeft: number;
  /** Above so many the horizon comes nearer, until there are `timersMax`. */
  readonly timersNearMax: number;
  /** Rows of one page. */
  readonly pageRows: number;
  /** Timers that are due and cannot be decided keep others that are due in the table no longer than that. */
  readonly overdueMsMax: number;
};

export const defaultTimerWindowLimits: TimerWindowLimits = {
  aheadMsMax: 600_000,
  timersMax: 10_000,
  timersLeft: 2_000,
  timersNearMax: 20_000,
  pageRows: 500,
  overdueMsMax: 10_000,
};

/** What to read: by (fire time, task id), from behind that place on. */
export type TimerPage = {
  readonly afterFireTimeMs: number;
  readonly afterTaskId: number;
  readonly untilMs: number;
  readonly max: number;
};

export class TimerWindow {
  readonly #shard: Shard;
  readonly #changes: Changes;
  readonly #wire: StateWire;
  #limits = defaultTimerWindowLimits;
  #page: TimerPage | undefined;
  /** Half of the time that the last page has brought is over. */
  #wakeMs = -Infinity;
  /** When the last page was brought. */
  #broughtMs = -Infinity;
  /** The table has more than was brought, or may have. */
  #hasMore = true;

  constructor(shard: Shard, changes: Changes, wire: StateWire) {
    this.#shard = shard;
    this.#changes = changes;
    this.#wire = wire;
  }

  /** From now on timers that are written need not be in memory. Before anything has happened. */
  opens(limits: TimerWindowLimits): void {
    this.#limits = limits;
    this.#shard.moveTimerHorizon(beforeAll);
  }

  /** All timers up to there are in memory. */
  get horizon(): TimerPlace {
    return this.#shard.timers.horizon;
  }

  /** When to ask `wants` at the latest. */
  get wakeMs(): number {
    return this.#wakeMs;
  }

  /** The time has come to read a page. A few comparisons. */
  wants(nowMs: number): boolean {
    const { near, horizon } = this.#shard.timers;
    const { timersMax, timersLeft, overdueMsMax } = this.#limits;
    if (this.#page !== undefined) return false;
    if (near < timersMax && nowMs >= this.#wakeMs) return true;
    if (near < timersLeft && this.#hasMore) return true;
    return horizon.fireTimeMs <= nowMs && nowMs - this.#broughtMs >= overdueMsMax;
  }

  /** And another one behind that. */
  get goesOn(): boolean {
    return this.#hasMore && this.#shard.timers.near < this.#limits.timersMax;
  }

  begin(nowMs: number): TimerPage {
    assert(this.#page === undefined, 'one page at a time');
    const { horizon, near } = this.#shard.timers;
    const { aheadMsMax, pageRows, timersMax } = this.#limits;
    this.#page = {
      afterFireTimeMs: Math.max(horizon.fireTimeMs, Number.MIN_SAFE_INTEGER),
      afterTaskId: Math.min(Math.max(horizon.taskId, -1), Number.MAX_SAFE_INTEGER),
      untilMs: Math.max(nowMs + aheadMsMax, horizon.fireTimeMs),
      max: Math.max(1, Math.min(pageRows, timersMax - near)),
    };
    return this.#page;
  }

  /** A row of the page. Throws what cannot be decoded; then that timer is none. */
  install(row: TimerRow): void {
    const { timers, tasksAside } = this.#shard;
    const { taskId } = row;
    if (this.#changes.isGone(taskId) || timers.get(taskId) !== undefined || tasksAside.has(taskId)) return;
    installTimer(this.#shard, row, this.#wire);
  }

  /** All rows of the page were installed. */
  end(rows: readonly TimerPlace[], nowMs: number): void {
    assert(this.#page !== undefined, 'a page was begun');
    const { untilMs, max } = this.#page;
    const last = rows.at(-1);
    this.#page = undefined;
    this.#hasMore = rows.length >= max;
    const horizon = this.#hasMore && last !== undefined ? last : { fireTimeMs: untilMs, taskId: Infinity };
    this.#broughtMs = nowMs;
    this.#reachesTo({ fireTimeMs: horizon.fireTimeMs, taskId: horizon.taskId }, nowMs);
  }

  /** It could not be read. */
  abandon(): void {
    this.#page = undefined;
  }

  /** After a checkpoint is durable. */
  comeNearer(nowMs: number): void {
    const { timers } = this.#shard;
    const { timersMax, timersNearMax } = this.#limits;
    if (timers.near <= timersNearMax || this.#page !== undefined) return;
    const place = timers.placeOf(timersMax / (timers.near + timers.far));
    // What is due is needed, however many those are.
    if (place === undefined || place.fireTimeMs <= nowMs || place.fireTimeMs > timers.horizon.fireTimeMs) return;
    this.#hasMore = true;
    this.#reachesTo(place, nowMs);
  }

  /** Far timers leave whose rows are written and that are not due; with a pause after each look at one. */
  *leave(nowMs: () => number): Generator<undefined, void> {
    const { timers } = this.#shard;
    if (timers.far === 0) return;
    for (const task of timers.values()) {
      if (this.#mayLeave(task, nowMs())) this.#shard.leaveTimer(task.taskId);
      yield;
    }
  }

  #mayLeave(task: TimerTask, nowMs: number): boolean {
    const neededUntilMs = Math.max(nowMs, this.#page?.untilMs ?? -Infinity);
    if (task.fireTimeMs <= neededUntilMs || !this.#shard.timers.isFar(task)) return false;
    return !this.#changes.isTaskUnwritten(task.taskId);
  }

  #reachesTo(place: TimerPlace, nowMs: number): void {
    this.#shard.moveTimerHorizon(place);
    this.#wakeMs = nowMs + Math.max(0, place.fireTimeMs - nowMs) / 2;
  }
}
