/** Reads of a partition, each one statement with its fence: it sees one state of the database, so fence and rows belong together. */
import { readableName, unreadableName } from '../tables/name-bytes.ts';
import { numberOrNone, type RowReader } from '../tables/row-reader.ts';
import { historyRowOf, nobodysId, rebuildName, restoredOf, runKeyOf, runOf, timerOf, transferTaskOf } from '../tables/state-rows.ts';
import { arrayOf, Pack } from './pack.ts';
import { quoted } from './names.ts';
import { numberOrBigint } from '../../kernel/number-or-bigint.ts';
import { isUuid } from '../../kernel/uuid.ts';
import { DatabaseError, RUNS_PROBED } from '../database-port.ts';
import type { Connections, Parameter, Row, Statement } from './connections.ts';
import type { Database, Fenced, JournalId, ListedId, Loaded, LoadKey, MatchingQueue, MatchingTaskRow } from '../database-port.ts';
import type { RebuildReason, Restored, StatePort, TimerRow, TransferTaskRow, TrimPoint } from '../database-port.ts';

/** PostgreSQL has checked the types when they were written. */
export const rowReader: RowReader<Row> = {
  id: (row, column) => row[column] as string,
  text: (row, column) => row[column] as string,
  number: (row, column) => row[column] as number,
  whole: (row, column) => numberOrBigint(row[column] as string),
  boolean: (row, column) => row[column] as boolean,
  bytes: (row, column) => row[column] as Uint8Array,
  isNull: (row, column) => row[column] === null,
};

type StateReads = Omit<StatePort, 'write'> & Pick<Database, 'strayRows' | 'rebuildDue'>;

