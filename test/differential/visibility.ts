/**
 * Random workflows with random attributes on a server, random filters, and what the oracle of conditions says to each. Against Temporal's
 * server it holds the oracle to what conditions mean there; databases are held to the oracle by their contract.
 *
 *     node test/differential/visibility.ts --start /path/to/temporal --seed 1 --sets 50 --filters 40
 *     node test/differential/visibility.ts --address 127.0.0.1:7233
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import type { Condition } from '../../src/visibility/condition.ts';
import type { SlotValue, VisibilityRow } from '../../src/visibility/row.ts';
import { ServerProcess } from '../bench/server-process.ts';
import { visibilityRow } from '../contract/database/samples.ts';
import { truthOf } from '../support/condition-oracle.ts';
import { arbitraryCondition, arbitrarySlots, asked } from '../visibility/arbitrary.ts';
import { askedTypes } from '../visibility/filter/asked-queries.ts';
import { printedCondition } from '../visibility/filter/printed-condition.ts';
import { Api } from './api.ts';
import type { Fields } from './program.ts';

const { values: options } = parseArgs({
  options: {
    address: { type: 'string' },
    start: { type: 'string' },
    seed: { type: 'string', default: '1' },
    sets: { type: 'string', default: '50' },
    filters: { type: 'string', default: '40' },
  },
});

const namespace = 'default';
const typeNames = ['', 'TEXT', 'KEYWORD', 'INT', 'DOUBLE', 'BOOL', 'DATETIME', 'KEYWORD_LIST'];
/** Slots of the oracle's rows, by the attribute that stands in each. */
const attributes: ReadonlyMap<string, { readonly name: string; readonly type: string }> = new Map([
  ['Text01', { name: 'AText', type: 'Text' }],
  ['Keyword01', { name: 'AKeyword', type: 'Keyword' }],
  ['Int01', { name: 'AnInt', type: 'Int' }],
  ['Double01', { name: 'ADouble', type: 'Double' }],
  ['Bool01', { name: 'ABool', type: 'Bool' }],
  ['Datetime01', { name: 'ADate', type: 'Datetime' }],
  ['KeywordList01', { name: 'AList', type: 'KeywordList' }],
]);

const commandTypes = {
  2: 'COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION',
  3: 'COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION',
  4: 'COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION',
} as const;
const attributeFields = {
  2: 'completeWorkflowExecutionCommandAttributes',
  3: 'failWorkflowExecutionCommandAttributes',
  4: 'cancelWorkflowExecutionCommandAttributes',
} as const;
const attributesOfEnd = { 2: {}, 3: { failure: { message: 'as asked', applicationFailureInfo: {} } }, 4: {} } as const;

const server = options.address === undefined ? await started() : undefined;
const api = new Api(options.address ?? server?.address ?? '');
try {
  await defineAttributes();
  let differing = 0;
  for (let set = 0; set < Number(options.sets); set++) differing += await compareSet(Number(options.seed) + set);
  console.log(`${differing} of ${Number(options.sets) * Number(options.filters)} filters find other workflows`);
  process.exitCode = differing === 0 ? 0 : 1;
} finally {
  api.close();
  await server?.stop();
}

function started(): Promise<ServerProcess> {
  if (options.start === undefined) throw new Error('give --address, or --start with the path of a temporal binary');
  return ServerProcess.start(`${options.start} server start-dev --headless --port {port} --log-level never`);
}

async function defineAttributes(): Promise<void> {
  const searchAttributes = Object.fromEntries([...askedTypes].map(([name, type]) => [name, `INDEXED_VALUE_TYPE_${typeNames[type]}`]));
  for (let attempt = 0; attempt < 60; attempt++) {
    await api.call('AddSearchAttributes', { namespace, searchAttributes });
    if ((await api.call('CountWorkflowExecutions', { namespace, query: 'AnInt = 1' })).code === 0) return;
    await delay(250);
  }
  throw new Error('the search attributes do not appear');
}

/** How many filters find other workflows than the oracle. */
async function compareSet(seed: number): Promise<number> {
  const taskQueue = `set-${seed}`;
  const rows = await startedRows(seed, taskQueue);
  const conditions = fc.sample(arbitraryCondition(rows, asked), { seed, numRuns: Number(options.filters) });
  let differing = 0;
  for (const condition of conditions) {
    const query = `TaskQueue = '${taskQueue}' AND (${printedCondition(condition)})`;
    const found = await workflowIds(query);
    const expected = rows.filter((row) => truthOf(condition, row) === true).map(({ workflowId }) => workflowId);
    if (sameItems(found, expected)) continue;
    differing++;
    console.log(`seed ${seed}: ${query}\n${explained(rows, condition, found)}`);
  }
  return differing;
}

