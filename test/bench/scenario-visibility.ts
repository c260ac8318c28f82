/**
 * What List and Count take where very many workflows are shown: queries as clients write them, through the parser and the database port, in
 * SQLite on a file and in PostgreSQL. No server and no gRPC: what is measured is what a query costs the database.
 *
 *     rows, as a shard flushes them ─▶ each query: once cold, then again and again ─▶ a shard's flushes and loads while lists run
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Database, Fence } from '../../src/projections/database-port.ts';
import { openPostgres } from '../../src/projections/postgres/open-postgres.ts';
import { openSqlite } from '../../src/projections/sqlite/open-sqlite.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { parseQuery } from '../../src/projections/visibility/filter/parse-query.ts';
import { queryAttributes } from '../../src/projections/visibility/columns.ts';
import type { SlotValue, VisibilityRow } from '../../src/projections/visibility/row.ts';
import { postgresOptions, startPostgres } from '../postgres/postgres.ts';
import { figure, percentile, type Figure } from './figures.ts';

const namespaceId = '5b0a3c1e-0000-4000-8000-000000000001';
const journal = { kind: 'history', partition: 0 } as const;
const rowsPerFlush = 2_000;
const repetitions = 7;
const pageRows = 1_000;
const startedMs = 1_780_000_000_000;

/** `IndexedValueType` and slot of each. */
const attributes = {
  types: new Map([
    ['Region', 2],
    ['Tier', 2],
    ['Customer', 2],
    ['Amount', 3],
    ['DueDate', 6],
    ['Tags', 7],
    ['Note', 1],
  ]),
  slots: new Map([
    ['Region', 'Keyword01'],
    ['Tier', 'Keyword02'],
    ['Customer', 'Keyword03'],
    ['Amount', 'Int01'],
    ['DueDate', 'Datetime01'],
    ['Tags', 'KeywordList01'],
    ['Note', 'Text01'],
  ]),
};

type Asked = { readonly name: string; readonly query: string; readonly counts?: boolean };

const asked: readonly Asked[] = [
  { name: 'all', query: '' },
  { name: 'selective keyword', query: `Customer = 'customer-42'` },
  { name: 'selective keyword, running', query: `Customer = 'customer-42' AND ExecutionStatus = 'Running'` },
  { name: 'one workflow id', query: `WorkflowId = 'order-777'` },
  { name: 'dense keyword', query: `Region = 'north'` },
  { name: 'dense keyword and status', query: `Region = 'north' AND ExecutionStatus = 'Completed'` },
  { name: 'status, running', query: `ExecutionStatus = 'Running'` },
  { name: 'type and status', query: `WorkflowType = 'Type3' AND ExecutionStatus = 'Failed'` },
  { name: 'two dense, disjoint', query: `Region = 'north' AND Tier = 'silver'` },
  { name: 'dense or dense', query: `Region = 'north' OR Tier = 'silver'` },
  { name: 'selective range', query: 'Amount BETWEEN 5000 AND 5100' },
  { name: 'dense range', query: 'Amount > 5000' },
  { name: 'closed within a minute', query: `CloseTime BETWEEN '2026-05-28T20:30:00.001Z' AND '2026-05-28T20:31:00.001Z'` },
  { name: 'started within a minute', query: `StartTime BETWEEN '2026-05-28T20:30:00.001Z' AND '2026-05-28T20:31:00.001Z'` },
  { name: 'list contains, dense', query: `Tags = 'urgent'` },
  { name: 'list contains, rare', query: `Tags = 'tag-7'` },
  { name: 'list lacks, dense', query: `Tags != 'urgent'` },
  { name: 'text word, dense', query: `Note = 'shipped'` },
  { name: 'text word, rare', query: `Note = 'street77'` },
  { name: 'prefix, rare', query: `WorkflowId STARTS_WITH 'order-777'` },
  { name: 'prefix, dense', query: `WorkflowId STARTS_WITH 'order-'` },
  { name: 'prefix of a keyword', query: `Customer STARTS_WITH 'customer-42'` },
  { name: 'nothing of a dense kind', query: `Region = 'north' AND HistoryLength > 1000` },
  { name: 'count of all', query: '', counts: true },
  { name: 'count, dense keyword', query: `Region = 'north'`, counts: true },
  { name: 'count, running', query: `ExecutionStatus = 'Running'`, counts: true },
  { name: 'count, selective keyword', query: `Customer = 'customer-42'`, counts: true },
  { name: 'count by status', query: 'GROUP BY ExecutionStatus', counts: true },
  { name: 'count by status, dense keyword', query: `Region = 'north' GROUP BY ExecutionStatus`, counts: true },
];