export function stateReads(connections: Connections, schema: string): StateReads {
  const statements = statementsFor(quoted(schema));
  const rowsOf = (statement: Statement, values: readonly Parameter[]): Promise<readonly Row[]> =>
    connections.use(async (session) => (await session.query<Row>(statement, values)).rows);
  const found = async (
    statement: Statement,
    { kind, partition }: JournalId,
    values: readonly Parameter[],
  ): Promise<Fenced<readonly Row[]>> => fencedRows(await rowsOf(statement, [kind, partition, ...values]));
  const each = async <Result>(
    statement: Statement,
    journal: JournalId,
    values: readonly Parameter[],
    of: (row: Row) => Result,
  ): Promise<Fenced<readonly Result[]>> => {
    const { rows, ...generation } = await found(statement, journal, values);
    return { ...generation, rows: rows.map(of) };
  };
  return {
    // Waits for a transaction in flight: what that has written is then read, and afterwards it writes nothing.
    restore: async ({ kind, partition }) => restored(await rowsOf(statements.restore, [kind, partition])),
    position: async ({ kind, partition }) => restored(await rowsOf(statements.position, [kind, partition])),
    load: async (journal, keys) => {
      const loaded: Loaded[] = keys.map(() => ({ currentRunId: undefined, run: undefined }));
      const { rows, ...generation } = await found(statements.load, journal, loadParameters(keys));
      for (const row of rows) loaded[rowReader.number(row, 'at')] = loadedOf(row);
      return { ...generation, rows: loaded };
    },
    history: async ({ partition }, range) => {
      const { runId, branch, firstEventId, lastEventId, bytesMax } = range;
      if (!isUuid(runId)) return [];
      const values = [partition, runId, branch, bounded(firstEventId), bounded(lastEventId), bounded(bytesMax)];
      return (await rowsOf(statements.history, values)).map((row) => historyRowOf(row, rowReader, range));
    },
    transferTasks: (journal, afterTaskId, max) => each(statements.transferTasks, journal, [bounded(afterTaskId), max], transferTask),
    timers: (journal, { afterFireTimeMs, afterTaskId, untilMs, max }) =>
      each(statements.timers, journal, [bounded(afterFireTimeMs), bounded(afterTaskId), bounded(untilMs), max], timer),
    tasksAside: async (journal) => {
      const { rows, ...generation } = await found(statements.tasksAside, journal, []);
      const isTimer = (row: Row): boolean => !rowReader.isNull(row, 'fire_ms');
      const transferTasks = rows.filter((row) => !isTimer(row)).map(transferTask);
      return { ...generation, rows: { transferTasks, timers: rows.filter(isTimer).map(timer) } };
    },
    dueRuns: (journal, untilMs, max) =>
      each(statements.dueRuns, journal, [bounded(untilMs), max], (row) => ({
        ...runKeyOf(row, rowReader),
        forgetMs: rowReader.number(row, 'forget_ms'),
      })),
    runIds: (journal, afterRunId, max) => each(statements.runIds, journal, [idOrNull(afterRunId), max], (row) => runKeyOf(row, rowReader)),
    runs: (journal, afterRunId, max, bytesMax) =>
      each(statements.runs, journal, [idOrNull(afterRunId), max, bounded(bytesMax)], (row) => runOf(row, rowReader)),
    strayRows: async (journal, after, max) => {
      const { rows, ...generation } = await found(statements.strayRows, journal, [after?.runId, after?.namespaceId, max]);
      const strays = rows.filter((row) => rowReader.boolean(row, 'is_stray')).map(listedId);
      return { ...generation, rows: { strays, last: rows.map(listedId).at(-1) } };
    },
    rebuildDue: async (journal) => {
      const { rows, ...generation } = await found(statements.rebuildDue, journal, [rebuildName(journal.partition)]);
      const is = (column: string): boolean => rows.some((row) => rowReader.boolean(row, column));
      const reason: RebuildReason | undefined = is('is_asked') ? 'asked' : is('is_lost') ? 'lost' : undefined;
      return { ...generation, rows: reason };
    },
    matchingTasks: (journal, queue, afterTaskId, max) =>
      each(statements.matchingTasks, journal, [Buffer.from(queue), bounded(afterTaskId), max], (row) => matchingTask(row, queue)),
    matchingQueues: async (journal, { afterName, tasksMax, tasksOfAllMax }) => {
      const queues: (MatchingQueue & { readonly tasks: MatchingTaskRow[] })[] = [];
      // The name that comes next in the order of bytes.
      const fromName = afterName === undefined ? Buffer.alloc(0) : Buffer.concat([afterName, Buffer.of(0)]);
      const { rows, ...generation } = await found(statements.matchingQueues, journal, [fromName, tasksMax, tasksOfAllMax]);
      for (const row of rows) {
        const storedName = rowReader.bytes(row, 'queue');
        let last = queues.at(-1);
        if (last === undefined || Buffer.compare(last.storedName, storedName) !== 0) {
          const queue = readableName(storedName) ?? unreadableName(storedName);
          last = { queue, storedName, lastTaskId: rowReader.number(row, 'last_id'), tasks: [] };
          queues.push(last);
        }
        last.tasks.push(matchingTask(row, last.queue));
      }
      return { ...generation, rows: queues };
    },
    countMatchingTasks: async (journal, { queue, afterTaskId, untilTaskId, max }) => {
      const values = [Buffer.from(queue), bounded(afterTaskId), bounded(untilTaskId), max];
      const { rows, ...generation } = await found(statements.countMatchingTasks, journal, values);
      const [row] = rows;
      if (row === undefined) return { ...generation, rows: { count: 0, lastTaskId: afterTaskId } };
      const lastTaskId = numberOrNone(row, 'last_id', rowReader) ?? afterTaskId;
      return { ...generation, rows: { count: rowReader.number(row, 'tasks'), lastTaskId } };
    },
  };
}

/** Where nothing is found one row still has the fence and the offset; they are null where nobody has restored, or written. */
export function fencedRows(rows: readonly Row[]): Fenced<readonly Row[]> {
  const [first = {}] = rows;
  const { fence, of_next_offset: nextOffset } = first as { readonly fence?: number | null; readonly of_next_offset?: number | null };
  return { fence: fence ?? 0, nextOffset: nextOffset ?? 0, rows: rows.filter((row) => row['is_row'] === true) };
}

