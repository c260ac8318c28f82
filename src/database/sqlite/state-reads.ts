/** What a partition's actor reads of its rows. Each is one moment's; the caller reads the fence of the same moment beside it. */
import { DatabaseError } from '../../actors/database.ts';
import { nameBytes, nameText, readableName, unreadableName } from '../name-bytes.ts';
import { bytesOf, idOf, keyBytes, optionalWholeOf, wholeOf, type SqlRow } from './values.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type {
  HistoryRange,
  HistoryRow,
  Loaded,
  LoadKey,
  MatchingQueue,
  MatchingQueuePage,
  MatchingTaskCount,
  MatchingTaskRange,
  MatchingTaskRow,
  RunRow,
  TaskRow,
  TimerRow,
  TimerWindow,
  TransferTaskRow,
} from '../../actors/database.ts';
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
  const run = row === undefined ? undefined : orUnreadable(() => runOf(row));
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

/** Of a row that does not say which run it names. */
const nobodysId = '00000000-0000-0000-0000-000000000000';

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

export function transferTasks(connection: Connection, partition: number, afterTaskId: number, max: number): readonly TransferTaskRow[] {
  return connection.statement(transferTasksSql).all(partition, afterTaskId, max).map(transferTaskOf);
}

export function timers(connection: Connection, partition: number, window: TimerWindow): readonly TimerRow[] {
  const { afterFireTimeMs, afterTaskId, untilMs, max } = window;
  return connection.statement(timersSql).all(partition, afterFireTimeMs, afterTaskId, untilMs, max).map(timerOf);
}

