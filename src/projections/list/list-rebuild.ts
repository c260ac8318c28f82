/**
 * Builds the rows of List of one shard again from its runs, while it serves: somebody has asked for it, or they are lost.
 *
 *     activated ─▶ is it due? ── no ──▶ ·                    ┌─ noted in the database: a crash, or a move, begins again ─┐
 *     asked ─────────────────────────▶ due ─▶ a checkpoint ─▶ runs, page by page ─▶ rows without a run go ─▶ over ───────┘
 *                                       ▲                       │
 *                                       └─────── asked again ───┘
 *
 * With the checkpoint the table of runs has all that was shown before: what changes behind it is flushed as ever. Each page is read and written
 * in one turn of the lane of writes, so nothing that is newer comes between.
 *
 *     the run's row is all there is to say of it   its row of List is that, whatever stands there
 *     the run has changed since                    its row of List is that, unless what stands there is newer
 *     the run has ended for good                   nothing: its row is being deleted
 *     the run's row cannot be read                 nothing: its row of List stays as it is
 *
 * Every step may be done twice. A database that is away is waited for.
 */
import { assert, unreachable } from '../../kernel/assert.ts';
import { backOffMs } from '../../kernel/back-off.ts';
import { asError, errorText } from '../../kernel/error-text.ts';
import { type RunSummary, summaryOf } from '../../history/run/summary.ts';
import type { StateWire } from '../../history/shard/state-wire.ts';
import type { HistoryCore } from '../../history/history-core.ts';
import type { Logger } from '../../observability/logger.ts';
import type { VisibilityRow } from '../visibility/row.ts';
import type { Checkpointer } from '../checkpoints/checkpointer.ts';
import type { Lane } from '../checkpoints/one-lane.ts';
import { DatabaseError, isOutage } from '../database-port.ts';
import type { Database, JournalId, ListedId, RebuildReason, RunRow } from '../database-port.ts';
import type { LoopTurns } from '../../ports/loop-turns.ts';
import type { ShardTable } from '../checkpoints/shard-table.ts';
import { isRefusal, writeOneByOne } from './refused-rows.ts';
import type { VisibilityRows } from './visibility-rows.ts';
import type { ClockAndLogger } from '../../ports/machine.ts';
import { Pause } from '../../ports/pause.ts';

export type ListRebuildOptions = ClockAndLogger & {
  readonly journal: JournalId;
  readonly core: HistoryCore;
  readonly rows: VisibilityRows;
  readonly stateWire: Pick<StateWire, 'decodeShown'>;
  readonly table: ShardTable<'runs' | 'strayRows' | 'rebuildDue'>;
  readonly database: Pick<Database, 'flush' | 'rewrite' | 'noteRebuild'>;
  readonly lane: Pick<Lane, 'inTurn'>;
  readonly checkpointer: Pick<Checkpointer, 'fence' | 'written' | 'unwritten'>;
  readonly turns: LoopTurns;
  readonly onFenced: () => void;
};

/** For people. Absent: none was due since the shard was taken over. */
export type ListRebuildReport = {
  /** `waits`: for a checkpoint that has all that was shown before. */
  readonly state: 'waits' | 'runs' | 'done';
  readonly reason: RebuildReason;
  /** How many runs have their rows again. */
  readonly runs: number;
  /** Runs whose state cannot be read: List shows them as it did. */
  readonly unreadRuns: number;
  /** Rows of runs that do not exist. */
  readonly removedRows: number;
  readonly seconds: number;
  /** Why it does not go on just now. */
  readonly trouble?: string;
};

/** What one turn of the lane reads: checkpoints, and whoever lists, wait for it. */
const RUNS_AT_ONCE = 250;
const RUN_BYTES_AT_ONCE = 4 * 1024 * 1024;
const WALKED_AT_ONCE = 2_000;
/** What the event loop copies at a stretch. */
const ROWS_AT_ONCE = 50;
const LOOK_DELAY_MS = 1_000;
const CHECKPOINT_LOOK_MS = 100;
const RETRY_DELAY_MS = 200;
const RETRY_DELAY_MS_MAX = 10_000;
/** Lines of runs that cannot be read. */
const TOLD_MAX = 20;

