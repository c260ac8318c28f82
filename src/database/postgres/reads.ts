/**
 * What is read of a partition, each with the fence under which it was read: one statement sees one state of the database, so the fence
 * and the rows belong together.
 */
import { isUtf8 } from 'node:buffer';
import { unreadableName } from '../name-bytes.ts';
import { arrayOf, Pack } from './pack.ts';
import { quoted } from './schema-name.ts';
import { isUuid } from '../../kernel/uuid.ts';
import { DatabaseError, RUNS_PROBED } from '../../actors/database.ts';
import type { Connections, Parameter, Row, Statement } from './connections.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type {
  TrimPoint,
  Fenced,
  HistoryRange,
  HistoryRow,
  JournalId,
  Loaded,
  LoadKey,
  MatchingQueue,
  MatchingQueuePage,
  MatchingTaskCount,
  MatchingTaskRange,
  ListedId,
  MatchingTaskRow,
  RebuildReason,
  Restored,
  RunRow,
  StrayRows,
  TransferTaskRow,
  TimerRow,
  TimerWindow,
} from '../../actors/database.ts';

export class Reads {
  readonly #connections: Connections;
  readonly #statements: ReturnType<typeof statementsFor>;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#statements = statementsFor(quoted(schema));
  }

  /** Waits for a transaction in flight: what that has written is then read, and afterwards it writes nothing. */
  async restore(journal: JournalId): Promise<Restored> {
    const [row] = await this.#rows<JournalRow>(this.#statements.restore, [journal.kind, journal.partition]);
    return restored(row);
  }

  async position(journal: JournalId): Promise<Restored> {
    const [row] = await this.#rows<JournalRow>(this.#statements.position, [journal.kind, journal.partition]);
    return restored(row);
  }

  async load(journal: JournalId, keys: readonly LoadKey[]): Promise<Fenced<readonly Loaded[]>> {
    const loaded: Loaded[] = keys.map(() => ({ currentRunId: undefined, run: undefined }));
    const generation = await this.#each<LoadedRow>(this.#statements.load, journal, loadParameters(keys), (row) => {
      loaded[row.at] = loadedOf(row);
    });
    return { ...generation, rows: loaded };
  }

  async transferTasks(journal: JournalId, afterTaskId: number, max: number): Promise<Fenced<readonly TransferTaskRow[]>> {
    return await this.#fenced(this.#statements.transferTasks, journal, [bounded(afterTaskId), max], transferTaskOf);
  }

  async timers(journal: JournalId, window: TimerWindow): Promise<Fenced<readonly TimerRow[]>> {
    const { afterFireTimeMs, afterTaskId, untilMs, max } = window;
    const values = [bounded(afterFireTimeMs), bounded(afterTaskId), bounded(untilMs), max];
    return await this.#fenced(this.#statements.timers, journal, values, timerOf);
  }

  async tasksAside(
    journal: JournalId,
  ): Promise<Fenced<{ readonly transferTasks: readonly TransferTaskRow[]; readonly timers: readonly TimerRow[] }>> {
    const transferTasks: TransferTaskRow[] = [];
    const timers: TimerRow[] = [];
    const generation = await this.#each<TimerTuple & TransferTuple>(this.#statements.tasksAside, journal, [], (row) => {
      if (row.fire_ms === null) transferTasks.push(transferTaskOf(row));
      else timers.push(timerOf(row));
    });
    return { ...generation, rows: { transferTasks, timers } };
  }

  async dueRuns(journal: JournalId, untilMs: number, max: number): Promise<Fenced<readonly (RunKey & { readonly forgetMs: number })[]>> {
    return await this.#fenced(this.#statements.dueRuns, journal, [bounded(untilMs), max], (row: RunTuple) => ({
      namespaceId: row.namespace_id,
      workflowId: textOf(row.workflow_id),
      runId: row.run_id,
      forgetMs: row.forget_ms ?? 0,
    }));
  }

  async runIds(journal: JournalId, afterRunId: string, max: number): Promise<Fenced<readonly RunKey[]>> {
    const after = isUuid(afterRunId) ? afterRunId : null;
    return await this.#fenced(this.#statements.runIds, journal, [after, max], (row: RunTuple) => ({
      namespaceId: row.namespace_id,
      workflowId: textOf(row.workflow_id),
      runId: row.run_id,
    }));
  }

  async runs(journal: JournalId, afterRunId: string, max: number, bytesMax: number): Promise<Fenced<readonly RunRow[]>> {
    const after = isUuid(afterRunId) ? afterRunId : null;
    const values = [after, max, bounded(bytesMax)];
    return await this.#fenced(this.#statements.runs, journal, values, (row: RunTuple) => runOf(row, textOf(row.workflow_id)));
  }

  async strayRows(journal: JournalId, after: ListedId | undefined, max: number): Promise<Fenced<StrayRows>> {
    const strays: ListedId[] = [];
    let last: ListedId | undefined;
    const values = [after?.runId ?? null, after?.namespaceId ?? null, max];
    const generation = await this.#each<WalkedTuple>(this.#statements.strayRows, journal, values, (row) => {
      last = { namespaceId: row.namespace_id, runId: row.run_id };
      if (row.is_stray) strays.push(last);
    });
    return { ...generation, rows: { strays, last } };
  }

  async rebuildDue(journal: JournalId): Promise<Fenced<RebuildReason | undefined>> {
    let reason: RebuildReason | undefined;
    const generation = await this.#each<DueTuple>(this.#statements.rebuildDue, journal, [rebuildName(journal)], ({ is_asked, is_lost }) => {
      if (is_asked) reason = 'asked';
      else if (is_lost) reason = 'lost';
    });
    return { ...generation, rows: reason };
  }

  async matchingTasks(journal: JournalId, queue: string, afterTaskId: number, max: number): Promise<Fenced<readonly MatchingTaskRow[]>> {
    const values = [Buffer.from(queue), bounded(afterTaskId), max];
    return await this.#fenced(this.#statements.matchingTasks, journal, values, (row: TaskTuple) => ({
      taskId: row.task_id,
      queue,
      task: row.task,
    }));
  }

  async matchingQueues(journal: JournalId, page: MatchingQueuePage): Promise<Fenced<readonly MatchingQueue[]>> {
    const queues: (MatchingQueue & { readonly tasks: MatchingTaskRow[] })[] = [];
    // The name that comes next in the order of bytes.
    const fromName = page.afterName === undefined ? Buffer.alloc(0) : Buffer.concat([page.afterName, Buffer.of(0)]);
    const values = [fromName, page.tasksMax, page.tasksOfAllMax];
    const generation = await this.#each<MatchingTuple>(this.#statements.matchingQueues, journal, values, (row) => {
      let last = queues.at(-1);
      if (last === undefined || Buffer.compare(last.storedName, row.queue) !== 0) {
        last = { queue: queueOf(row.queue), storedName: row.queue, lastTaskId: row.last_id, tasks: [] };
        queues.push(last);
      }
      last.tasks.push({ taskId: row.task_id, queue: last.queue, task: row.task });
    });
    return { ...generation, rows: queues };
  }

  async countMatchingTasks(journal: JournalId, range: MatchingTaskRange): Promise<Fenced<MatchingTaskCount>> {
    const { queue, afterTaskId, untilTaskId, max } = range;
    const values = [Buffer.from(queue), bounded(afterTaskId), bounded(untilTaskId), max];
    let rows: MatchingTaskCount = { count: 0, lastTaskId: afterTaskId };
    const generation = await this.#each<CountTuple>(this.#statements.countMatchingTasks, journal, values, (row) => {
      rows = { count: row.tasks, lastTaskId: row.last_id ?? afterTaskId };
    });
    return { ...generation, rows };
  }

  async history({ partition }: JournalId, range: HistoryRange): Promise<readonly HistoryRow[]> {
    const { runId, branch, firstEventId, lastEventId, bytesMax } = range;
    if (!isUuid(runId)) return [];
    const values = [partition, runId, branch, bounded(firstEventId), bounded(lastEventId), bounded(bytesMax)];
    const rows = await this.#rows<HistoryTuple>(this.#statements.history, values);
    return rows.map((row) => ({
      runId,
      branch,
      firstEventId: row.first_event_id,
      lastEventId: row.last_event_id,
      events: row.events,
    }));
  }

  async #rows<Tuple extends Row>(statement: Statement, values: readonly Parameter[]): Promise<readonly Tuple[]> {
    return await this.#connections.use(async (session) => (await session.query<Tuple>(statement, values)).rows);
  }

  async #fenced<Tuple extends Row, Result>(
    statement: Statement,
    journal: JournalId,
    values: readonly Parameter[],
    of: (row: Tuple) => Result,
  ): Promise<Fenced<readonly Result[]>> {
    const rows: Result[] = [];
    const generation = await this.#each<Tuple>(statement, journal, values, (row) => rows.push(of(row)));
    return { ...generation, rows };
  }

  async #each<Tuple extends Row>(
    statement: Statement,
    { kind, partition }: JournalId,
    values: readonly Parameter[],
    found: (row: Tuple) => void,
  ): Promise<Pick<Fenced<unknown>, 'fence' | 'nextOffset'>> {
    return eachFenced(await this.#rows<Tuple & Generation>(statement, [kind, partition, ...values]), found);
  }
}

