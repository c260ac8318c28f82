/** The backlog of a matching host as rows of its database: what a checkpoint is made of, and what a memory is made of again. */
import { assert } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import type { Logger } from '../../observability/logger.ts';
import type { UnreadTask } from '../../matching/checkpoint/read-rows.ts';
import { type BacklogWire, backlogSchemaMax } from '../../matching/checkpoint/backlog-wire.ts';
import { REMOVAL_BYTES } from '../../matching/checkpoint/changes.ts';
import type { BacklogCheckpoint } from '../../matching/checkpoint/rows.ts';
import type { MatchingCore } from '../../matching/matching-core.ts';
import type { MatchingRecord } from '../../matching/records.ts';
import { configBytes } from '../../matching/task-queue-config.ts';
import { taskBytes } from '../../matching/tasks.ts';
import type { CapturedState, CheckpointedState } from '../checkpoint/checkpointer.ts';
import { checkPosition, installingCounters } from '../checkpoint/damaged-journal.ts';
import { newerSchema, PAGE_ROWS, under } from '../checkpoint/fenced-rows.ts';
import type { CheckpointOptions } from '../checkpoint/partition-checkpoints.ts';
import { type CheckpointPosition, type Database, DatabaseError, type JournalId, type Restored } from '../database.ts';

export type MatchingCheckpointOptions = CheckpointOptions & { readonly stateWire: BacklogWire };

/** Of rows that one read has found damaged. */
const TOLD_MAX = 10;

/** Of what a record brings to a checkpoint, roughly. */
export function recordBytes({ spilled, removed, configured, forgotten }: MatchingRecord): number {
  const others = (removed.length + forgotten.length) * REMOVAL_BYTES + configured.reduce((bytes, config) => bytes + configBytes(config), 0);
  return spilled.reduce((bytes, { task }) => bytes + taskBytes(task), others);
}

type CheckpointedCore = Pick<MatchingCore<never>, 'cut' | 'capture' | 'durable' | 'abandonCheckpoints' | 'unwrittenBytes'>;

export class MatchingCheckpoints implements CheckpointedState {
  readonly #core: CheckpointedCore;
  #captured: BacklogCheckpoint | undefined;

  constructor(core: CheckpointedCore) {
    this.#core = core;
  }

  get unwrittenBytes(): number {
    return this.#core.unwrittenBytes;
  }

  cut(): void {
    this.#core.cut();
  }

  /** Nothing is collected from commits: all that a row holds is in the backlog. */
  cutCommitted(): void {}

  capture(goOn: () => boolean): boolean {
    this.#captured ??= this.#core.capture(goOn);
    return this.#captured !== undefined;
  }

  captured(): CapturedState {
    assert(this.#captured !== undefined, 'a checkpoint is captured before it is written');
    return { kind: 'matching', ...this.#captured };
  }

  durable(): void {
    this.#core.durable();
    this.#captured = undefined;
  }

  abandon(): void {
    this.#core.abandonCheckpoints();
    this.#captured = undefined;
  }
}

/** Why this program cannot read the rows of a checkpoint; undefined: it can. */
export function newerBacklog(position: CheckpointPosition): string | undefined {
  return newerSchema(position, backlogSchemaMax);
}

/**
 * The queues of a host, as they are under its fence, into its empty core: it reads their first tasks, as many as their windows take. Rejects with
 * DatabaseError.
 */
export async function installBacklog(
  core: Pick<MatchingCore<never>, 'windowTasksMax' | 'install' | 'installed'>,
  database: Pick<Database, 'matchingQueues'>,
  journal: JournalId,
  { fence, position }: Restored,
  logger: Logger,
): Promise<void> {
  if (position === undefined) return;
  const newer = newerBacklog(position);
  if (newer !== undefined) throw new DatabaseError('misconfigured', newer);
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
  if (unread.length > TOLD_MAX) logger.error('nor can more stored tasks of this read', { tasks: unread.length - TOLD_MAX });
}

const taskUnread = 'a stored task cannot be read: nobody is offered it until its row is put back; the others go on';