export function tasksAside(
  connection: Connection,
  partition: number,
): { readonly transferTasks: readonly TransferTaskRow[]; readonly timers: readonly TimerRow[] } {
  return {
    transferTasks: connection.statement(transferTasksAsideSql).all(partition).map(transferTaskOf),
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
  return tasksOfQueue(connection, partition, { queue, storedName: nameBytes(queue) }, afterTaskId, max);
}

function tasksOfQueue(
  connection: Connection,
  partition: number,
  { queue, storedName }: Pick<MatchingQueue, 'queue' | 'storedName'>,
  afterTaskId: number,
  max: number,
): readonly MatchingTaskRow[] {
  const rows = connection.statement(matchingTasksSql).all(partition, storedName, afterTaskId, max);
  return rows.map((row) => ({ taskId: wholeOf(row, 'task_id'), queue, task: bytesOf(row, 'task') }));
}

/** From name to name through the index: what is behind the first tasks of a queue is not looked at. */
export function matchingQueues(connection: Connection, partition: number, page: MatchingQueuePage): readonly MatchingQueue[] {
  const { afterName, tasksMax, tasksOfAllMax } = page;
  const queues: MatchingQueue[] = [];
  const next = (after: Uint8Array) => connection.statement(nextMatchingQueueSql).get(partition, after);
  let found = afterName === undefined ? connection.statement(firstMatchingQueueSql).get(partition) : next(afterName);
  for (let taken = 0; found !== undefined && taken < tasksOfAllMax;) {
    const storedName = bytesOf(found, 'queue');
    const queue = readableName(storedName) ?? unreadableName(storedName);
    const tasks = tasksOfQueue(connection, partition, { queue, storedName }, -1, tasksMax);
    const last = connection.statement(lastMatchingTaskSql).get(partition, storedName);
    if (last !== undefined) queues.push({ queue, storedName, lastTaskId: wholeOf(last, 'task_id'), tasks });
    taken += tasks.length;
    found = next(storedName);
  }
  return queues;
}

export function countMatchingTasks(connection: Connection, partition: number, range: MatchingTaskRange): MatchingTaskCount {
  const { queue, afterTaskId, untilTaskId, max } = range;
  const row = connection.statement(countMatchingTasksSql).get(partition, nameBytes(queue), afterTaskId, untilTaskId, max);
  if (row === undefined) return { count: 0, lastTaskId: afterTaskId };
  return { count: wholeOf(row, 'count'), lastTaskId: optionalWholeOf(row, 'last_id') ?? afterTaskId };
}

const dueRunsSql = `
  SELECT run_id, namespace_id, workflow_id, forget_ms FROM runs
  WHERE partition = ? AND forget_ms IS NOT NULL AND forget_ms <= ? ORDER BY forget_ms, run_id`;
const runIdsSql = `
  SELECT run_id, namespace_id, workflow_id FROM runs WHERE partition = ? AND run_id > ? ORDER BY run_id`;
const pointerToSql = 'SELECT run_id, namespace_id, workflow_id FROM executions WHERE partition = ? AND run_id = ?';
const runsSql = 'SELECT * FROM runs WHERE partition = ? AND run_id > ? ORDER BY run_id';

export function dueRuns(
  connection: Connection,
  partition: number,
  untilMs: number,
  max: number,
  passedOver: PassedOver,
): readonly (RunKey & { readonly forgetMs: number })[] {
  const rows = connection.statement(dueRunsSql).iterate(partition, untilMs);
  return readable(rows, max, (row) => ({ ...runIdOf(row), forgetMs: wholeOf(row, 'forget_ms') }), passedOver);
}

export function runIds(
  connection: Connection,
  partition: number,
  afterRunId: string,
  max: number,
  passedOver: PassedOver,
): readonly RunKey[] {
  const rows = connection.statement(runIdsSql).iterate(partition, keyBytes(afterRunId));
  return readable(rows, max, (row) => knownRunIdOf(connection, partition, row, passedOver), passedOver);
}

/**
 * The filter of keys is made of these, and denies whatever is not among them. So a workflow whose newest run has a row that does not say whose it
 * is must not be missing: its pointer says it, for which the table is gone through.
 */
function knownRunIdOf(connection: Connection, partition: number, row: SqlRow, passedOver: PassedOver): RunKey {
  try {
    return runIdOf(row);
  } catch (error) {
    const pointer = isUnreadable(error) ? connection.statement(pointerToSql).get(partition, bytesOf(row, 'run_id')) : undefined;
    if (pointer === undefined) throw error;
    passedOver(hexOf(row), error);
    return runIdOf(pointer);
  }
}

function hexOf(row: SqlRow): string {
  return Buffer.from(bytesOf(row, 'run_id')).toString('hex');
}

export function runs(
  connection: Connection,
  partition: number,
  afterRunId: string,
  { max, bytesMax }: { readonly max: number; readonly bytesMax: number },
  passedOver: PassedOver,
): readonly RunRow[] {
  const room = { bytesMax, bytesOf: ({ state }: RunRow) => state.length };
  return readable(connection.statement(runsSql).iterate(partition, keyBytes(afterRunId)), max, runOf, passedOver, room);
}

/** A row that cannot be read, as far as it says what it is. */
export type PassedOver = (runId: string, error: unknown) => void;

/** As many as are wanted, or all: a page with fewer is the last one, so what cannot be read must not count. */
function readable<Row>(
  rows: Iterable<SqlRow>,
  max: number,
  read: (row: SqlRow) => Row,
  passedOver: PassedOver,
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

function runIdOf(row: SqlRow): RunKey {
  return { namespaceId: idOf(row, 'namespace_id'), workflowId: nameText(bytesOf(row, 'workflow_id')), runId: idOf(row, 'run_id') };
}

function taskOf(row: SqlRow): TaskRow {
  return { taskId: wholeOf(row, 'task_id'), task: bytesOf(row, 'task'), aside: wholeOf(row, 'aside') === 1 };
}

function transferTaskOf(row: SqlRow): TransferTaskRow {
  return { ...taskOf(row), atMatching: wholeOf(row, 'at_matching') === 1 };
}

function timerOf(row: SqlRow): TimerRow {
  return { ...taskOf(row), fireTimeMs: wholeOf(row, 'fire_ms') };
}