/** Which rows they are; `found` is called for each. Of nothing there is one row still: the fence and the offset, alone. */
export function eachFenced<Tuple extends Row>(
  rows: readonly (Tuple & Generation)[],
  found: (row: Tuple) => void,
): Pick<Fenced<unknown>, 'fence' | 'nextOffset'> {
  for (const row of rows) if (row.is_row === true) found(row);
  return { fence: rows[0]?.fence ?? 0, nextOffset: rows[0]?.of_next_offset ?? 0 };
}

/** Of the row that says that somebody has asked for it. */
export function rebuildName({ partition }: JournalId): string {
  return `list rebuild ${partition}`;
}

/** $1, $2: kind and partition of the journal; `rows` selects `true AS is_row` among its columns. */
export function fencedText(at: string, rows: string, order: string): string {
  return `SELECT j.fence, j.next_offset AS of_next_offset, r.*
FROM (SELECT 1) one LEFT JOIN ${at}.journals j ON j.kind = $1 AND j.partition = $2::integer
LEFT JOIN (${rows}) r ON true ${order}`;
}

const noId = `'00000000-0000-0000-0000-000000000000'`;
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
  WHERE partition = $2 AND run_id > coalesce($3::uuid, '00000000-0000-0000-0000-000000000000') ORDER BY run_id LIMIT $4::bigint`,
      'ORDER BY r.run_id',
    ),
    runs: fenced(
      `SELECT true AS is_row, run_id, namespace_id, workflow_id, status, forget_ms, state
  FROM (SELECT *, sum(bytes) OVER (ORDER BY run_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
  FROM (SELECT *, octet_length(state) AS bytes FROM ${at}.runs
  WHERE partition = $2 AND run_id > coalesce($3::uuid, '00000000-0000-0000-0000-000000000000') ORDER BY run_id LIMIT $4::bigint) page) summed
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
 * `retiredPointers` of checkpoint-writer.ts: as a constant that the statistics do not know it makes the planner scan it once for each key.
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

/** From name to name through the index: what is behind the first tasks of a queue is not looked at. */
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

/** From the row that holds the first event (rows of a run do not overlap); as many as fit, by their sizes alone. */
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
    const runId = key.kind === 'run' ? (isUuid(key.runId) ? key.runId : noRunId) : undefined;
    put(runs, [at, key.namespaceId, workflowIdAt, pack.length - before, runId]);
  }
  return [pack.bytes(), ...runs.map(arrayOf), ...childStarts.map(arrayOf)];
}

