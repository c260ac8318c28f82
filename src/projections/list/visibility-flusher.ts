/**
 * Writes the rows of one memory of a shard, from the first record that it folds until it is dropped.
 *
 *     committed ─▶ VisibilityRows ── 50 ms later, or 1 s where many come, so that a start and its close are one row ──▶ Database.flush
 *     List ──────▶ flushed() ─────── at once, and List waits ─────────────────────────────────────────────────────────▶
 *
 * Under a fence (rows-table.ts), so nobody who held the shard before writes behind us. What cannot be written stays in `VisibilityRows`, the
 * latest of each run alone, and is tried again; nobody but List notices.
 *
 * Nothing is written while a journal is read at a start, unless very many rows come together: the start goes first.
 */
import { backOffMs } from '../../kernel/back-off.ts';
import { asError } from '../../kernel/error-text.ts';
import { type DatabaseError, isOutage, type HeldJournal } from '../database-port.ts';
import { NowAndThen } from '../../ports/now-and-then.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { VisibilityRow } from '../visibility/row.ts';
import type { HistoryRecord } from '../../history/run/record.ts';
import type { CommitSubscriber } from '../../ports/commit-subscriber.ts';
import { BUSY_ROWS_PER_S, type FlushPace } from './flush-pace.ts';
import { isRefusal, type RowWritten, writeOneByOne } from './refused-rows.ts';
import type { RowsTable } from './rows-table.ts';
import type { RecordPosition } from '../../ports/log.ts';
import type { ClockAndLogger, Timer } from '../../ports/machine.ts';
import type { VisibilityBatch, VisibilityRows } from './visibility-rows.ts';

export type VisibilityFlusherOptions = ClockAndLogger & {
  readonly rows: VisibilityRows;
  readonly table: RowsTable;
  /** Shared by all shards of this process. */
  readonly pace: FlushPace;
  readonly onClosed: () => void;
  /** Called once until a row of that run is written again, while the shard serves. */
  readonly onRefused?: ((key: RunKey) => void) | undefined;
};

const DELAY_MS = 50;
const BUSY_DELAY_MS = 1_000;
/** While the journal is read: more rows than this wait for no end of it. */
const REPLAYED_ROWS_MAX = 10_000;
/** What the event loop copies at a stretch: 10 µs a row, 40 with attributes. */
const BATCH = { rowsMax: 50, bytesMax: 1024 * 1024 };
const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MS_MAX = 10_000;
const WARN_INTERVAL_MS = 10_000;
/** How many refused rows are remembered. Past it the oldest are forgotten, and told of anew. */
const REFUSED_KEPT = 10_000;
/** Attempts after a fence without a pause between them. */
const FENCED_AT_ONCE_MAX = 3;

type Waiter = { readonly isOver: () => boolean; readonly resolve: () => void };

export class VisibilityFlusher implements CommitSubscriber<HistoryRecord> {
  readonly #options: VisibilityFlusherOptions;
  readonly #rows: VisibilityRows;
  readonly #warnings: NowAndThen;
  /** Written without a pause up to this mark. */
  #goal = 0;
  /** Up to this mark the database may lack what it had to have from the beginning; undefined: that is not known yet. */
  #filledAt: number | undefined;
  readonly #waiters = new Set<Waiter>();
  /** Runs whose row was refused when it was written last, by run id. */
  readonly #refused = new Map<string, { readonly key: RunKey; readonly error: DatabaseError }>();
  #timer: Timer | undefined;
  #isActive = false;
  #isRunning = false;
  #isClosed = false;
  #isBusy = false;
  #ranAtMs = -Infinity;
  /** Failures in succession. */
  #failures = 0;
  /** Somebody has read that they fail. */
  #isSaid = false;
  /** How often this run was fenced. */
  #fencings = 0;

  constructor(options: VisibilityFlusherOptions) {
    this.#options = options;
    this.#rows = options.rows;
    this.#warnings = new NowAndThen(options.clock, WARN_INTERVAL_MS);
  }

