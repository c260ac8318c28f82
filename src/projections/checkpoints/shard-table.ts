/** What a shard reads of its tables, and the one place that tells whether what was read is its own. */
import type { Checkpointer } from './checkpointer.ts';
import type { Database, Fenced, JournalId } from '../database-port.ts';

type Reads = 'load' | 'history' | 'runIds' | 'runs' | 'strayRows' | 'rebuildDue' | 'dueRuns' | 'timers' | 'transferTasks';

export type ShardTableOptions<Read extends Reads> = {
  readonly journal: JournalId;
  readonly database: Pick<Database, Read>;
  /** Tells under whose fence this memory was restored, and what it has written. */
  readonly checkpointer: Pick<Checkpointer, 'fence' | 'written' | 'isSuperseded'>;
};

export class ShardTable<Read extends Reads = Reads> {
  readonly #options: ShardTableOptions<Read>;

  constructor(options: ShardTableOptions<Read>) {
    this.#options = options;
  }

  /**
   * `fenced`: another has restored since, and the rows are none that this memory has left there. A backup that was put in place under it bears
   * the fence that it had then, so that alone proves nothing: the checkpoint that they are of must be ours too. Only where it is not the last
   * one, as beside a write, is the position asked for, which waits for the writes before it. Rejects with DatabaseError.
   */
  async read<Rows>(ask: (database: Pick<Database, Read>, journal: JournalId) => Promise<Fenced<Rows>>): Promise<Rows | 'fenced'> {
    const { database, journal, checkpointer } = this.#options;
    const { fence, nextOffset, rows } = await ask(database, journal);
    const isLast = nextOffset === (checkpointer.written?.nextOffset ?? 0);
    if (fence !== checkpointer.fence || (!isLast && (await checkpointer.isSuperseded()))) return 'fenced';
    return rows;
  }
}
