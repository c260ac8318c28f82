/** What a partition's actor reads of its rows. Each is one moment's; the caller reads the fence of the same moment beside it. */
import { DatabaseError, RUNS_PROBED } from '../database-port.ts';
import { nameBytes, readableName, unreadableName } from '../tables/name-bytes.ts';
import { numberOrNone } from '../tables/row-reader.ts';
import { historyRowOf, nobodysId, rebuildName, runKeyOf, runOf, timerOf, transferTaskOf } from '../tables/state-rows.ts';
import { bytesOf, idOf, keyBytes, rowReader, textOf, wholeOf, type SqlRow } from './values.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { Answer, Arguments } from '../database-methods.ts';
import type { Fenced, HistoryRange, HistoryRow, ListedId, Loaded, LoadKey, MatchingQueue, MatchingTaskRow } from '../database-port.ts';
import type { RunRow, TimerRow, TransferTaskRow } from '../database-port.ts';
import type { Connection } from './connection.ts';

const currentSql = 'SELECT run_id FROM executions WHERE partition = ? AND namespace_id = ? AND workflow_id = ?';
const runSql = 'SELECT * FROM runs WHERE partition = ? AND run_id = ?';
const runOfWorkflowSql = `${runSql} AND namespace_id = ? AND workflow_id = ?`;
const childStartSql = 'SELECT run_id FROM child_starts WHERE partition = ? AND parent_run_id = ? AND initiated_event_id = ?';

export function load(connection: Connection, partition: number, keys: readonly LoadKey[]): readonly Loaded[] {
  return keys.map((key) => loadOne(connection, partition, key));
}

/** What cannot be read is the trouble of this key alone: it is answered with a row that nobody can decode. */
function loadOne(connection: Connection, partition: number, key: LoadKey): Loaded {
  if (key.kind === 'childStart') {
    const row = connection.statement(childStartSql).get(partition, keyBytes(key.parentRunId), key.initiatedEventId);
    const runId = row === undefined ? undefined : orUnreadable(() => idOf(row, 'run_id'));
    if (runId === unreadable) return { currentRunId: undefined, run: unreadableRun('', '', nobodysId) };
    return { currentRunId: runId, run: undefined };
  }
  const { namespaceId, workflowId } = key;
  const pointer = connection.statement(currentSql).get(partition, keyBytes(namespaceId), nameBytes(workflowId));
  const pointed = pointer === undefined ? undefined : orUnreadable(() => idOf(pointer, 'run_id'));
  const currentRunId = pointed === unreadable ? undefined : pointed;
  if (key.kind === 'current' && pointed === unreadable) return { currentRunId, run: unreadableRun(namespaceId, workflowId, nobodysId) };
  const runId = key.kind === 'run' ? key.runId : currentRunId;
  if (runId === undefined) return { currentRunId, run: undefined };
  const row =
    key.kind === 'run'
      ? connection.statement(runOfWorkflowSql).get(partition, keyBytes(runId), keyBytes(namespaceId), nameBytes(workflowId))
      : connection.statement(runSql).get(partition, keyBytes(runId));
  const run = row === undefined ? undefined : orUnreadable(() => runOf(row, rowReader));
  return { currentRunId, run: run === unreadable ? unreadableRun(namespaceId, workflowId, runId) : run };
}

const unreadable = Symbol('unreadable');

function orUnreadable<Value>(read: () => Value): Value | typeof unreadable {
  try {
    return read();
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return unreadable;
  }
}

function unreadableRun(namespaceId: string, workflowId: string, runId: string): RunRow {
  return { namespaceId, workflowId, runId, status: 0, state: new Uint8Array(), forgetMs: undefined };
}

function isUnreadable(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === 'corrupt';
}

/** Through the small index: the planner would go through the table, which is in that order too. */
const transferTasksSql = `
  SELECT * FROM transfer_tasks INDEXED BY transfer_tasks_waiting
  WHERE partition = ? AND task_id > ? AND aside = 0 AND at_matching = 0 ORDER BY task_id LIMIT ?`;
const transferTasksAsideSql = 'SELECT * FROM transfer_tasks WHERE partition = ? AND aside = 1 ORDER BY task_id';
const timersSql = `
  SELECT * FROM timers WHERE partition = ? AND aside = 0 AND (fire_ms, task_id) > (?, ?) AND fire_ms <= ? ORDER BY fire_ms, task_id LIMIT ?`;
