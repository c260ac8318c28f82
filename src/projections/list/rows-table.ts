/**
 * Where the rows of List of one memory are written, and under which fence.
 *
 *     `durableRows`   beside the state of the shard, under the fence with which that was restored: whoever raises it ends this memory. The rows
 *                     outlive the process
 *     `OwnRows`       in a database of this process alone, which is empty at each start and may die at any moment. It has no state, so its fence
 *                     is raised before the first row; when it does not know that fence it is another one, and is filled again
 */
import { assert } from '../../kernel/assert.ts';
import type { Lane } from '../checkpoints/one-lane.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { VisibilityRow } from '../visibility/row.ts';
import type { Database, Fence, HeldJournal, JournalId } from '../database-port.ts';

export interface RowsTable {
  /** The database is there: we hold its fence. */
  readonly isOpen: boolean;
  /** The fence, once all is written that is being written; raised if there is none. undefined: not now. Rejects with DatabaseError. */
  held(): Promise<HeldJournal | undefined>;
  /** `fenced`: nothing was written, it may be again. `over`: never again, of this memory. Rejects with DatabaseError: perhaps written. */
  flush(rows: readonly VisibilityRow[], retired: readonly RunKey[]): Promise<'flushed' | 'fenced' | 'over'>;
}

export type DurableRowsOptions = {
  readonly journal: JournalId;
  /** The lane in which checkpoints are written too. */
  readonly database: Pick<Lane, 'flush' | 'inTurn'>;
  /** Its fence is 0 while memory is not made. */
  readonly checkpointer: Pick<HeldJournal, 'fence'>;
  readonly onFenced: () => void;
};

export function durableRows({ journal, database, checkpointer, onFenced }: DurableRowsOptions): RowsTable {
  const isOpen = (): boolean => checkpointer.fence !== 0;
  return {
    get isOpen() {
      return isOpen();
    },
    held: async () => {
      // Whoever makes rows and writes them in one turn of the lane is through with those of before.
      await database.inTurn(async () => {});
      return isOpen() ? { journal, fence: checkpointer.fence } : undefined;
    },
    flush: async (rows, retired) => {
      assert(isOpen(), 'a memory is installed before it has rows');
      const outcome = await database.flush(journal, checkpointer.fence, rows, retired);
      if (outcome === 'flushed') return outcome;
      onFenced();
      return 'over';
    },
  };
}

export type OwnRowsOptions = {
  readonly journal: JournalId;
  readonly database: Pick<Database, 'restore' | 'position' | 'flush'>;
  /** Called once for each fence that the database does not know any more: what was written is lost. */
  readonly onLost: () => void;
};

export class OwnRows implements RowsTable {
  readonly #options: OwnRowsOptions;
  #fence: Fence | undefined;
  /** One of those who need the fence at the same time raises it. */
  #raising: Promise<Fence> | undefined;

  constructor(options: OwnRowsOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#fence !== undefined;
  }

  async held(): Promise<HeldJournal> {
    return { journal: this.#options.journal, fence: this.#fence ?? (await this.#raised()) };
  }

  async flush(rows: readonly VisibilityRow[], retired: readonly RunKey[]): Promise<'flushed' | 'fenced'> {
    const { database, journal } = this.#options;
    const fence = this.#fence ?? (await this.#raised());
    const outcome = await database.flush(journal, fence, rows, retired);
    if (outcome === 'fenced') this.#lost(fence);
    return outcome;
  }

  /** The database is still the one whose fence we hold. Rejects with DatabaseError. */
  async isThere(): Promise<boolean> {
    const { database, journal } = this.#options;
    const fence = this.#fence;
    if (fence === undefined) return true;
    if ((await database.position(journal)).fence >= fence) return true;
    this.#lost(fence);
    return false;
  }

  /** The next fence is another database's. */
  forget(): void {
    this.#fence = undefined;
  }

  async #raised(): Promise<Fence> {
    const { database, journal } = this.#options;
    this.#raising ??= database.restore(journal).then(({ fence }) => fence);
    try {
      this.#fence = await this.#raising;
      return this.#fence;
    } finally {
      this.#raising = undefined;
    }
  }

  #lost(fence: Fence): void {
    // Else that is known by now.
    if (fence === this.#fence) this.#options.onLost();
  }
}