/** $1, $2: kind and partition of the journal; `rows` selects `true AS is_row` among its columns. */
export function fencedText(at: string, rows: string, order: string): string {
  return `SELECT j.fence, j.next_offset AS of_next_offset, r.*
FROM (SELECT 1) one LEFT JOIN ${at}.journals j ON j.kind = $1 AND j.partition = $2::integer
LEFT JOIN (${rows}) r ON true ${order}`;
}

const noId = `'${nobodysId}'`;
const journalColumns = 'fence, epoch, sequence, next_offset, last_offset, time_ms, schema, counters, trim_points';

function statementsFor(at: string) {
  const fenced = (rows: string, order = ''): Statement => ({ text: fencedText(at, rows, order) });
  return {
    restore: {
      text: `INSERT INTO ${at}.journals AS j (kind, partition, fence) VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
ON CONFLICT (kind, partition) DO UPDATE SET fence = greatest(j.fence + 1, excluded.fence)
RETURNING ${journalColumns}`,
    },
    position: { text: `SELECT ${journalColumns} FROM ${at}.journals WHERE kind = $1 AND partition = $2` },
    load: fenced(loadText(at)),
    transferTasks: fenced(
      `SELECT true AS is_row, task_id, aside, at_matching, task FROM ${at}.transfer_tasks
  WHERE partition = $2 AND task_id > $3::bigint AND NOT aside AND NOT at_matching ORDER BY task_id LIMIT $4::bigint`,
      'ORDER BY r.task_id',
    ),
    timers: fenced(
      `SELECT true AS is_row, task_id, fire_ms, aside, task FROM ${at}.timers
  WHERE partition = $2 AND NOT aside AND (fire_ms, task_id) > ($3::bigint, $4::bigint) AND fire_ms <= $5::bigint
  ORDER BY fire_ms, task_id LIMIT $6::bigint`,
      'ORDER BY r.fire_ms, r.task_id',
    ),
    tasksAside: fenced(
      `SELECT true AS is_row, task_id, NULL::bigint AS fire_ms, aside, at_matching, task FROM ${at}.transfer_tasks WHERE partition = $2 AND aside
  UNION ALL
  SELECT true, task_id, fire_ms, aside, false, task FROM ${at}.timers WHERE partition = $2 AND aside`,
      'ORDER BY r.task_id',
    ),
    dueRuns: fenced(
      `SELECT true AS is_row, run_id, namespace_id, workflow_id, forget_ms FROM ${at}.runs
  WHERE partition = $2 AND forget_ms <= $3::bigint ORDER BY forget_ms, run_id LIMIT $4::bigint`,
      'ORDER BY r.forget_ms, r.run_id',
    ),
    runIds: fenced(
      `SELECT true AS is_row, run_id, namespace_id, workflow_id FROM ${at}.runs
  WHERE partition = $2 AND run_id > coalesce($3::uuid, ${noId}) ORDER BY run_id LIMIT $4::bigint`,
      'ORDER BY r.run_id',
    ),
    runs: fenced(
      `SELECT true AS is_row, run_id, namespace_id, workflow_id, status, forget_ms, state
  FROM (SELECT *, sum(bytes) OVER (ORDER BY run_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
  FROM (SELECT *, octet_length(state) AS bytes FROM ${at}.runs
  WHERE partition = $2 AND run_id > coalesce($3::uuid, ${noId}) ORDER BY run_id LIMIT $4::bigint) page) summed
  WHERE coalesce(bytes_before, 0) + bytes <= $5::bigint OR bytes_before IS NULL`,
      'ORDER BY r.run_id',
    ),
    strayRows: fenced(
      `SELECT true AS is_row, v.namespace_id, v.run_id, v.shard = $2 + 1
    AND NOT EXISTS (SELECT FROM ${at}.runs x WHERE x.partition = $2 AND x.run_id = v.run_id) AS is_stray
  FROM ${at}.visibility v
  WHERE (v.run_id, v.namespace_id) > (coalesce($3::uuid, ${noId}), coalesce($4::uuid, ${noId})) ORDER BY v.run_id, v.namespace_id LIMIT $5::bigint`,
      'ORDER BY r.run_id, r.namespace_id',
    ),
    rebuildDue: fenced(
      `WITH probed AS (SELECT namespace_id, run_id FROM ${at}.runs WHERE partition = $2 ORDER BY run_id LIMIT ${RUNS_PROBED})
  SELECT true AS is_row, EXISTS (SELECT FROM ${at}.perdure WHERE name = $3) AS is_asked, EXISTS (SELECT FROM probed) AND NOT EXISTS (
    SELECT FROM probed p JOIN ${at}.visibility v ON v.run_id = p.run_id AND v.namespace_id = p.namespace_id) AS is_lost`,
    ),
    matchingTasks: fenced(
      `SELECT true AS is_row, task_id, task FROM ${at}.matching_tasks
  WHERE partition = $2 AND queue = $3::bytea AND task_id > $4::bigint ORDER BY task_id LIMIT $5::bigint`,
      'ORDER BY r.task_id',
    ),
    matchingQueues: fenced(matchingQueuesText(at), 'ORDER BY r.queue, r.task_id'),
    countMatchingTasks: fenced(
      `SELECT true AS is_row, count(*) AS tasks, max(task_id) AS last_id FROM (SELECT task_id FROM ${at}.matching_tasks
  WHERE partition = $2 AND queue = $3::bytea AND task_id > $4::bigint AND task_id <= $5::bigint ORDER BY task_id LIMIT $6::bigint) t`,
    ),
    history: { text: historyText(at) },
  };
}

