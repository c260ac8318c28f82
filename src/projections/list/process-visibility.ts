/**
 * List and Count, of what the shards of this process have committed.
 *
 *     list ─▶ flush what waits, all who ask together ─▶ database ─▶ is it still the database that we filled? ─▶ page
 *                 1 s at most, then without it                        no: it is filled again, and asked again
 *
 * So a List shows a start, an upsert, a close or a deletion that was answered before it. After a start rows of all runs are written first:
 * a list that lacks half of them would look like one that has them all, so until then whoever asks waits, and is told after 5 s.
 *
 * Rows stand beside the state of their shards, where that is in a database: then they outlive this process, and what was written is there.
 * Else the database may be one in memory that dies with its thread, at any moment and without a word. Its fences die with it: that is how it
 * is noticed, and the shards write everything again.
 */
import type { RunKey } from '../../kernel/run-key.ts';
import { DatabaseError } from '../database-port.ts';
import type { VisibilityCount, VisibilityList, VisibilityPage } from '../visibility/row.ts';
import type { Database, HeldJournal, JournalId, SlotsLeft } from '../database-port.ts';
import { FlushPace } from './flush-pace.ts';
import { OwnRows, type RowsTable } from './rows-table.ts';
import { clearSlots } from './slot-clearing.ts';
import { VisibilityFlusher } from './visibility-flusher.ts';
import type { VisibilityRows } from './visibility-rows.ts';
import type { ClockAndLogger } from '../../ports/machine.ts';

export type ProcessVisibilityOptions = ClockAndLogger & {
  readonly database: Pick<Database, 'restore' | 'position' | 'flush' | 'clearSlots' | 'list' | 'count' | 'giveUp'>;
};

/** How long a List waits for changes on their way: a busy machine took more than 200 ms, and a start that was answered was not shown. */
const FLUSH_WAIT_MS = 1_000;
/** How long it waits for rows of all runs. */
const FILL_WAIT_MS = 5_000;

/** Its methods reject with DatabaseError alone. */
export class ProcessVisibility {
  readonly #options: ProcessVisibilityOptions;
  readonly #flushers = new Set<VisibilityFlusher>();
  readonly #pace = new FlushPace();
  /** Flushers whose rows are this process's alone. */
  readonly #ownRows = new Map<VisibilityFlusher, OwnRows>();
  /** Lists and counts that may be given up, by their number: the database knows of none before it is asked. */
  readonly #underWay = new Map<number, { isGivenUp: boolean }>();

  constructor(options: ProcessVisibilityOptions) {
    this.#options = options;
  }

  /** For a new memory of that shard. `durable`: its rows stand beside its state, in this database; absent: they are this process's alone. */
  flusher(journal: JournalId, rows: VisibilityRows, durable?: RowsTable, onRefused?: (key: RunKey) => void): VisibilityFlusher {
    const { clock, logger, database } = this.#options;
    const table = durable ?? new OwnRows({ journal, database, onLost: () => this.#lost() });
    const flusher = new VisibilityFlusher({
      rows,
      table,
      onRefused,
      pace: this.#pace,
      clock,
      logger: logger.with({ 'shard-id': journal.partition + 1 }),
      onClosed: () => {
        this.#flushers.delete(flusher);
        this.#ownRows.delete(flusher);
      },
    });
    this.#flushers.add(flusher);
    if (table instanceof OwnRows) this.#ownRows.set(flusher, table);
    return flusher;
  }

  list(query: VisibilityList): Promise<VisibilityPage> {
    return this.#read(query.asked, () => this.#options.database.list(query));
  }

  count(query: VisibilityCount): ReturnType<Database['count']> {
    return this.#read(query.asked, () => this.#options.database.count(query));
  }

  giveUp(asked: number): Promise<void> {
    const underWay = this.#underWay.get(asked);
    if (underWay !== undefined) underWay.isGivenUp = true;
    return this.#options.database.giveUp(asked);
  }

  /** What removed attributes have left goes out of the rows of the shards that are held. False: not now. Rejects with DatabaseError. */
  async clearSlots(left: SlotsLeft, held: readonly HeldJournal[]): Promise<boolean> {
    const { database, clock } = this.#options;
    const isCleared = await clearSlots(database, clock, held, left);
    // One of them may be another's by now; or the rows were in memory, and are lost.
    if (!isCleared) await this.#witness?.isThere();
    return isCleared;
  }

  async #read<Rows>(asked: number | undefined, read: () => Promise<Rows>): Promise<Rows> {
    const underWay = { isGivenUp: false };
    const once = (): Promise<Rows | undefined> =>
      this.#readOnce(() => {
        if (underWay.isGivenUp) throw new DatabaseError('overtime', 'the caller has given up');
        return read();
      });
    if (asked !== undefined) this.#underWay.set(asked, underWay);
    try {
      return (await once()) ?? (await once()) ?? unfilled();
    } finally {
      if (asked !== undefined) this.#underWay.delete(asked);
    }
  }

  /** Reads once; undefined: the database has lost what we wrote. */
  async #readOnce<Rows>(read: () => Promise<Rows>): Promise<Rows | undefined> {
    await this.#fill();
    await this.#flush();
    const witness = this.#witness;
    if (witness === undefined) return await read();
    // Behind one another in one lane: what was listed is of the database that is looked at then.
    const [rows, isThere] = await Promise.all([read(), witness.isThere()]);
    return isThere ? rows : undefined;
  }

  /** Any rows that were written: when their fence is gone, all flushers are told. */
  get #witness(): OwnRows | undefined {
    for (const [flusher, rows] of this.#ownRows) if (flusher.isActive && rows.isOpen) return rows;
    return undefined;
  }

  async #flush(): Promise<void> {
    const flushed = this.#serving.map((each) => each.flushed());
    await this.#within(FLUSH_WAIT_MS, flushed);
    // The first rows open the database, and come to nobody who does not wait for that.
    await this.#fill();
  }

  /** Where the database is not open yet, what is committed meanwhile opens it, and is waited for as well. */
  async #fill(): Promise<void> {
    const { clock } = this.#options;
    for (const endMs = clock.monoMs() + FILL_WAIT_MS; ;) {
      const waiting = this.#serving.filter(({ isFilled }) => !isFilled);
      if (waiting.length === 0) return;
      if (clock.monoMs() >= endMs) unfilled();
      const filled = waiting.map((each) => each.filled());
      await this.#within(endMs - clock.monoMs(), filled);
      if (waiting.some((each) => !each.isFilled && each.isFailing)) unfilled();
    }
  }

  async #within(waitMs: number, what: readonly Promise<void>[]): Promise<void> {
    if (what.length === 0) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.after(waitMs, resolve);
      void Promise.all(what).then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  /** Flushers of shards that are served here. Rows of other shards are as old as they are. */
  get #serving(): readonly VisibilityFlusher[] {
    return [...this.#flushers].filter(({ isActive }) => isActive);
  }

  #lost(): void {
    this.#options.logger.warn('the database of List lost its rows: they are being written again');
    for (const [flusher, rows] of this.#ownRows) {
      rows.forget();
      flusher.fillAgain();
    }
  }
}

function unfilled(): never {
  throw new DatabaseError('unavailable', 'the rows of this server’s workflows are still being written: try again');
}
