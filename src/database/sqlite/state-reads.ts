/** What a partition's actor reads of its rows. Each is one moment's; the caller reads the fence of the same moment beside it. */
import { bytesOf, idOf, keyBytes, nameBytes, nameText, optionalWholeOf, uuidText, wholeOf, type SqlRow } from './values.ts';
import type {
  HistoryRange,
  HistoryRow,
  Loaded,
  LoadKey,
  MatchingTaskRow,
  RunId,
  RunRow,
  TaskRow,
  TimerRow,
  TimerWindow,
} from '../../actors/database.ts';
import type { Connection } from './connection.ts';

const currentSql = 'SELECT run_id FROM executions WHERE partition = ? AND namespace_id = ? AND workflow_id = ?';
const runSql = 'SELECT * FROM runs WHERE partition = ? AND run_id = ?';
const runOfWorkflowSql = `${runSql} AND namespace_id = ? AND workflow_id = ?`;
const childStartSql = 'SELECT run_id FROM child_starts WHERE partition = ? AND parent_run_id = ? AND initiated_event_id = ?';

export function load(connection: Connection, partition: number, keys: readonly LoadKey[]): readonly Loaded[] {
  return keys.map((key) => loadOne(connection, partition, key));
}

function loadOne(connection: Connection, partition: number, key: LoadKey): Loaded {
  if (key.kind === 'childStart') {
    const row = connection.statement(childStartSql).get(partition, keyBytes(key.parentRunId), key.initiatedEventId);
    return { currentRunId: row === undefined ? undefined : idOf(row, 'run_id'), run: undefined };
  }
  const namespaceId = keyBytes(key.namespaceId);
  const workflowId = nameBytes(key.workflowId);
  const pointer = connection.statement(currentSql).get(partition, namespaceId, workflowId);
  const currentRunId = pointer === undefined ? undefined : bytesOf(pointer, 'run_id');
  const row =
    key.kind === 'run'
      ? connection.statement(runOfWorkflowSql).get(partition, keyBytes(key.runId), namespaceId, workflowId)
      : currentRunId && connection.statement(runSql).get(partition, currentRunId);
  return { currentRunId: currentRunId && uuidText(currentRunId), run: row && runOf(row) };
}

const transferTasksSql = 'SELECT * FROM transfer_tasks WHERE partition = ? AND task_id > ? AND aside = 0 ORDER BY task_id LIMIT ?';
const transferTasksAsideSql = 'SELECT * FROM transfer_tasks WHERE partition = ? AND aside = 1 ORDER BY task_id';
const timersSql = `
  SELECT * FROM timers WHERE partition = ? AND aside = 0 AND (fire_ms, task_id) > (?, ?) AND fire_ms <= ? ORDER BY fire_ms, task_id LIMIT ?`;
const timersAsideSql = 'SELECT * FROM timers WHERE partition = ? AND aside = 1 ORDER BY task_id';
const matchingTasksSql = 'SELECT * FROM matching_tasks WHERE partition = ? AND queue = ? AND task_id > ? ORDER BY task_id LIMIT ?';
const allMatchingTasksSql = 'SELECT * FROM matching_tasks WHERE partition = ? AND task_id > ? ORDER BY task_id LIMIT ?';

export function transferTasks(connection: Connection, partition: number, afterTaskId: number, max: number): readonly TaskRow[] {
  return connection.statement(transferTasksSql).all(partition, afterTaskId, max).map(taskOf);
}

export function timers(connection: Connection, partition: number, window: TimerWindow): readonly TimerRow[] {
  const { afterFireTimeMs, afterTaskId, untilMs, max } = window;
  return connection.statement(timersSql).all(partition, afterFireTimeMs, afterTaskId, untilMs, max).map(timerOf);
}

export function tasksAside(
  connection: Connection,
  partition: number,
): { readonly transferTasks: readonly TaskRow[]; readonly timers: readonly TimerRow[] } {
  return {
    transferTasks: connection.statement(transferTasksAsideSql).all(partition).map(taskOf),
    timers: connection.statement(timersAsideSql).all(partition).map(timerOf),
  };
}

