/**
 * Builds the filter of a shard's workflow ids: after a restart, which leaves them in the database, and when most of them were deleted.
 *
 *     in memory, some at a time ─▶ pages of the table, one after another ─▶ the filter counts        until then every miss asks the database
 *
 * In the background, beside what the shard does. What begins meanwhile is in it as well. A start with a million workflows has seconds of reading
 * to do, and right then everything is cold: so pages are short, all shards of a process read one at a time, and each is followed by a rest.
 *
 *     shard 1  page ········      page ········            a quarter of the database's time at most; loads go in between
 *     shard 2              page ········     page …
 */
import { backOffMs } from '../../../kernel/back-off.ts';
import { errorText } from '../../../kernel/error-text.ts';
import type { OneAtATime } from '../../../kernel/one-at-a-time.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import { isOutage } from '../../../projections/database-port.ts';
import type { ClockAndLogger, Timer } from '../../../ports/machine.ts';
import type { ShardTable } from '../../../projections/checkpoints/shard-table.ts';

export type KeyFilterBuildOptions = ClockAndLogger & {
  readonly core: HistoryCore;
  readonly table: ShardTable<'runIds'>;
  readonly inTurn: OneAtATime;
  readonly onFenced: () => void;
};

/** Keys added in one turn of the event loop, which takes about two milliseconds. */
const KEYS_AT_ONCE = 2_000;
/** About as long, on the side of the database: rows of run ids lie anywhere in its table. */
const PAGE_KEYS = 250;
/** How many times longer a rest is than the read of the page before it; at most `REST_MS_MAX`, if the database is slow. */
const RESTS = 3;
const REST_MS_MAX = 50;
const RETRY_DELAY_MS = 200;
const RETRY_DELAY_MS_MAX = 10_000;

export class KeyFilterBuild {
  readonly #options: KeyFilterBuildOptions;
  #isRunning = false;
  #isClosed = false;
  #failures = 0;
  #pause: Timer | undefined;

  constructor(options: KeyFilterBuildOptions) {
    this.#options = options;
  }

  start(): void {
    const { keys } = this.#options.core.residency;
    if (this.#isRunning || this.#isClosed || this.#pause !== undefined || !keys.isStale) return;
    this.#isRunning = true;
    keys.rebuild();
    void this.#build();
  }

  close(): void {
    this.#isClosed = true;
    this.#pause?.cancel();
  }

  /** Never rejects. */
  async #build(): Promise<void> {
    try {
      await this.#addResident();
      const isWhole = await this.#addTable();
      this.#isRunning = false;
      if (this.#isClosed || !isWhole) return;
      this.#options.core.residency.keys.rebuilt();
      this.#failures = 0;
    } catch (error) {
      this.#isRunning = false;
      if (!this.#isClosed) this.#failed(error);
    }
  }

  async #addResident(): Promise<void> {
    const { core } = this.#options;
    let some: RunKey[] = [];
    // What leaves memory while this goes on stands in the table, which is read behind it.
    for (const { key } of core.shard.runs.values()) {
      some.push(key);
      if (some.length < KEYS_AT_ONCE) continue;
      core.residency.keys.addKnown(some);
      some = [];
      await this.#turn();
      if (this.#isClosed) return;
    }
    core.residency.keys.addKnown(some);
  }

  /** False: not to the end. */
  async #addTable(): Promise<boolean> {
    const { core, onFenced, inTurn } = this.#options;
    for (let after = ''; ;) {
      const behind = after;
      const rows = await inTurn(() => this.#page(behind));
      if (this.#isClosed) return false;
      if (rows === 'fenced') {
        onFenced();
        return false;
      }
      core.residency.keys.addKnown(rows);
      after = rows.at(-1)?.runId ?? after;
      if (rows.length < PAGE_KEYS) return true;
    }
  }

  async #page(after: string): Promise<readonly RunKey[] | 'fenced'> {
    const { table, clock } = this.#options;
    if (this.#isClosed) return [];
    const askedMs = clock.monoMs();
    const rows = await table.read((database, journal) => database.runIds(journal, after, PAGE_KEYS));
    if (rows !== 'fenced' && rows.length === PAGE_KEYS) await this.#turn(Math.min(RESTS * (clock.monoMs() - askedMs), REST_MS_MAX));
    return rows;
  }

  async #turn(restMs = 0): Promise<void> {
    await new Promise<void>((resolve) => void this.#options.clock.after(restMs, resolve));
  }

  #failed(error: unknown): void {
    const { clock, logger } = this.#options;
    this.#failures += 1;
    if (!isOutage(error)) {
      logger.warn('the filter of workflow ids cannot be built: the database is asked for every unknown id', { reason: errorText(error) });
    }
    this.#pause = clock.after(backOffMs(this.#failures, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX), () => {
      this.#pause = undefined;
      this.start();
    });
  }
}