function explained(rows: readonly VisibilityRow[], condition: Condition, found: readonly string[]): string {
  return rows
    .filter((row) => found.includes(row.workflowId) !== (truthOf(condition, row) === true))
    .map((row) => {
      const slots = [...row.slots].map(([slot, value]) => `${slot}=${JSON.stringify(value, (_, one: unknown) => plain(one))}`).join(' ');
      return `    ${found.includes(row.workflowId) ? 'only there' : 'only here '} ${JSON.stringify(row.workflowId)} ${row.workflowType} ${row.status} ${slots}`;
    })
    .join('\n');
}

function plain(value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}

/** Twelve workflows of one task queue, open and closed, once the server lists them so. */
async function startedRows(seed: number, taskQueue: string): Promise<readonly VisibilityRow[]> {
  const drawn = fc.sample(
    fc.record({
      prefix: fc.constantFrom(...asked.keywords),
      workflowType: fc.constantFrom(...asked.keywords),
      slots: arbitrarySlots(asked),
    }),
    { seed, numRuns: 12 },
  );
  const endings = [undefined, undefined, undefined, 5, 5, 2, 2, 3, 4] as const;
  const rows: VisibilityRow[] = [];
  for (const [i, { prefix, workflowType, slots }] of drawn.entries()) {
    const workflowId = `${prefix}${taskQueue}-${i}`;
    const ending = endings[(seed + i) % endings.length];
    const response = await succeeded('StartWorkflowExecution', startRequest(workflowId, workflowType || 'empty', taskQueue, slots));
    const runId = String(response['runId']);
    await end(workflowId, taskQueue, ending);
    const closeTimeMs = ending === undefined ? undefined : Date.now();
    const row = { namespaceId: namespace, runId, workflowId, workflowType: workflowType || 'empty', taskQueue, slots };
    rows.push(visibilityRow({ ...row, status: ending ?? 1, closeTimeMs, startTimeMs: Date.now(), executionTimeMs: Date.now() }));
  }
  const closed = rows.filter(({ status }) => status !== 1).length;
  for (let attempt = 0; attempt < 100; attempt++) {
    const ids = await workflowIds(`TaskQueue = '${taskQueue}' AND ExecutionStatus != 'Running'`);
    const all = await workflowIds(`TaskQueue = '${taskQueue}'`);
    if (ids.length === closed && all.length === rows.length) return rows;
    await delay(50);
  }
  throw new Error(`the workflows of ${taskQueue} are not listed`);
}

function startRequest(workflowId: string, workflowType: string, taskQueue: string, slots: ReadonlyMap<string, SlotValue>): Fields {
  const indexedFields: Record<string, Fields> = {};
  for (const [slot, value] of slots) {
    const attribute = attributes.get(slot);
    if (attribute === undefined) throw new Error(`${slot} is no attribute`);
    const metadata = { encoding: base64('json/plain'), type: base64(attribute.type) };
    indexedFields[attribute.name] = { metadata, data: base64(json(attribute.type, value)) };
  }
  return {
    namespace,
    workflowId,
    workflowType: { name: workflowType },
    taskQueue: { name: taskQueue },
    requestId: workflowId,
    searchAttributes: { indexedFields },
  };
}

function json(type: string, value: SlotValue): string {
  if (type === 'Datetime') return JSON.stringify(new Date(Number(value)).toISOString());
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** By status: 2 completes, 3 fails, 4 cancels, 5 is terminated. The task queue has no open workflow task but this one's and older open ones'. */
async function end(workflowId: string, taskQueue: string, status: 2 | 3 | 4 | 5 | undefined): Promise<void> {
  if (status === 5) {
    await succeeded('TerminateWorkflowExecution', { namespace, workflowExecution: { workflowId } });
    return;
  }
  const task = await succeeded('PollWorkflowTaskQueue', { namespace, taskQueue: { name: taskQueue }, identity: 'test' });
  const commands: readonly Fields[] =
    status === undefined ? [] : [{ commandType: commandTypes[status], [attributeFields[status]]: attributesOfEnd[status] }];
  await succeeded('RespondWorkflowTaskCompleted', { taskToken: task['taskToken'], commands, identity: 'test' });
}

async function workflowIds(query: string): Promise<readonly string[]> {
  const response = await succeeded('ListWorkflowExecutions', { namespace, query, pageSize: 1000 });
  const executions = (response['executions'] ?? []) as readonly { readonly execution: { readonly workflowId: string } }[];
  return executions.map(({ execution }) => execution.workflowId);
}

async function succeeded(method: string, request: Fields): Promise<Fields> {
  const { code, message, response } = await api.call(method, request, 60_000);
  if (code !== 0 || response === undefined) throw new Error(`${method} ${JSON.stringify(request)}: ${code} ${message}`);
  return response;
}

function sameItems(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && new Set([...one, ...other]).size === one.length;
}