  get isActive(): boolean {
    return this.#isActive && !this.#isClosed;
  }

  /**
   * The database has rows of all runs; newer changes may be on their way. What was in the journal behind the last checkpoint, or in all of it,
   * is among them. A database may have to be opened first, which takes its time: what is under way to it then is not there yet.
   */
  get isFilled(): boolean {
    const { rows, table } = this.#options;
    if (rows.showsAll || this.#filledAt === undefined) return false;
    return rows.isWritten(this.#filledAt) && (table.isOpen || rows.isWritten(rows.mark));
  }

  /** What was tried last could not be written. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** Called for each record, behind VisibilityRows: cheap. */
  committed(_record: HistoryRecord, _position: RecordPosition, replayed: boolean): void {
    if (this.#timer !== undefined || this.#isRunning || !this.#isWaiting) return;
    if (!replayed) this.#arm(this.#isBusy ? BUSY_DELAY_MS : DELAY_MS);
    else if (this.#rows.waiting >= REPLAYED_ROWS_MAX && this.#failures === 0 && this.#rows.canBeMade) this.#runNow();
  }

  /** The journal is read, and ours. */
  activated(): void {
    this.#isActive = true;
    this.#filledAt = this.#rows.mark;
    for (const { key } of this.#refused.values()) this.#options.onRefused?.(key);
    if (this.#isWaiting) this.#arm(BUSY_DELAY_MS);
  }

  /** What waits now is written, or could not be. */
  flushed(): Promise<void> {
    const { mark } = this.#rows;
    if (this.#rows.isWritten(mark)) return Promise.resolve();
    this.#runNow();
    // A run that fails ends as well: the database itself says what is wrong with it.
    return this.#until(() => this.#rows.isWritten(mark) || !this.#isRunning);
  }

  /** The row of a run in memory, as it is committed by now. */
  async write(runId: string): Promise<RowWritten> {
    if (!this.#rows.show(runId)) return { kind: 'notNow' };
    const { mark } = this.#rows;
    await this.flushed();
    if (this.#isClosed || !this.#rows.isWritten(mark)) return { kind: 'notNow' };
    const refused = this.#refused.get(runId);
    return refused === undefined ? { kind: 'written' } : { kind: 'refused', error: refused.error };
  }

  /** The database has rows of all runs, or they could not be written: `isFilled` tells. */
  filled(): Promise<void> {
    if (this.isFilled) return Promise.resolve();
    this.#runNow();
    return this.#until(() => this.isFilled || !this.#isRunning);
  }

  /** Its fence, once all rows to come are made with that much of the registry. undefined: not yet. Rejects with DatabaseError. */
  async heldWith(registryPosition: number): Promise<HeldJournal | undefined> {
    const { rows, table } = this.#options;
    return this.isActive && rows.areMadeWith(registryPosition) ? await table.held() : undefined;
  }

  /** The database is another one than it was, and empty. */
  fillAgain(): void {
    this.#filledAt = undefined;
    this.#rows.showAll();
    this.#arm(this.#failures === 0 ? 0 : this.#backOffMs());
  }

  /** This memory is dropped: whoever takes over finds in the journal what was not written. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#tellWaiters();
    this.#options.onClosed();
  }

  // ── When ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  get #isWaiting(): boolean {
    return this.#rows.waiting > 0 || this.#rows.showsAll;
  }

  #arm(delayMs: number): void {
    if (this.#isRunning || this.#isClosed) return;
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(delayMs, () => this.#runNow());
  }

  #runNow(): void {
    this.#goal = this.#rows.mark;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#isRunning || this.#isClosed) return;
    if (!this.#rows.canBeMade) return this.#arm(DELAY_MS);
    this.#measure();
    this.#isRunning = true;
    this.#fencings = 0;
    void this.#run();
  }

  #measure(): void {
    const nowMs = this.#options.clock.monoMs();
    const isBusyHere = this.#rows.waiting * 1_000 > BUSY_ROWS_PER_S * (nowMs - this.#ranAtMs);
    this.#isBusy = this.#options.pace.isBusy(this.#rows.waiting, nowMs) || isBusyHere;
    this.#ranAtMs = nowMs;
  }

  #until(isOver: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isClosed) resolve();
      else this.#waiters.add({ isOver, resolve });
    });
  }

  #tellWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!this.#isClosed && !waiter.isOver()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  // ── Writing ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #run(): Promise<void> {
    let goesOn = true;
    while (goesOn && this.#isWaiting && (this.#rows.showsAll || !this.#rows.isWritten(this.#goal))) {
      goesOn = await this.#writeBatch();
      if (this.#isClosed) return;
      this.#tellWaiters();
    }
    this.#isRunning = false;
    this.#tellWaiters();
    if (!goesOn) this.#arm(this.#backOffMs());
    else if (this.#isWaiting && this.#isActive) this.#arm(this.#isBusy ? BUSY_DELAY_MS : DELAY_MS);
  }

  /** Writes a batch; false: it could not be written, and waits again. */
  async #writeBatch(): Promise<boolean> {
    try {
      const outcome = await this.#flush(this.#take());
      if (this.#isClosed) return false;
      if (outcome === 'flushed') this.#wrote();
      else this.#fenced(outcome);
      return outcome === 'flushed' || (outcome === 'fenced' && this.#fencings <= FENCED_AT_ONCE_MAX);
    } catch (error) {
      if (!this.#isClosed) this.#failed(error);
      return false;
    }
  }

  #take(): VisibilityBatch {
    const { showsAll } = this.#rows;
    const batch = this.#rows.take(BATCH);
    if (showsAll && !this.#rows.showsAll) this.#filledAt = this.#rows.mark;
    return batch;
  }

  async #flush({ rows, retired }: VisibilityBatch): ReturnType<RowsTable['flush']> {
    try {
      const outcome = await this.#options.table.flush(rows, retired);
      if (outcome === 'flushed' && this.#refused.size > 0) for (const { runId } of [...rows, ...retired]) this.#refused.delete(runId);
      return outcome;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return await this.#flushOneByOne({ rows, retired });
    }
  }

  async #flushOneByOne({ rows, retired }: VisibilityBatch): ReturnType<RowsTable['flush']> {
    const { table, logger } = this.#options;
    const write = async (row: VisibilityRow): ReturnType<RowsTable['flush']> => {
      const wrote = await table.flush([row], []);
      if (wrote === 'flushed') this.#refused.delete(row.runId);
      return wrote;
    };
    const outcome = await writeOneByOne(rows, write, logger, (row, error) => this.#refuses(row, error));
    return outcome === 'flushed' ? await table.flush([], retired) : outcome;
  }

  #refuses({ namespaceId, workflowId, runId }: VisibilityRow, error: DatabaseError): void {
    const isKnown = this.#refused.has(runId);
    const key = { namespaceId, workflowId, runId };
    this.#refused.set(runId, { key, error });
    if (!isKnown && this.#isActive) this.#options.onRefused?.(key);
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > REFUSED_KEPT && oldest !== undefined) this.#refused.delete(oldest);
  }

  #wrote(): void {
    this.#rows.written();
    if (this.#isSaid) this.#options.logger.info('rows of List can be written again', { failures: this.#failures });
    this.#isSaid = false;
    this.#failures = 0;
  }

  /** Tries once more at once, for somebody may wait; whoever fences us again and again is not met without pauses. */
  #fenced(outcome: 'fenced' | 'over'): void {
    this.#rows.giveBack();
    this.#failures += 1;
    this.#fencings += 1;
    if (outcome === 'over') this.close();
  }

  #failed(error: unknown): void {
    this.#rows.giveBack();
    this.#failures += 1;
    if (isOutage(error) || !this.#warnings.now()) return;
    this.#isSaid = true;
    this.#options.logger.warn('rows of List cannot be written, and wait', { error: asError(error), rows: this.#rows.waiting });
  }

  #backOffMs(): number {
    return backOffMs(this.#failures, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX);
  }
}
