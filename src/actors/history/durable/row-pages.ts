/**
 * Keeps those tasks of a shard in memory that are needed there soon, and lets the others leave: timers (history/residency/timer-window.ts) and tasks
 * for workers (history/residency/transfer-window.ts), each in pages of its own.
 *
 *     activated; half of the window is over; few are left ─▶ a page: read and installed in the lane of writes ─▶ the next, or an alarm
 *                                              ▲                          └ the database is away ─┐
 *                                              └────────────────── a pause ───────────────────────┘
 *     a checkpoint is durable ─▶ what is not needed, and written, leaves
 *
 * While the database is away the tasks that are in memory go on; those behind them are late by as long as it is away.
 */
import { backOffMs } from '../../../kernel/back-off.ts';
import { asError } from '../../../kernel/error-text.ts';
import type { TaskRow } from '../../../history/shard/rows.ts';
import type { RowWindow } from '../../../history/residency/row-window.ts';
import type { PendingTask } from '../../../history/run/tasks.ts';
import type { Lane } from '../../../projections/checkpoints/one-lane.ts';
import { isOutage } from '../../../projections/database-port.ts';
import type { LoopTurns } from '../../../ports/loop-turns.ts';
import type { ClockAndLogger, Timer } from '../../../ports/machine.ts';
import { WallAlarm } from '../../../ports/wall-alarm.ts';

export type RowPagesOptions<Page, Row extends TaskRow> = ClockAndLogger & {
  readonly window: RowWindow<Page, Row, PendingTask>;
  /** Rejects with DatabaseError. */
  readonly read: (page: Page) => Promise<readonly Row[] | 'fenced'>;
  readonly lane: Pick<Lane, 'inTurn'>;
  readonly turns: LoopTurns;
  /** The time by which timers fire. */
  readonly nowMs: () => number;
  readonly lines: { readonly rowDamaged: string; readonly notRead: string; readonly readAgain: string };
  /** A page is in memory, or could not be read. */
  readonly onEnded: () => void;
  readonly onFenced: () => void;
};

const RETRY_DELAY_MS = 200;
const RETRY_DELAY_MS_MAX = 10_000;
/** While more are near than there should be, or those that are due take their time. */
const LOOK_AGAIN_MS = 1_000;

export class RowPages<Page, Row extends TaskRow> {
  readonly #options: RowPagesOptions<Page, Row>;
  readonly #alarm: WallAlarm;
  #isActive = false;
  #isReading = false;
  #failures = 0;
  #isSaid = false;
  #pause: Timer | undefined;
  /** Tasks that may leave are looked for; once more, if that was asked for meanwhile. */
  #leaving: 'not' | 'once' | 'again' = 'not';

  constructor(options: RowPagesOptions<Page, Row>) {
    this.#options = options;
    this.#alarm = new WallAlarm({ ...options, ring: () => this.#look() });
  }

  activated(): void {
    this.#isActive = true;
    this.#look();
  }

  fewer(): void {
    const { window, nowMs } = this.#options;
    if (this.#mayRead && window.wants(nowMs())) this.#look();
  }

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
    const { window, nowMs } = this.#options;
    if (!this.#mayRead) return;
    if (window.wants(nowMs())) void this.#read();
    else this.#alarm.set(Math.max(window.wakeMs, nowMs() + LOOK_AGAIN_MS));
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    const { window, lane, logger, lines } = this.#options;
    this.#isReading = true;
    try {
      do await lane.inTurn(() => this.#page());
      while (this.#isActive && window.goesOn);
      if (this.#isSaid) logger.info(lines.readAgain);
      this.#isSaid = false;
      this.#failures = 0;
    } catch (error) {
      this.#failed(error);
    }
    this.#isReading = false;
    this.#look();
  }

  async #page(): Promise<void> {
    const { window, read, turns, nowMs, onEnded, onFenced } = this.#options;
    if (!this.#isActive) return;
    const page = window.begin(nowMs());
    try {
      const rows = await read(page);
      if (rows === 'fenced') this.close();
      if (rows === 'fenced') return onFenced();
      await turns.through(this.#install(rows));
      window.end(rows, nowMs());
    } catch (error) {
      window.abandon();
      throw error;
    } finally {
      if (this.#isActive) onEnded();
    }
  }

  *#install(rows: readonly Row[]): Generator<undefined, void> {
    for (const row of rows) {
      if (!this.#isActive) return;
      this.#installOne(row);
      yield;
    }
  }

  /** What cannot be decoded is one workflow's trouble. */
  #installOne(row: Row): void {
    const { window, logger, lines } = this.#options;
    try {
      window.install(row);
    } catch (error) {
      logger.error(lines.rowDamaged, { taskId: row.taskId, error: asError(error) });
    }
  }

  #failed(error: unknown): void {
    const { clock, logger, lines } = this.#options;
    if (!this.#isActive) return;
    if (!isOutage(error) && !this.#isSaid) {
      logger.warn(lines.notRead, { error: asError(error) });
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
    const { window, turns, nowMs } = this.#options;
    do {
      this.#leaving = 'once';
      if (this.#isActive) window.comeNearer(nowMs());
      // In a fold nothing fires: what is due by now may have ended long ago.
      await turns.through(window.leave(() => (this.#isActive ? nowMs() : -Infinity)));
    } while (this.#isAskedAgain);
    this.#leaving = 'not';
  }

  get #isAskedAgain(): boolean {
    return this.#leaving === 'again';
  }
}
