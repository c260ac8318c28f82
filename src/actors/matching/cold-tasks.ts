/** Reads and counts the rows of stored tasks that are not in memory, under the fence of this memory. */
import { asError } from '../../kernel/error-text.ts';
import type { TaskRow } from '../../matching/checkpoint/rows.ts';
import type { CountStoredTasks, LoadStoredTasks } from '../../matching/effects.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Checkpointer } from '../checkpoint/checkpointer.ts';
import { type Database, DatabaseError, isOutage, type JournalId, type MatchingTaskCount } from '../database.ts';

export type ColdTasksOptions = {
  readonly database: Pick<Database, 'matchingTasks' | 'countMatchingTasks'>;
  readonly journal: JournalId;
  readonly checkpointer: Pick<Checkpointer, 'fence' | 'isSuperseded'>;
  readonly logger: Logger;
};

export class ColdTasks {
  readonly #options: ColdTasksOptions;
  #isInTrouble = false;

  constructor(options: ColdTasksOptions) {
    this.#options = options;
  }

  /** undefined: not now. Never rejects. */
  async read(load: LoadStoredTasks): Promise<readonly TaskRow[] | undefined> {
    const { database, journal, checkpointer, logger } = this.#options;
    const { key, afterTaskId, max } = load;
    try {
      const { fence, rows } = await database.matchingTasks(journal, key, afterTaskId, max);
      const missing = missingIn(rows, load);
      if (fence !== checkpointer.fence || missing > 0) {
        if ((await checkpointer.isSuperseded()) || fence !== checkpointer.fence) return undefined;
        logger.error('stored tasks are missing in the database', { queue: key, afterTaskId, missing });
      }
      if (this.#isInTrouble) logger.info('stored tasks are read again');
      this.#isInTrouble = false;
      return rows;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  /** Up to `lastTaskId` there are as many. undefined: not now. Never rejects. */
  async count({ key, afterTaskId, untilTaskId, max }: CountStoredTasks): Promise<MatchingTaskCount | undefined> {
    const { database, journal, checkpointer } = this.#options;
    try {
      const { fence, rows } = await database.countMatchingTasks(journal, { queue: key, afterTaskId, untilTaskId, max });
      if (fence !== checkpointer.fence) return undefined;
      return rows.count < max ? { ...rows, lastTaskId: untilTaskId } : rows;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  #failed(error: unknown): void {
    const isOver = error instanceof DatabaseError && error.code === 'closed';
    if (isOutage(error) || isOver || this.#isInTrouble) return;
    this.#isInTrouble = true;
    const message = 'stored tasks that are not in memory cannot be read; polls for them wait, the others go on';
    this.#options.logger.error(message, { error: asError(error) });
  }
}

/** Told by the last page of what was cold. */
function missingIn(rows: readonly TaskRow[], { untilTaskId, max, rowsMin }: LoadStoredTasks): number {
  const isLastPage = rows.length < max || (rows.at(-1)?.taskId ?? 0) >= untilTaskId;
  return isLastPage ? rowsMin - rows.filter(({ taskId }) => taskId <= untilTaskId).length : 0;
}
