/**
 * Pending tasks for operators: those in memory, which the core has found already, and those that are rows alone.
 *
 *     taskRowsToList ─▶ a page of rows, in the lane of the writes ─▶ … ─▶ taskList
 *                       at most ten, for rows of other categories and places may be very many: then the list goes on from there
 */
import { byPlace } from '../../../history/run/timer-queue.ts';
import type { TimerPage, TimerRow, TransferTaskRow } from '../../../history/shard/rows.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { HistoryReply } from '../../../history/run/history-replies.ts';
import { firstTasks, isScheduled, pageOf } from '../../../history/tasks/list-tasks.ts';
import type { TaskPlace, TaskRowsToList } from '../../../history/commands/shard-task-commands.ts';
import { errorMessage } from '../../../kernel/error-text.ts';
import type { Lane } from '../../../projections/checkpoints/one-lane.ts';
import type { ReplySink } from '../../asks/switchboard.ts';

/** Rejects with DatabaseError; `fenced`: another has restored since. */
export type TaskTable = {
  readonly timers: (page: TimerPage) => Promise<readonly TimerRow[] | 'fenced'>;
  readonly transferTasks: (afterTaskId: number, max: number) => Promise<readonly TransferTaskRow[] | 'fenced'>;
  readonly lane: Pick<Lane, 'inTurn'>;
};

export type TaskListingOptions = {
  readonly core: Pick<HistoryCore, 'listedRow'>;
  readonly sink: Pick<ReplySink<HistoryReply>, 'answer' | 'fail'>;
  readonly table: TaskTable | undefined;
};

const PAGE_ROWS = 500;
const PAGES_MAX = 10;

export function listTasks(effect: TaskRowsToList, options: TaskListingOptions): void {
  const { sink, table } = options;
  const { askId, found, command } = effect;
  if (table === undefined) sink.answer(askId, pageOf(found, command.max, undefined));
  else void listWithRows(effect, table, options);
}

/** Never rejects. */
async function listWithRows(
  { askId, command, found }: TaskRowsToList,
  table: TaskTable,
  { core, sink }: TaskListingOptions,
): Promise<void> {
  try {
    const first = firstTasks(command);
    for (const task of found) first.add(task);
    const inMemory = new Set(found.map(({ taskId }) => taskId));
    let after: TaskPlace = { ...command.from, taskId: command.from.taskId - 1 };
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const rows = await table.lane.inTurn(() => readPage(command, after, table));
      if (rows === 'fenced') throw new Error('the shard has another owner now');
      for (const { row, place } of rows) {
        after = place;
        const listed = inMemory.has(row.taskId) ? undefined : core.listedRow(row, place, command);
        if (listed !== undefined) first.add(listed);
      }
      const last = first.found[command.max];
      if (rows.length < PAGE_ROWS || byPlace(after, command.to) >= 0 || (last !== undefined && byPlace(after, last) >= 0)) {
        sink.answer(askId, pageOf(first.found, command.max, undefined));
        return;
      }
    }
    sink.answer(askId, pageOf(first.found, command.max, { ...after, taskId: after.taskId + 1 }));
  } catch (error) {
    sink.fail(askId, { kind: 'unavailable', message: `the tasks of the shard cannot be read now: ${errorMessage(error)}` });
  }
}

async function readPage(
  { category, to }: TaskRowsToList['command'],
  { fireTimeMs: afterFireTimeMs, taskId: afterTaskId }: TaskPlace,
  { timers, transferTasks }: TaskTable,
) {
  const rows = isScheduled(category)
    ? await timers({ afterFireTimeMs, afterTaskId, untilMs: to.fireTimeMs, max: PAGE_ROWS })
    : await transferTasks(afterTaskId, PAGE_ROWS);
  if (rows === 'fenced') return rows;
  return rows.map((row) => ({ row, place: { fireTimeMs: 'fireTimeMs' in row ? row.fireTimeMs : 0, taskId: row.taskId } }));
}