/** `on`: `sqlite` or `postgres`. */
export async function visibilityRound(on: string, rows: number): Promise<readonly Figure[]> {
  if (on === 'sqlite') return withSqlite((database) => measured(database, rows, async () => {}));
  if (on === 'postgres') return withPostgres(rows);
  throw new Error(`--databases takes sqlite, postgres; found ${on}`);
}

async function withSqlite(use: (database: Database) => Promise<readonly Figure[]>): Promise<readonly Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-visibility-'));
  const database = openSqlite({ filename: join(folder, 'x.db-state') });
  try {
    return await use(database);
  } finally {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function withPostgres(rows: number): Promise<readonly Figure[]> {
  const server = await startPostgres({ shared_buffers: '256MB', max_wal_size: '4GB' });
  const database = openPostgres(postgresOptions(server, { timeoutMs: 60_000 }), silentLogger);
  try {
    // As autovacuum does of its own accord within a minute or two.
    return await measured(database, rows, () => server.run('VACUUM ANALYZE').then(() => {}));
  } finally {
    await database.close();
    await server.stop();
  }
}

async function measured(database: Database, rows: number, whenFilled: () => Promise<void>): Promise<readonly Figure[]> {
  const { fence } = await database.restore(journal);
  const figures = [await fill(database, fence, rows)];
  await whenFilled();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  for (const each of asked) figures.push(...(await timed(database, each)));
  delay.disable();
  figures.push(figure('event-loop delay p99 during the queries', 'ms', delay.percentile(99) / 1e6));
  figures.push(figure('event-loop delay, longest', 'ms', delay.max / 1e6));
  figures.push(...(await besideLists(database, fence, rows)));
  return figures;
}

async function fill(database: Database, fence: Fence, count: number): Promise<Figure> {
  const begin = performance.now();
  for (let from = 0; from < count; from += rowsPerFlush) {
    const rows = Array.from({ length: Math.min(rowsPerFlush, count - from) }, (_, i) => rowAt(from + i));
    if ((await database.flush(journal, fence, rows, [])) !== 'flushed') throw new Error('somebody else has the fence');
    if (from % 100_000 === 0) console.error(`${from} rows`);
  }
  return figure('rows written', '/s', (count * 1000) / (performance.now() - begin));
}

/** Region and Tier fall together in such a way that `north` never is `silver`. */
function rowAt(serial: number): VisibilityRow {
  const runId = runIdAt(serial);
  const isOpen = serial % 20 === 0;
  const status = serial % 25 === 1 ? 3 : serial % 100 === 2 ? 5 : 2;
  const startTimeMs = startedMs + serial * 10;
  const ofClosed = { historyLength: 11, historySizeBytes: 1_500, stateTransitionCount: 7, executionDurationMs: 5_000 };
  const ofOpen = { historyLength: undefined, historySizeBytes: undefined, stateTransitionCount: undefined, executionDurationMs: undefined };
  const slots = new Map<string, SlotValue>([
    ['Keyword01', serial % 2 === 0 ? 'north' : 'south'],
    ['Keyword02', serial % 2 === 0 ? 'gold' : 'silver'],
    ['Keyword03', `customer-${(serial * 7_919) % 5_000}`],
    ['Int01', (serial * 7_919) % 1_000_003],
    ['Datetime01', BigInt(startTimeMs + 86_400_000) * 1_000_000n],
    ['KeywordList01', serial % 3 === 0 ? ['urgent', `tag-${serial % 1_000}`] : [`tag-${serial % 1_000}`]],
    ['Text01', `shipped to street${serial % 5_000} in town${serial % 50}`],
  ]);
  return {
    namespaceId,
    runId,
    shard: 1,
    workflowId: `order-${serial}`,
    workflowType: `Type${serial % 10}`,
    taskQueue: 'orders',
    startTimeMs,
    executionTimeMs: startTimeMs,
    parentWorkflowId: '',
    parentRunId: '',
    rootWorkflowId: `order-${serial}`,
    rootRunId: runId,
    memo: undefined,
    searchAttributes: served,
    version: 7,
    slots,
    ...(isOpen ? { status: 1, closeTimeMs: undefined, ...ofOpen } : { status, closeTimeMs: startTimeMs + 5_000, ...ofClosed }),
  };
}

/** As many bytes as seven attributes take. */
const served = new Uint8Array(450).map((_, at) => (at * 31) % 251);

/** As run ids are made: neighbours in time are neighbours in the index. */
function runIdAt(serial: number): string {
  const time = (startedMs + serial * 10).toString(16).padStart(12, '0');
  const rest = ((serial * 2_654_435_761) >>> 0).toString(16).padStart(8, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${serial.toString(16).padStart(12, '0')}`;
}

async function timed(database: Database, one: Asked): Promise<readonly Figure[]> {
  const samples: number[] = [];
  let found = 0;
  for (let repetition = 0; repetition <= repetitions; repetition++) {
    const begin = performance.now();
    found = await ask(database, one);
    samples.push(performance.now() - begin);
  }
  const name = `${one.name} (${found})`;
  const [first = Number.NaN, ...later] = samples;
  return [figure(`${name}, median`, 'ms', percentile(later, 0.5)), figure(`${name}, the first`, 'ms', first)];
}

/** How many were found, or counted. */
async function ask(database: Database, { query, counts }: Asked): Promise<number> {
  const parsed = parseQuery(query, queryAttributes(attributes));
  if (parsed.kind === 'invalid') throw new Error(parsed.message);
  const { condition, byStatus } = parsed;
  if (counts === true) {
    const found = await database.count({ namespaceId, condition, byStatus });
    return found.reduce((sum, { count }) => sum + count, 0);
  }
  const { rows } = await database.list({ namespaceId, condition, after: undefined, max: pageRows, bytesMax: 4 * 1024 * 1024 });
  return rows.length;
}

/** What a shard asks of the database, while two lists of the most expensive kind always run. */
async function besideLists(database: Database, fence: Fence, rows: number): Promise<readonly Figure[]> {
  const expensive: Asked = { name: '', query: `NOT (HistoryLength = 11) AND Note != 'shipped' OR Region STARTS_WITH 'x'` };
  let isOver = false;
  let lists = 0;
  const lister = async (): Promise<void> => {
    for (; !isOver; lists++) await ask(database, expensive);
  };
  const listers = [lister(), lister()];
  const flushes: number[] = [];
  const loads: number[] = [];
  const begin = performance.now();
  for (let round = 0; performance.now() - begin < 5_000; round++) {
    const from = performance.now();
    const those = Array.from({ length: 50 }, (_, i) => rowAt((round * 50 + i) % rows));
    await database.flush(journal, fence, those, []);
    flushes.push(performance.now() - from);
    const then = performance.now();
    await database.load(journal, [{ kind: 'current', namespaceId, workflowId: `order-${round}` }]);
    loads.push(performance.now() - then);
  }
  isOver = true;
  await Promise.all(listers);
  return [
    figure('a list of the most expensive kind', 'ms', (2 * (performance.now() - begin)) / lists),
    figure('flush of 50 rows beside such lists, p99', 'ms', percentile(flushes, 0.99)),
    figure('load beside such lists, p99', 'ms', percentile(loads, 0.99)),
  ];
}