export function matchingTasks(
  connection: Connection,
  partition: number,
  queue: string,
  afterTaskId: number,
  max: number,
): readonly MatchingTaskRow[] {
  const rows = connection.statement(matchingTasksSql).all(partition, nameBytes(queue), afterTaskId, max);
  return rows.map((row) => ({ taskId: wholeOf(row, 'task_id'), queue, task: bytesOf(row, 'task') }));
}

export function allMatchingTasks(connection: Connection, partition: number, afterTaskId: number, max: number): readonly MatchingTaskRow[] {
  const rows = connection.statement(allMatchingTasksSql).all(partition, afterTaskId, max);
  return rows.map((row) => ({ taskId: wholeOf(row, 'task_id'), queue: nameText(bytesOf(row, 'queue')), task: bytesOf(row, 'task') }));
}

const dueRunsSql = `
  SELECT run_id, namespace_id, workflow_id, forget_ms FROM runs
  WHERE partition = ? AND forget_ms IS NOT NULL AND forget_ms <= ? ORDER BY forget_ms, run_id LIMIT ?`;
const runIdsSql = `
  SELECT run_id, namespace_id, workflow_id FROM runs WHERE partition = ? AND run_id > ? ORDER BY run_id LIMIT ?`;
const runsSql = 'SELECT * FROM runs WHERE partition = ? AND run_id > ? ORDER BY run_id LIMIT ?';

export function dueRuns(
  connection: Connection,
  partition: number,
  untilMs: number,
  max: number,
): readonly (RunId & { readonly forgetMs: number })[] {
  const rows = connection.statement(dueRunsSql).all(partition, untilMs, max);
  return rows.map((row) => ({ ...runIdOf(row), forgetMs: wholeOf(row, 'forget_ms') }));
}

export function runIds(connection: Connection, partition: number, afterRunId: string, max: number): readonly RunId[] {
  return connection.statement(runIdsSql).all(partition, keyBytes(afterRunId), max).map(runIdOf);
}

export function runs(connection: Connection, partition: number, afterRunId: string, max: number): readonly RunRow[] {
  return connection.statement(runsSql).all(partition, keyBytes(afterRunId), max).map(runOf);
}

/** From the row in which the first event stands. */
const historySql = `
  SELECT * FROM history WHERE partition = ?1 AND run_id = ?2 AND branch = ?3 AND last_event_id >= ?4 AND first_event_id <= ?5
  AND first_event_id >= coalesce((
    SELECT max(first_event_id) FROM history WHERE partition = ?1 AND run_id = ?2 AND branch = ?3 AND first_event_id <= ?4), 0)
  ORDER BY first_event_id`;

export function history(connection: Connection, partition: number, range: HistoryRange): readonly HistoryRow[] {
  const { runId, branch, firstEventId, lastEventId, bytesMax } = range;
  const rows: HistoryRow[] = [];
  let bytes = 0;
  for (const row of connection.statement(historySql).iterate(partition, keyBytes(runId), branch, firstEventId, lastEventId)) {
    const events = bytesOf(row, 'events');
    bytes += events.length;
    if (rows.length > 0 && bytes > bytesMax) break;
    rows.push({ runId, branch, firstEventId: wholeOf(row, 'first_event_id'), lastEventId: wholeOf(row, 'last_event_id'), events });
  }
  return rows;
}

function runOf(row: SqlRow): RunRow {
  return {
    ...runIdOf(row),
    status: wholeOf(row, 'status'),
    state: bytesOf(row, 'state'),
    forgetMs: optionalWholeOf(row, 'forget_ms'),
  };
}

function runIdOf(row: SqlRow): RunId {
  return { namespaceId: idOf(row, 'namespace_id'), workflowId: nameText(bytesOf(row, 'workflow_id')), runId: idOf(row, 'run_id') };
}

function taskOf(row: SqlRow): TaskRow {
  return { taskId: wholeOf(row, 'task_id'), task: bytesOf(row, 'task'), aside: wholeOf(row, 'aside') === 1 };
}

function timerOf(row: SqlRow): TimerRow {
  return { ...taskOf(row), fireTimeMs: wholeOf(row, 'fire_ms') };
}
