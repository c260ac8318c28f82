import type { Checkpointer } from './checkpointer.ts';

/** Where a journal may begin, by what its memories have heard from the database: for whoever watches what the log holds. */
export class JournalStart {
  /** Infinity: the database has told nothing yet, so nobody can say. */
  #max = Infinity;

  /** The end of the last checkpoint, also while a new memory waits for the database. 0: there is none. */
  max(checkpointer: Pick<Checkpointer, 'fence' | 'written'> | undefined): number {
    if (checkpointer !== undefined && checkpointer.fence > 0) this.#max = checkpointer.written?.lastOffset ?? 0;
    return this.#max;
  }
}
