/**
 * Records that wait for runs whose rows cannot be read (history/residency/runs-behind.ts), beside the events of those runs: so they go with
 * them when they end for good.
 */
import { errorText } from '../../../kernel/error-text.ts';
import type { WaitingRow } from '../../../history/checkpoint/rows.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { RunBehind } from '../../../history/residency/runs-behind.ts';
import type { Logger } from '../../../observability/logger.ts';
import { type Database, DatabaseError, type HistoryRow, type JournalId, WAITING_BRANCH } from '../../database.ts';

/** Of a shard. With more it is the database that is damaged, and no row of it. */
const RUNS_BEHIND_MAX = 1_000;

/** Lines at a takeover. */
const TOLD_MAX = 100;
const READ_BYTES = 4 * 1024 * 1024;

export function historyRowOf({ runId, index, record }: WaitingRow): HistoryRow {
  return { runId, branch: WAITING_BRANCH, firstEventId: index, lastEventId: index, events: record };
}

/** Of all runs that the checkpoint says are behind. Rejects with DatabaseError. One that cannot be read stays away: its run cannot come back. */
export async function installWaiting(core: HistoryCore, database: Pick<Database, 'history'>, journal: JournalId): Promise<void> {
  for (const { key, records } of core.damaged.runsBehind()) {
    for (let index = 1; index <= records;) {
      const rows = await database.history(journal, {
        runId: key.runId,
        branch: WAITING_BRANCH,
        firstEventId: index,
        lastEventId: records,
        bytesMax: READ_BYTES,
      });
      for (const row of rows) installRow(core, row);
      index = Math.max(index, rows.at(-1)?.lastEventId ?? records) + 1;
    }
  }
}

function installRow(core: HistoryCore, { runId, firstEventId, events }: HistoryRow): void {
  try {
    core.damaged.installWaiting({ runId, index: firstEventId, record: events });
  } catch {
    // Whoever asks for the run is told.
  }
}

/** Its row cannot be read, for that reason. Throws DatabaseError when there are too many. */
export function leaveBehind(core: HistoryCore, key: RunBehind['key'], error: unknown): void {
  core.damaged.leaveBehind(key, errorText(error));
  if (core.damaged.runsBehind().length <= RUNS_BEHIND_MAX) return;
  const reason = `the rows of more than ${RUNS_BEHIND_MAX} workflows of one shard cannot be read, the last of them because: ${errorText(error)}`;
  throw new DatabaseError('corrupt', `${reason}; restore a backup of the database that is no older than its journals begin`);
}

/** At each takeover. */
export function tellBehind(core: HistoryCore, logger: Logger): void {
  const behind = core.damaged.runsBehind();
  for (const { key, reason, records } of behind.slice(0, TOLD_MAX)) {
    logger.error(standsStill, {
      namespaceId: key.namespaceId,
      workflowId: key.workflowId,
      runId: key.runId,
      reason,
      recordsWaiting: records,
    });
  }
  if (behind.length > TOLD_MAX) logger.error('so do more workflows of this shard', { workflows: behind.length - TOLD_MAX });
}

/** Likewise. */
export function tellUnread(core: HistoryCore, logger: Logger): void {
  const unread = core.damaged.tasksUnread();
  for (const { taskId, kind, error } of unread.slice(0, TOLD_MAX))
    logger.error(taskUnread, { task: kind, taskId, reason: errorText(error) });
  if (unread.length > TOLD_MAX) logger.error('nor can more tasks of this shard', { tasks: unread.length - TOLD_MAX });
}

const taskUnread =
  'a task of a workflow cannot be read: it is not done, and whatever waits for it waits; the others go on; put its row back into the table of timers ' +
  'or of transfer tasks from a backup, and start again';

const standsStill =
  'the state of a workflow cannot be read: it stands still, and the others go on; what its journal has for it waits in the database, so put its row ' +
  'back into the table of runs from a backup, as it was before it was damaged, and it goes on';