/** Of no run. */
const noRunId = '00000000-0000-0000-0000-000000000000';

type LoadedRow = { readonly at: number; readonly current_run_id: string | null } & (RunTuple | { readonly run_id: null });

function loadedOf(row: LoadedRow): Loaded {
  const run = row.run_id === null ? undefined : runOf(row, textOf(row.workflow_id));
  return { currentRunId: row.current_run_id ?? undefined, run };
}

type RunTuple = {
  readonly run_id: string;
  readonly namespace_id: string;
  readonly workflow_id: Uint8Array;
  readonly status: number;
  readonly forget_ms: number | null;
  readonly state: Uint8Array;
};

function runOf(row: RunTuple, workflowId: string): RunRow {
  const { run_id: runId, namespace_id: namespaceId, status, state, forget_ms: forgetMs } = row;
  return { namespaceId, workflowId, runId, status, state, forgetMs: forgetMs ?? undefined };
}

/** Of the rows; null: nobody has restored, or written. */
export type Generation = { readonly fence: number | null; readonly of_next_offset: number | null; readonly is_row: boolean | null };
type TaskTuple = { readonly task_id: number; readonly task: Uint8Array; readonly aside: boolean };
type TransferTuple = TaskTuple & { readonly at_matching: boolean };
type TimerTuple = TaskTuple & { readonly fire_ms: number | null };
type MatchingTuple = { readonly task_id: number; readonly last_id: number; readonly queue: Uint8Array; readonly task: Uint8Array };
type CountTuple = { readonly tasks: number; readonly last_id: number | null };
type WalkedTuple = { readonly namespace_id: string; readonly run_id: string; readonly is_stray: boolean };
type DueTuple = { readonly is_asked: boolean; readonly is_lost: boolean };