/**
 * One statement for all kinds of keys; `at` is the key's place. Bytes of workflow ids stand in $3. The partition is joined as a column, see
 * `retiredPointers` of checkpoint-writes.ts: as a constant that the statistics do not know it makes the planner scan it once for each key.
 */
function loadText(at: string): string {
  return `SELECT true AS is_row, k.at, e.run_id AS current_run_id, x.run_id, x.namespace_id, x.workflow_id, x.status, x.forget_ms, x.state
  FROM (SELECT k.*, $2::integer AS partition, substring($3::bytea, w_at, w_length) AS workflow_id
    FROM unnest($4::integer[], $5::uuid[], $6::integer[], $7::integer[], $8::uuid[]) AS k(at, namespace_id, w_at, w_length, run_id)
    OFFSET 0) k
  LEFT JOIN ${at}.executions e ON e.partition = k.partition AND e.namespace_id = k.namespace_id AND e.workflow_id = k.workflow_id
  LEFT JOIN ${at}.runs x ON x.partition = k.partition AND x.run_id = coalesce(k.run_id, e.run_id)
    AND (k.run_id IS NULL OR (x.namespace_id = k.namespace_id AND x.workflow_id = k.workflow_id))
  UNION ALL
  SELECT true, k.at, c.run_id, NULL, NULL, NULL, NULL, NULL, NULL
  FROM (SELECT k.*, $2::integer AS partition
    FROM unnest($9::integer[], $10::uuid[], $11::bigint[]) AS k(at, parent_run_id, initiated_event_id) OFFSET 0) k
  JOIN ${at}.child_starts c ON c.partition = k.partition AND c.parent_run_id = k.parent_run_id AND c.initiated_event_id = k.initiated_event_id`;
}

/** Goes from name to name through the index: what is behind the first tasks of a queue is not looked at. */
function matchingQueuesText(at: string): string {
  const next = (where: string): string => `LATERAL (SELECT queue FROM ${at}.matching_tasks
      WHERE partition = $2 AND ${where} ORDER BY queue LIMIT 1) n`;
  const ofQueue = (columns: string, queue: string): string =>
    `SELECT ${columns} FROM ${at}.matching_tasks WHERE partition = $2 AND queue = ${queue}`;
  const taken = `LATERAL (SELECT count(*) AS tasks FROM (${ofQueue('1', 'n.queue')} LIMIT $4::bigint) f) c`;
  return `WITH RECURSIVE q AS (
    SELECT n.queue, c.tasks FROM ${next('queue >= $3::bytea')}, ${taken}
    UNION ALL
    SELECT n.queue, q.tasks + c.tasks FROM q, ${next('queue > q.queue')}, ${taken} WHERE q.tasks < $5::bigint)
  SELECT true AS is_row, q.queue, l.task_id AS last_id, f.task_id, f.task FROM q,
    LATERAL (${ofQueue('task_id', 'q.queue')} ORDER BY task_id DESC LIMIT 1) l,
    LATERAL (${ofQueue('task_id, task', 'q.queue')} ORDER BY task_id LIMIT $4::bigint) f`;
}