const timersAsideSql = 'SELECT * FROM timers WHERE partition = ? AND aside = 1 ORDER BY task_id';
const matchingTasksSql = 'SELECT * FROM matching_tasks WHERE partition = ? AND queue = ? AND task_id > ? ORDER BY task_id LIMIT ?';
const firstMatchingQueueSql = 'SELECT queue FROM matching_tasks WHERE partition = ? ORDER BY queue LIMIT 1';
const nextMatchingQueueSql = 'SELECT queue FROM matching_tasks WHERE partition = ? AND queue > ? ORDER BY queue LIMIT 1';
const lastMatchingTaskSql = 'SELECT task_id FROM matching_tasks WHERE partition = ? AND queue = ? ORDER BY task_id DESC LIMIT 1';
const countMatchingTasksSql = `
  SELECT count(*) AS count, max(task_id) AS last_id FROM (
    SELECT task_id FROM matching_tasks WHERE partition = ? AND queue = ? AND task_id > ? AND task_id <= ? ORDER BY task_id LIMIT ?)`;
const dueRunsSql = `
  SELECT run_id, namespace_id, workflow_id, forget_ms FROM runs
  WHERE partition = ? AND forget_ms IS NOT NULL AND forget_ms <= ? ORDER BY forget_ms, run_id`;
const runIdsSql = `
  SELECT run_id, namespace_id, workflow_id FROM runs WHERE partition = ? AND run_id > ? ORDER BY run_id`;
const pointerToSql = 'SELECT run_id, namespace_id, workflow_id FROM executions WHERE partition = ? AND run_id = ?';
const runsSql = 'SELECT * FROM runs WHERE partition = ? AND run_id > ? ORDER BY run_id';
const strayRowsSql = `
  SELECT namespace_id, run_id, v.shard = ?1 + 1
    AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.partition = ?1 AND r.run_id = unhex(v.run_id, '-')) AS is_stray
  FROM visibility v INDEXED BY sqlite_autoindex_visibility_1 WHERE (namespace_id, run_id) > (?2, ?3) ORDER BY namespace_id, run_id LIMIT ?4`;
const askedSql = 'SELECT 1 FROM perdure WHERE name = ?';
const shownSql = 'SELECT 1 FROM visibility WHERE namespace_id = ? AND run_id = ?';
const noteSql = "INSERT OR IGNORE INTO perdure (name, value) VALUES (?, 'asked')";
const endSql = 'DELETE FROM perdure WHERE name = ?';

/** Hears of a row that cannot be read, as far as it says what it is. */
export type PassedOver = (runId: string, error: unknown) => void;

/** Whose rows are read, and who hears of those that cannot be. */
export type Of = { readonly connection: Connection; readonly partition: number; readonly passedOver: PassedOver };
type OfRuns = 'transferTasks' | 'timers' | 'tasksAside' | 'dueRuns' | 'runIds' | 'runs' | 'strayRows' | 'rebuildDue';
type Method = OfRuns | 'matchingTasks' | 'matchingQueues' | 'countMatchingTasks';
type Behind<Args> = Args extends readonly [unknown, ...infer Others] ? Others : never;
type RowsOf<Read> = Read extends Fenced<infer Rows> ? Rows : never;

/** The port's methods that read one partition in the lane of writes, without the journal and the fence. */
export type Windows = { readonly [M in Method]: (of: Of, ...args: Behind<Arguments<M>>) => RowsOf<Answer<M>> };

