/** The backlog of a matching host as rows of its database: what a checkpoint is made of, and what a memory is made of again. */
import { assert } from '../../kernel/assert.ts';
import { asError, errorText } from '../../kernel/error-text.ts';
import type { Logger } from '../../observability/logger.ts';
import type { UnreadTask } from '../../matching/checkpoint/read-rows.ts';
import type { BacklogWire } from '../../matching/checkpoint/backlog-wire.ts';
import { REMOVAL_BYTES } from '../../matching/checkpoint/changes.ts';
import type { MatchingCore } from '../../matching/matching-core.ts';
import type { MatchingRecord } from '../../matching/matching-records.ts';
import { configBytes } from '../../matching/task-queue-config.ts';
import { taskBytes } from '../../matching/matching-tasks.ts';
import type { CheckpointedState, Checkpointer } from '../../projections/checkpoints/checkpointer.ts';
import { checkPosition, installingCounters } from '../../projections/checkpoints/damaged-journal.ts';
import { PAGE_ROWS, under } from '../../projections/checkpoints/fenced-rows.ts';
import type { CheckpointOptions } from '../../projections/checkpoints/partition-checkpoints.ts';
import type { Database, JournalId, Restored } from '../../projections/database-port.ts';
import { DatabaseError, isOutage, type MatchingTaskCount } from '../../projections/database-port.ts';
import type { TaskRow } from '../../matching/checkpoint/rows.ts';
import type { CountStoredTasks, LoadStoredTasks } from '../../matching/matching-effects.ts';

export type MatchingCheckpointOptions = CheckpointOptions & { readonly stateWire: BacklogWire };

const TOLD_MAX = 10;

export function recordBytes({ spilled, removed, configured, forgotten }: MatchingRecord): number {
  const others = (removed.length + forgotten.length) * REMOVAL_BYTES + configured.reduce((bytes, config) => bytes + configBytes(config), 0);
  return spilled.reduce((bytes, { task }) => bytes + taskBytes(task), others);
}

type CheckpointedCore = Pick<MatchingCore<never>, 'cut' | 'capture' | 'durable' | 'abandonCheckpoints' | 'unwrittenBytes'>;

export function matchingCheckpoints(core: CheckpointedCore): CheckpointedState {
  return {
    cut: () => core.cut(),
    // Nothing is collected from commits: all that a row holds is in the backlog.
    cutCommitted: () => {},
    capture: (goOn) => core.capture(goOn) !== undefined,
    captured: () => {
      const captured = core.capture(() => false);
      assert(captured !== undefined, 'a checkpoint is captured before it is written');
      return { kind: 'matching', ...captured };
    },
    durable: () => core.durable(),
    abandon: () => core.abandonCheckpoints(),
    get unwrittenBytes() {
      return core.unwrittenBytes;
    },
  };
}

/** The queues of a host, under its fence, into its empty core, with as many tasks as their windows take. Rejects with DatabaseError. */
export async function installBacklog(
  core: Pick<MatchingCore<never>, 'windowTasksMax' | 'install' | 'installed'>,
  database: Pick<Database, 'matchingQueues'>,
  journal: JournalId,
  { fence, position }: Restored,
  logger: Logger,
): Promise<void> {
  if (position === undefined) return;
  checkPosition(journal, position);
  let afterName: Uint8Array | undefined;
  for (let hasMore = true; hasMore;) {
    const page = { afterName, tasksMax: core.windowTasksMax, tasksOfAllMax: PAGE_ROWS };
    const queues = await under(fence, database.matchingQueues(journal, page));
    tellUnread(core.install(queues), logger);
    hasMore = queues.reduce((sum, { tasks }) => sum + tasks.length, 0) >= PAGE_ROWS;
    afterName = queues.at(-1)?.storedName;
  }
  await installingCounters(journal, () => core.installed(position));
}

/** History believes it stored: it waits until somebody has put its row back, or its shard is told to offer it again (docs/operations/state.md). */
export function tellUnread(unread: readonly UnreadTask[], logger: Logger): void {
  for (const { taskId, laneKey, error } of unread.slice(0, TOLD_MAX))
    logger.error(taskUnread, { taskId, queue: laneKey, reason: errorText(error) });
  if (unread.length > TOLD_MAX) logger.error('more stored tasks of this partition cannot be read', { tasks: unread.length - TOLD_MAX });
}

const taskUnread = 'a stored task cannot be read: no worker gets it until its row is restored; all others continue';

type ColdTasksOptions = {
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
      if (this.#isInTrouble) logger.info('stored tasks can be read again');
      this.#isInTrouble = false;
      return rows;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  /** Counts the stored tasks up to `lastTaskId`; undefined: not possible now. Never rejects. */
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
    const message = 'stored tasks that are not in memory cannot be read; polls for them wait, all others continue';
    this.#options.logger.error(message, { error: asError(error) });
  }
}

/** How many tasks are missing, which the last page of the cold tasks tells. */
function missingIn(rows: readonly TaskRow[], { untilTaskId, max, rowsMin }: LoadStoredTasks): number {
  const isLastPage = rows.length < max || (rows.at(-1)?.taskId ?? 0) >= untilTaskId;
  return isLastPage ? rowsMin - rows.filter(({ taskId }) => taskId <= untilTaskId).length : 0;
}