type Step = 'look' | 'wait' | 'runs' | 'strays' | 'end' | 'over';

class Progress {
  step: Step;
  reason: RebuildReason | undefined;
  /** How many checkpoints were durable when it began. */
  mark: number;
  readonly sinceMs: number;
  untilMs: number | undefined;
  afterRunId = '';
  afterRow: ListedId | undefined;
  runs = 0;
  unreadRuns = 0;
  removedRows = 0;
  trouble: string | undefined;

  constructor(step: Step, reason: RebuildReason | undefined, mark: number, sinceMs: number) {
    this.step = step;
    this.reason = reason;
    this.mark = mark;
    this.sinceMs = sinceMs;
  }
}

export class ListRebuild {
  readonly #options: ListRebuildOptions;
  #progress: Progress | undefined;
  #isRunning = false;
  #isClosed = false;
  #failures = 0;
  readonly #pause: Pause;

  constructor(options: ListRebuildOptions) {
    this.#options = options;
    this.#pause = new Pause(options.clock);
  }

  /** The journal is read, and ours: one that was begun, or is due, goes on. */
  activated(): void {
    this.#begin('look', undefined);
  }

  /** Asks for a rebuild from the first run on, also if one is under way: what it has passed may be wrong again. Rejects with DatabaseError: it may have been noted. */
  async ask(): Promise<'noted' | 'fenced'> {
    const { lane, onFenced } = this.#options;
    const outcome = await lane.inTurn(async () => {
      const noted = await this.#note(true);
      // In the same turn: else the end of the one under way might come between, and take the note away.
      if (noted === 'noted' && !this.#isClosed) this.#begin('wait', 'asked');
      return noted;
    });
    if (outcome === 'fenced') onFenced();
    return outcome;
  }

  get report(): ListRebuildReport | undefined {
    if (this.#progress?.reason === undefined) return undefined;
    const { step, reason, runs, unreadRuns, removedRows, trouble, sinceMs, untilMs } = this.#progress;
    const state = step === 'over' ? 'done' : step === 'wait' || step === 'look' ? 'waits' : 'runs';
    const seconds = Math.round(((untilMs ?? this.#options.clock.monoMs()) - sinceMs) / 1_000);
    return { state, reason, runs, unreadRuns, removedRows, seconds, ...(trouble === undefined ? {} : { trouble }) };
  }

  close(): void {
    this.#isClosed = true;
    this.#pause.end();
  }

  // ── One step after the other ───────────────────────────────────────────────────────────────────────────────────────────────

  #begin(step: Step, reason: RebuildReason | undefined): void {
    const { core, clock } = this.#options;
    this.#progress = new Progress(step, reason, core.changes.durableCount, clock.monoMs());
    this.#failures = 0;
    if (this.#isRunning) this.#pause.end();
    else void this.#run();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock } = this.#options;
    this.#isRunning = true;
    while (!this.#isClosed && this.#progress !== undefined && this.#progress.step !== 'over') {
      const progress = this.#progress;
      const begunMs = clock.monoMs();
      try {
        await this.#next(progress);
        progress.trouble = undefined;
        this.#failures = 0;
        // The database is for others as long as for this.
        await this.#rest(progress.step === 'wait' ? CHECKPOINT_LOOK_MS : clock.monoMs() - begunMs);
      } catch (error) {
        await this.#failed(progress, error);
      }
    }
    this.#isRunning = false;
  }

  async #next(progress: Progress): Promise<void> {
    const { lane } = this.#options;
    switch (progress.step) {
      case 'look':
        return await this.#look(progress);
      case 'wait':
        if (this.#hasAllBefore(progress)) progress.step = 'runs';
        return undefined;
      case 'runs':
        return await lane.inTurn(() => this.#runsPage(progress));
      case 'strays':
        return await lane.inTurn(() => this.#straysPage(progress));
      case 'end':
        return await lane.inTurn(() => this.#end(progress));
      case 'over':
        return undefined;
      default:
        return unreachable(progress.step);
    }
  }

  /** Not at once: a start has other things to read, and of two owners the one that is not dead yet finds out by then. */
  async #look(progress: Progress): Promise<void> {
    await this.#rest(LOOK_DELAY_MS);
    if (this.#isStale(progress)) return;
    const { table, lane, logger } = this.#options;
    const due = await table.read((database, journal) => database.rebuildDue(journal));
    if (due === 'fenced') return this.#fenced();
    if (due === undefined) {
      progress.step = 'over';
      return;
    }
    if (due === 'lost') logger.warn('List has no rows for the workflows of this shard: they are being rebuilt');
    // Once some are there nobody would see that the others are not.
    if ((await lane.inTurn(() => this.#note(true))) === 'fenced') return this.#fenced();
    progress.reason = due;
    progress.step = 'wait';
  }

  #wait(progress: Progress): void {
    progress.mark = this.#options.core.changes.durableCount;
    progress.step = 'wait';
  }

  #hasAllBefore({ mark }: Progress): boolean {
    const { checkpointer, rows, core } = this.#options;
    // The first of them may have been under way.
    return (checkpointer.unwritten.records <= 0 || core.changes.durableCount >= mark + 2) && rows.canBeMade;
  }

  async #end(progress: Progress): Promise<void> {
    // It was asked for again.
    if (this.#isStale(progress)) return;
    const { logger, clock } = this.#options;
    if ((await this.#note(false)) === 'fenced') return this.#fenced();
    progress.step = 'over';
    progress.untilMs = clock.monoMs();
    const { runs, unreadRuns, removedRows } = progress;
    logger.info('the rows of List were rebuilt', { runs, unreadRuns, removedRows });
  }

  async #note(isDue: boolean): Promise<'noted' | 'fenced'> {
    const { database, journal, checkpointer } = this.#options;
    return await database.noteRebuild(journal, checkpointer.fence, isDue);
  }

  #isStale(progress: Progress): boolean {
    return this.#isClosed || this.#progress !== progress;
  }

  // ── Rows of runs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Reads and writes one page in a turn of the lane. */
  async #runsPage(progress: Progress): Promise<void> {
    const { table, core, turns } = this.#options;
    if (this.#isStale(progress)) return;
    const asOf = core.changes.durableCount;
    const found = await table.read((database, journal) => database.runs(journal, progress.afterRunId, RUNS_AT_ONCE, RUN_BYTES_AT_ONCE));
    if (found === 'fenced') return this.#fenced();
    const summaries: RunSummary[] = [];
    const unread: { row: RunRow; error: unknown }[] = [];
    await turns.through(this.#decode(found, summaries, unread));
    // A commit whose answer was lost has landed: what was read may be older than what is said of it.
    if (this.#isStale(progress) || core.changes.durableCount !== asOf) return;
    if (!(await this.#write(summaries))) return;
    for (const each of unread) this.#tellUnread(progress, each.row, each.error);
    progress.runs += summaries.length;
    progress.afterRunId = found.at(-1)?.runId ?? '';
    if (found.length === 0) progress.step = 'strays';
  }

  *#decode(found: readonly RunRow[], summaries: RunSummary[], unread: { row: RunRow; error: unknown }[]): Generator<undefined, void> {
    for (const row of found) {
      try {
        const shown = this.#options.stateWire.decodeShown(row.state);
        assert(shown.key.runId === row.runId && shown.key.namespaceId === row.namespaceId, 'the row of another run is there');
        const summary = summaryOf(shown);
        if (summary !== undefined) summaries.push(summary);
      } catch (error) {
        unread.push({ row, error });
      }
      yield;
    }
  }

  /** What the rows are worth is asked for all of them at once: whatever changes behind that is written behind this. False: not to the end. */
  async #write(summaries: readonly RunSummary[]): Promise<boolean> {
    const { core, database, journal, checkpointer } = this.#options;
    const whole: RunSummary[] = [];
    const behind: RunSummary[] = [];
    for (const summary of summaries) {
      const standing = core.rowStanding(summary.key.runId);
      if (standing !== 'retired') (standing === 'whole' ? whole : behind).push(summary);
    }
    const { fence, written } = checkpointer;
    const nextOffset = written?.nextOffset ?? 0;
    return (
      (await this.#inBatches(whole, (rows) => database.rewrite(journal, fence, nextOffset, rows))) &&
      (await this.#inBatches(behind, (rows) => database.flush(journal, fence, rows, [])))
    );
  }

  async #inBatches(summaries: readonly RunSummary[], write: WriteRows): Promise<boolean> {
    const { rows, turns, logger } = this.#options;
    for (let from = 0; from < summaries.length; from += ROWS_AT_ONCE) {
      const batch: VisibilityRow[] = [];
      await turns.through(collected(rows.buildAgain(summaries.slice(from, from + ROWS_AT_ONCE)), batch));
      if (this.#isClosed) return false;
      const outcome = await writtenAtOnce(batch, write, logger);
      if (outcome === 'fenced') this.#fenced();
      if (outcome !== 'flushed' || this.#isClosed) return false;
    }
    return true;
  }

  #tellUnread(progress: Progress, { namespaceId, workflowId, runId }: RunRow, error: unknown): void {
    progress.unreadRuns += 1;
    if (progress.unreadRuns > TOLD_MAX) return;
    const reason = errorText(error);
    const told = { namespaceId, workflowId, runId, reason };
    this.#options.logger.error('the state of a workflow cannot be read: its row in List stays as it is', told);
  }

  // ── Rows without a run ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Looks at one page in a turn of the lane. What was begun and is in no checkpoint has a row of List, and none among the runs. */
  async #straysPage(progress: Progress): Promise<void> {
    const { table, core, database, journal, checkpointer } = this.#options;
    if (this.#isStale(progress)) return;
    const asOf = core.changes.durableCount;
    const found = await table.read((tables, of) => tables.strayRows(of, progress.afterRow, WALKED_AT_ONCE));
    if (found === 'fenced') return this.#fenced();
    if (this.#isStale(progress) || core.changes.durableCount !== asOf) return;
    const gone = found.strays.filter(({ runId }) => !core.isWithoutRow(runId));
    if (gone.length > 0 && (await database.flush(journal, checkpointer.fence, [], gone)) === 'fenced') return this.#fenced();
    progress.removedRows += gone.length;
    progress.afterRow = found.last;
    if (found.last === undefined) progress.step = 'end';
  }

  // ── Pauses and trouble ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #failed(progress: Progress, error: unknown): Promise<void> {
    if (this.#isClosed || (error instanceof DatabaseError && error.code === 'closed')) return this.close();
    // That a database is away is told once for all shards, where they ask it.
    if (!isOutage(error) && progress.trouble === undefined) {
      this.#options.logger.warn('the rows of List cannot be rebuilt now: tried again', { error: asError(error) });
    }
    progress.trouble = errorText(error);
    // What was not answered may be written yet, over what is newer: that is mended by the same page, as of a later checkpoint.
    if (progress.step === 'runs') this.#wait(progress);
    this.#failures += 1;
    await this.#rest(backOffMs(this.#failures, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX));
  }

  #fenced(): void {
    this.close();
    this.#options.onFenced();
  }

  async #rest(delayMs: number): Promise<void> {
    if (!this.#isClosed) await this.#pause.last(delayMs);
  }
}

function* collected<Item>(items: Iterable<Item>, into: Item[]): Generator<undefined, void> {
  for (const item of items) {
    into.push(item);
    yield;
  }
}

type WriteRows = (rows: readonly VisibilityRow[]) => ReturnType<Database['rewrite']>;

async function writtenAtOnce(rows: readonly VisibilityRow[], write: WriteRows, logger: Logger): ReturnType<WriteRows> {
  try {
    return await write(rows);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return await writeOneByOne(rows, (row) => write([row]), logger);
  }
}