type HistoryTuple = { readonly first_event_id: number; readonly last_event_id: number; readonly events: Uint8Array };

function transferTaskOf({ task_id: taskId, task, aside, at_matching: atMatching }: TransferTuple): TransferTaskRow {
  return { taskId, task, aside, atMatching };
}

function timerOf({ task_id: taskId, task, aside, fire_ms: fireMs }: TimerTuple): TimerRow {
  return { taskId, task, aside, fireTimeMs: fireMs ?? 0 };
}

type JournalRow = {
  readonly fence: number;
  readonly epoch: number | null;
  readonly sequence: number;
  readonly next_offset: number;
  readonly last_offset: number;
  readonly time_ms: number;
  readonly schema: number;
  readonly counters: Uint8Array;
  /** An earlier version did not count bytes. */
  readonly trim_points: readonly (Omit<TrimPoint, 'bytes'> & Partial<TrimPoint>)[];
};

function restored(row: JournalRow | undefined): Restored {
  if (row === undefined) return { fence: 0, position: undefined };
  const { fence, epoch, sequence, next_offset: nextOffset, last_offset: lastOffset, time_ms: timeMs, schema, counters } = row;
  if (epoch === null) return { fence, position: undefined };
  if (!Array.isArray(row.trim_points)) {
    throw new DatabaseError('corrupt', 'the row of a journal is damaged: its trim points are none; restore a backup');
  }
  const trimPoints = row.trim_points.map((point) => ({ bytes: 0, ...point }));
  return { fence, position: { epoch, sequence, nextOffset, lastOffset, timeMs, schema, counters, trimPoints } };
}

/** Infinities too are bounds that a caller may name. */
function bounded(value: number): number {
  return Math.trunc(Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value)));
}

function queueOf(storedName: Uint8Array): string {
  return isUtf8(storedName) ? textOf(storedName) : unreadableName(storedName);
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