export const windows: Windows = {
  transferTasks: (of, afterTaskId, max) => all(of, transferTasksSql, afterTaskId, max).map(transferTask),
  timers: (of, { afterFireTimeMs, afterTaskId, untilMs, max }) => all(of, timersSql, afterFireTimeMs, afterTaskId, untilMs, max).map(timer),
  tasksAside: (of) => ({ transferTasks: all(of, transferTasksAsideSql).map(transferTask), timers: all(of, timersAsideSql).map(timer) }),
  matchingTasks: (of, queue, afterTaskId, max) => tasksOfQueue(of, { queue, storedName: nameBytes(queue) }, afterTaskId, max),
  // From name to name through the index: what is behind the first tasks of a queue is not looked at.
  matchingQueues: (of, { afterName, tasksMax, tasksOfAllMax }) => {
    const queues: MatchingQueue[] = [];
    let [found] = afterName === undefined ? all(of, firstMatchingQueueSql) : all(of, nextMatchingQueueSql, afterName);
    for (let taken = 0; found !== undefined && taken < tasksOfAllMax;) {
      const storedName = bytesOf(found, 'queue');
      const queue = readableName(storedName) ?? unreadableName(storedName);
      const tasks = tasksOfQueue(of, { queue, storedName }, -1, tasksMax);
      const [last] = all(of, lastMatchingTaskSql, storedName);
      if (last !== undefined) queues.push({ queue, storedName, lastTaskId: wholeOf(last, 'task_id'), tasks });
      taken += tasks.length;
      [found] = all(of, nextMatchingQueueSql, storedName);
    }
    return queues;
  },
  countMatchingTasks: (of, { queue, afterTaskId, untilTaskId, max }) => {
    const [row] = all(of, countMatchingTasksSql, nameBytes(queue), afterTaskId, untilTaskId, max);
    if (row === undefined) return { count: 0, lastTaskId: afterTaskId };
    return { count: wholeOf(row, 'count'), lastTaskId: numberOrNone(row, 'last_id', rowReader) ?? afterTaskId };
  },
  dueRuns: (of, untilMs, max) =>
    readable(of, each(of, dueRunsSql, untilMs), max, (row) => ({ ...runKey(row), forgetMs: wholeOf(row, 'forget_ms') })),
  runIds: (of, afterRunId, max) => readable(of, each(of, runIdsSql, keyBytes(afterRunId)), max, (row) => knownRunKey(of, row)),
  runs: (of, afterRunId, max, bytesMax) => {
    const room = { bytesMax, bytesOf: ({ state }: RunRow) => state.length };
    return readable(of, each(of, runsSql, keyBytes(afterRunId)), max, (row) => runOf(row, rowReader), room);
  },
  strayRows: (of, after, max) => {
    const strays: ListedId[] = [];
    let last: ListedId | undefined;
    for (const row of each(of, strayRowsSql, after?.namespaceId ?? '', after?.runId ?? '', max)) {
      last = { namespaceId: textOf(row, 'namespace_id'), runId: textOf(row, 'run_id') };
      if (wholeOf(row, 'is_stray') === 1) strays.push(last);
    }
    return { strays, last };
  },
  rebuildDue: ({ connection, partition }) => {
    if (connection.statement(askedSql).get(rebuildName(partition)) !== undefined) return 'asked';
    const probed = windows.runIds({ connection, partition, passedOver: () => {} }, '', RUNS_PROBED);
    const isShown = ({ namespaceId, runId }: ListedId): boolean => connection.statement(shownSql).get(namespaceId, runId) !== undefined;
    return probed.length > 0 && !probed.some(isShown) ? 'lost' : undefined;
  },
};

type Value = string | number | Uint8Array;

function all({ connection, partition }: Of, sql: string, ...values: readonly Value[]): readonly SqlRow[] {
  return connection.statement(sql).all(partition, ...values);
}

function each({ connection, partition }: Of, sql: string, ...values: readonly Value[]): Iterable<SqlRow> {
  return connection.statement(sql).iterate(partition, ...values);
}

const transferTask = (row: SqlRow): TransferTaskRow => transferTaskOf(row, rowReader);
const timer = (row: SqlRow): TimerRow => timerOf(row, rowReader);
const runKey = (row: SqlRow): RunKey => runKeyOf(row, rowReader);

export function noteRebuild(connection: Connection, partition: number, isDue: boolean): void {
  connection.statement(isDue ? noteSql : endSql).run(rebuildName(partition));
}

function tasksOfQueue(
  of: Of,
  { queue, storedName }: Pick<MatchingQueue, 'queue' | 'storedName'>,
  afterTaskId: number,
  max: number,
): readonly MatchingTaskRow[] {
  const rows = all(of, matchingTasksSql, storedName, afterTaskId, max);
  return rows.map((row) => ({ taskId: wholeOf(row, 'task_id'), queue, task: bytesOf(row, 'task') }));
}

/** The filter of keys denies what is not among these. A run whose row does not say whose it is: its pointer does, found by a scan. */
function knownRunKey(of: Of, row: SqlRow): RunKey {
  try {
    return runKey(row);
  } catch (error) {
    const [pointer] = isUnreadable(error) ? all(of, pointerToSql, bytesOf(row, 'run_id')) : [];
    if (pointer === undefined) throw error;
    of.passedOver(hexOf(row), error);
    return runKey(pointer);
  }
}

function hexOf(row: SqlRow): string {
  return Buffer.from(bytesOf(row, 'run_id')).toString('hex');
}

/** Reads as many rows as are wanted, or all: a page with fewer is the last one, so what cannot be read must not count. */
function readable<Row>(
  { passedOver }: Of,
  rows: Iterable<SqlRow>,
  max: number,
  read: (row: SqlRow) => Row,
  room?: { readonly bytesMax: number; readonly bytesOf: (row: Row) => number },
): readonly Row[] {
  const found: Row[] = [];
  let bytes = 0;
  if (max <= 0) return found;
  for (const row of rows) {
    try {
      const one = read(row);
      bytes += room?.bytesOf(one) ?? 0;
      if (found.length > 0 && bytes > (room?.bytesMax ?? Infinity)) break;
      found.push(one);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      passedOver(hexOf(row), error);
    }
    if (found.length >= max) break;
  }
  return found;
}

/** Rows from the one in which the first event stands. */
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
    const found = historyRowOf(row, rowReader, range);
    bytes += found.events.length;
    if (rows.length > 0 && bytes > bytesMax) break;
    rows.push(found);
  }
  return rows;
}
