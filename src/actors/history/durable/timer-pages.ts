/**
 * Keeps those timers of a shard in memory that are due soon (history/timer/timer-window.ts), and lets the others leave.
 *
 *     activated; half of the window is over; few are left ─▶ a page: read and installed in the lane of writes ─▶ the next, or an alarm
 *                                              ▲                          └ the database is away ─┐
 *                                              └────────────────── a pause ───────────────────────┘
 *     a checkpoint is durable ─▶ what is far, and written, leaves
 *
 * While the database is away the timers that are in memory fire; those behind them are late by as long as it is away.
 */
import { backOffMs } from '../../../kernel/back-off.ts';
import type { TimerRow } from '../../../history/checkpoint/rows.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { TimerWindowLimits } from '../../../history/timer/timer-window.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { Lane } from '../../checkpoint/one-lane.ts';
import { isOutage } from '../../database.ts';
import type { LoopTurns } from '../../loop-turns.ts';
import type { Clock, Timer } from '../../ports.ts';
import { WallAlarm } from '../../wall-alarm.ts';
import type { ShardTable } from './shard-table.ts';

export type TimerPagesOptions = {
  readonly core: HistoryCore;
  readonly table: ShardTable<'timers'>;
  readonly lane: Pick<Lane, 'inTurn'>;
  readonly limits: TimerWindowLimits;
  readonly clock: Clock;
  readonly turns: LoopTurns;
  /** The time by which timers fire. */
  readonly nowMs: () => number;
  readonly logger: Logger;
  /** The first timer may be another one. */
  readonly onInstalled: () => void;
  readonly onFenced: () => void;
};

const RETRY_DELAY_MS = 200;
const RETRY_DELAY_MS_MAX = 10_000;
/** While more are near than there should be, or those that are due take their time. */
const LOOK_AGAIN_MS = 1_000;

export class TimerPages {
  readonly #options: TimerPagesOptions;
  readonly #alarm: WallAlarm;
  #isActive = false;
  #isReading = false;
  #failures = 0;
  /** Somebody has read that they fail. */
  #isSaid = false;
  #pause: Timer | undefined;
  /** Timers that may leave are looked for; once more, if that was asked for meanwhile. */
  #leaving: 'not' | 'once' | 'again' = 'not';

  constructor(options: TimerPagesOptions) {
    const { core, clock, nowMs, limits } = options;
    this.#options = options;
    this.#alarm = new WallAlarm(clock, nowMs, () => this.#look());
    core.timerWindow.opens(limits);
  }

  activated(): void {
    this.#isActive = true;
    this.#look();
  }

  /** Fewer are left. A few comparisons. */
  fired(): void {
    const { core, nowMs } = this.#options;
    if (this.#mayRead && core.timerWindow.wants(nowMs())) this.#look();
  }

  /** A checkpoint is durable. */
  written(): void {
    if (this.#leaving !== 'not') this.#leaving = 'again';
    else void this.#leave();
  }

  close(): void {
    this.#isActive = false;
    this.#alarm.set(Infinity);
    this.#pause?.cancel();
  }

  get #mayRead(): boolean {
    return this.#isActive && !this.#isReading && this.#pause === undefined;
  }

  // ── What comes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #look(): void {
    const { core, nowMs } = this.#options;
    if (!this.#mayRead) return;
    if (core.timerWindow.wants(nowMs())) void this.#read();
    else this.#alarm.set(Math.max(core.timerWindow.wakeMs, nowMs() + LOOK_AGAIN_MS));
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    const { core, lane, logger } = this.#options;
    this.#isReading = true;
    try {
      do await lane.inTurn(() => this.#page());
      while (this.#isActive && core.timerWindow.goesOn);
      if (this.#isSaid) logger.info('timers are read again');
      this.#isSaid = false;
      this.#failures = 0;
    } catch (error) {
      this.#failed(error);
    }
    this.#isReading = false;
    this.#look();
  }

  async #page(): Promise<void> {
    const { core, table, turns, nowMs, onInstalled, onFenced } = this.#options;
    if (!this.#isActive) return;
    const page = core.timerWindow.begin(nowMs());
    try {
      const rows = await table.read((database, journal) => database.timers(journal, page));
      if (rows === 'fenced') this.close();
      if (rows === 'fenced') return onFenced();
      await turns.through(this.#install(rows));
      core.timerWindow.end(rows, nowMs());
      if (this.#isActive) onInstalled();
    } catch (error) {
      core.timerWindow.abandon();
      throw error;
    }
  }

  *#install(rows: readonly TimerRow[]): Generator<undefined, void> {
    for (const row of rows) {
      if (!this.#isActive) return;
      this.#installOne(row);
      yield;
    }
  }

  /** What cannot be decoded is one workflow's trouble. */
  #installOne(row: TimerRow): void {
    const { core, logger } = this.#options;
    try {
      core.timerWindow.install(row);
    } catch (error) {
      const problem = error instanceof Error ? error : new Error(String(error));
      const { taskId, fireTimeMs } = row;
      logger.error('a timer in the database cannot be read: it does not fire', { taskId, fireTimeMs, error: problem });
    }
  }

  #failed(error: unknown): void {
    const { clock, logger } = this.#options;
    if (!this.#isActive) return;
    if (!isOutage(error) && !this.#isSaid) {
      const problem = error instanceof Error ? error : new Error(String(error));
      logger.warn('timers cannot be read from the database; those in memory go on', { error: problem });
      this.#isSaid = true;
    }
    this.#failures += 1;
    this.#pause = clock.after(backOffMs(this.#failures, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX), () => {
      this.#pause = undefined;
      this.#look();
    });
  }

  // ── What leaves ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Never rejects. */
  async #leave(): Promise<void> {
    const { core, turns, nowMs } = this.#options;
    do {
      this.#leaving = 'once';
      if (this.#isActive) core.timerWindow.comeNearer(nowMs());
      // In a fold nothing fires: what is due by now may have ended long ago.
      await turns.through(core.timerWindow.leave(() => (this.#isActive ? nowMs() : -Infinity)));
    } while (this.#isAskedAgain);
    this.#leaving = 'not';
  }

  get #isAskedAgain(): boolean {
    return this.#leaving === 'again';
  }
}