/** Rows from the one that holds the first event (those of a run do not overlap), as many as fit, by their sizes alone. */
function historyText(at: string): string {
  return `SELECT h.first_event_id, h.last_event_id, h.events
FROM (SELECT first_event_id, row_number() OVER w AS nth, sum(octet_length(events)) OVER w AS bytes
  FROM ${at}.history
  WHERE partition = $1 AND run_id = $2::uuid AND branch = $3 AND first_event_id <= $5::bigint AND last_event_id >= $4::bigint
    AND first_event_id >= coalesce((SELECT max(first_event_id) FROM ${at}.history
      WHERE partition = $1 AND run_id = $2::uuid AND branch = $3 AND first_event_id <= $4::bigint), $4::bigint)
  WINDOW w AS (ORDER BY first_event_id)) k
JOIN ${at}.history h ON h.partition = $1 AND h.run_id = $2::uuid AND h.branch = $3 AND h.first_event_id = k.first_event_id
WHERE k.nth = 1 OR k.bytes <= $6::bigint
ORDER BY h.first_event_id`;
}

function loadParameters(keys: readonly LoadKey[]): readonly Parameter[] {
  const pack = new Pack();
  const runs: (number | string | undefined)[][] = [[], [], [], [], []];
  const childStarts: (number | string)[][] = [[], [], []];
  const put = (arrays: (number | string | undefined)[][], values: readonly (number | string | undefined)[]): void =>
    values.forEach((value, index) => arrays[index]?.push(value));
  for (const [at, key] of keys.entries()) {
    // What is no UUID names nothing that is here.
    if (key.kind === 'childStart') {
      if (isUuid(key.parentRunId) && Number.isSafeInteger(key.initiatedEventId))
        put(childStarts, [at, key.parentRunId, key.initiatedEventId]);
      continue;
    }
    if (!isUuid(key.namespaceId)) continue;
    const before = pack.length;
    const workflowIdAt = pack.addText(key.workflowId);
    const runId = key.kind === 'run' ? (isUuid(key.runId) ? key.runId : nobodysId) : undefined;
    put(runs, [at, key.namespaceId, workflowIdAt, pack.length - before, runId]);
  }
  return [pack.bytes(), ...runs.map(arrayOf), ...childStarts.map(arrayOf)];
}

function restored([row]: readonly Row[]): Restored {
  return restoredOf(row, rowReader, trimPointsOf);
}

function trimPointsOf({ trim_points: points }: Row): readonly TrimPoint[] {
  if (Array.isArray(points)) return points as readonly TrimPoint[];
  throw new DatabaseError('corrupt', 'the row of a journal is damaged: its trim points are none; restore a backup');
}

function loadedOf(row: Row): Loaded {
  const currentRunId = rowReader.isNull(row, 'current_run_id') ? undefined : rowReader.id(row, 'current_run_id');
  return { currentRunId, run: rowReader.isNull(row, 'run_id') ? undefined : runOf(row, rowReader) };
}

const transferTask = (row: Row): TransferTaskRow => transferTaskOf(row, rowReader);
const timer = (row: Row): TimerRow => timerOf(row, rowReader);

function listedId(row: Row): ListedId {
  return { namespaceId: rowReader.id(row, 'namespace_id'), runId: rowReader.id(row, 'run_id') };
}

function matchingTask(row: Row, queue: string): MatchingTaskRow {
  return { taskId: rowReader.number(row, 'task_id'), queue, task: rowReader.bytes(row, 'task') };
}

/** What is no UUID is before all of them. */
function idOrNull(id: string): string | null {
  return isUuid(id) ? id : null;
}

/** Infinities too are bounds that a caller may name. */
function bounded(value: number): number {
  return Math.trunc(Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value)));
}
