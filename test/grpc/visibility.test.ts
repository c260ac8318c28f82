/** Lists and counts at the edge: what is asked of the rows, what is answered of them, and in which words it is refused. */
import { setImmediate as turn } from 'node:timers/promises';
import { status as codes } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DatabaseError, type DatabaseErrorCode } from '../../src/projections/database-port.ts';
import type { FrontendPorts, VisibilityStore } from '../../src/grpc/ports.ts';
import type { Call } from '../../src/grpc/transport/call.ts';
import { VisibilityQueries } from '../../src/grpc/visibility-queries.ts';
import { createLogger } from '../../src/observability/logger.ts';
import type { VisibilityRow } from '../../src/projections/visibility/row.ts';
import { encodeFields } from '../../src/wire/fields.ts';
import { decodeGetClusterInfoResponse, decodeGetSystemInfoResponse } from '../../src/wire/generated/lean/namespace_service.ts';
import { messageType, rpcsOf, encodeMessage } from '../fuzz/descriptors.ts';
import { visibilityRow } from '../contract/database/samples.ts';
import { openBench, type Bench } from './frontend-bench.ts';
import { namespace } from './stub-ports.ts';

const namespaceId = 'default-id';
const utf8 = new TextEncoder();
const lists = ['ListWorkflowExecutions', 'ScanWorkflowExecutions', 'ListOpenWorkflowExecutions', 'ListClosedWorkflowExecutions'] as const;
const rpcs = new Map(rpcsOf('temporal.api.workflowservice.v1.WorkflowService').map((rpc) => [rpc.method, rpc]));

type Fields = Readonly<Record<string, unknown>>;
type Execution = Fields & { readonly execution: { readonly workflowId: string } };
type Page = { readonly executions?: readonly Execution[]; readonly nextPageToken?: Uint8Array };

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

async function reopen(overrides: Partial<FrontendPorts>): Promise<void> {
  await bench.close();
  bench = await openBench(overrides);
}

function request(method: string, fields: Fields): Uint8Array {
  const type = rpcs.get(method)?.requestType ?? messageType(method);
  return encodeMessage(type, { ...(type.fields['namespace'] === undefined ? {} : { namespace: 'default' }), ...fields });
}

async function answer<Answer = Page>(method: string, fields: Fields = {}): Promise<Answer> {
  const bytes = await bench.client.call(method, request(method, fields));
  const type = rpcs.get(method)!.responseType;
  return type.toObject(type.decode(bytes), { longs: Number }) as Answer;
}

async function refusal(method: string, fields: Fields): Promise<readonly [number, string]> {
  const { code, details } = await bench.client.refusal(method, request(method, fields));
  return [code, details];
}

async function ids(method: string, fields: Fields = {}): Promise<readonly string[]> {
  return idsOf(await answer(method, fields));
}

function idsOf({ executions = [] }: Page): readonly string[] {
  return executions.map(({ execution }) => execution.workflowId);
}

/** Newest first: w0, w1, … */
function rows(count: number, fields: (index: number) => Partial<VisibilityRow> = () => ({})): VisibilityRow[] {
  return Array.from({ length: count }, (_, index) =>
    visibilityRow({ namespaceId, workflowId: `w${index}`, startTimeMs: 1_000_000 - index, ...fields(index) }),
  );
}

const closed = (status: number, closeTimeMs: number): Partial<VisibilityRow> => ({
  status,
  closeTimeMs,
  executionDurationMs: 7,
  historyLength: 11,
  historySizeBytes: 1_234,
  stateTransitionCount: 5,
});

const seconds = (ms: number): Fields => ({ seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 });
/** So many nanoseconds after it. */
const after = (ms: number, ns: number): Fields => ({ seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 + ns });

describe('what is served of a row', () => {
  const fields = encodeFields(
    new Map([
      [
        'CustomKeyword',
        messageType('temporal.api.common.v1.Payload')
          .encode({ data: utf8.encode('"x"') })
          .finish(),
      ],
    ]),
  );
  const shown = { fields: { CustomKeyword: { data: utf8.encode('"x"') } } };
  const run = {
    workflowType: 'Order',
    taskQueue: 'orders',
    startTimeMs: 1_500,
    executionTimeMs: 2_500,
    rootWorkflowId: 'root',
    rootRunId: 'root-run',
  };

  test('of a closed one, everything', async () => {
    const [row] = rows(1, () => ({
      ...run,
      ...closed(3, 2_507),
      parentWorkflowId: 'p',
      parentRunId: 'p-run',
      memo: fields,
      searchAttributes: fields,
    }));
    bench.stub.rows = [row!];
    expect((await answer('ListWorkflowExecutions')).executions).toEqual([
      {
        execution: { workflowId: 'w0', runId: row!.runId },
        type: { name: 'Order' },
        startTime: { seconds: 1, nanos: 500_000_000 },
        executionTime: { seconds: 2, nanos: 500_000_000 },
        closeTime: { seconds: 2, nanos: 507_000_000 },
        executionDuration: { nanos: 7_000_000 },
        status: 3,
        historyLength: 11,
        historySizeBytes: 1_234,
        stateTransitionCount: 5,
        taskQueue: 'orders',
        parentExecution: { workflowId: 'p', runId: 'p-run' },
        rootExecution: { workflowId: 'root', runId: 'root-run' },
        memo: shown,
        searchAttributes: { indexedFields: shown.fields },
      },
    ]);
  });

  test('of a row that is damaged all but the memo or the attributes that no client could read, and the page goes on; told once', async () => {
    const lines: string[] = [];
    const logger = createLogger({ level: 'error', format: 'text', write: (line) => void lines.push(line), nowMs: () => 0 });
    await reopen({ logger });
    const broken = fields.subarray(0, fields.length - 1);
    bench.stub.rows = rows(4, (index) => ({
      memo: index === 1 ? broken : fields,
      searchAttributes: index === 2 ? utf8.encode('no message') : fields,
    }));
    for (let time = 1; time <= 2; time++) {
      const { executions = [], nextPageToken } = await answer('ListWorkflowExecutions', { pageSize: 3 });
      expect(executions.map(({ memo }) => memo)).toEqual([shown, {}, shown]);
      expect(executions.map(({ searchAttributes }) => searchAttributes)).toEqual([
        { indexedFields: shown.fields },
        { indexedFields: shown.fields },
        {},
      ]);
      expect(await ids('ListWorkflowExecutions', { pageSize: 3, nextPageToken })).toEqual(['w3']);
    }
    expect(lines.filter((line) => line.includes('it is listed without it'))).toEqual([
      expect.stringMatching(/workflowId=w1 .*part=memo /),
      expect.stringMatching(/workflowId=w2 .*part=searchAttributes /),
    ]);
  });

  test('of an open one what does not change with every step; memo and attributes are there, and empty', async () => {
    const [row] = rows(1, () => ({ ...run, status: 1, memo: undefined, searchAttributes: undefined }));
    bench.stub.rows = [row!];
    expect((await answer('ListWorkflowExecutions')).executions).toEqual([
      {
        execution: { workflowId: 'w0', runId: row!.runId },
        type: { name: 'Order' },
        startTime: { seconds: 1, nanos: 500_000_000 },
        executionTime: { seconds: 2, nanos: 500_000_000 },
        status: 1,
        taskQueue: 'orders',
        rootExecution: { workflowId: 'root', runId: 'root-run' },
        memo: {},
        searchAttributes: {},
      },
    ]);
  });
});

describe('pages', () => {
  test.each(lists)('%s: each row once, newest first, the last page shorter', async (method) => {
    bench.stub.rows = rows(7, () => (method === 'ListClosedWorkflowExecutions' ? closed(2, 2_000_000) : {}));
    const size = method.startsWith('ListOpen') || method.startsWith('ListClosed') ? 'maximumPageSize' : 'pageSize';
    const pages: (readonly string[])[] = [];
    let nextPageToken: Uint8Array | undefined = new Uint8Array(0);
    while (nextPageToken !== undefined) {
      const page: Page = await answer(method, { [size]: 3, nextPageToken });
      pages.push(idsOf(page));
      nextPageToken = page.nextPageToken;
    }
    expect(pages).toEqual([['w0', 'w1', 'w2'], ['w3', 'w4', 'w5'], ['w6']]);
  });

  test.each([
    [0, 1_000],
    [-5, 1_000],
    [1_001, 1_000],
    [2 ** 31 - 1, 1_000],
    [999, 999],
  ])('page size %i is %i', async (pageSize, expected) => {
    bench.stub.rows = rows(1_002);
    expect(await ids('ListWorkflowExecutions', { pageSize })).toHaveLength(expected);
  });

  test('no page is larger than what clients receive, and none is empty before the end', async () => {
    const memo = encodeFields(
      new Map([
        [
          'm',
          messageType('temporal.api.common.v1.Payload')
            .encode({ data: new Uint8Array(2_000_000) })
            .finish(),
        ],
      ]),
    );
    bench.stub.rows = rows(5, () => ({ memo }));
    const pages: (readonly string[])[] = [];
    let nextPageToken: Uint8Array | undefined = new Uint8Array(0);
    while (nextPageToken !== undefined) {
      const bytes = await bench.client.call('ListWorkflowExecutions', request('ListWorkflowExecutions', { nextPageToken }));
      expect(bytes.length).toBeLessThanOrEqual(4 * 1024 * 1024);
      const type = rpcs.get('ListWorkflowExecutions')!.responseType;
      const page = type.toObject(type.decode(bytes)) as Page;
      pages.push(idsOf(page));
      nextPageToken = page.nextPageToken;
    }
    expect(pages).toEqual([['w0', 'w1'], ['w2', 'w3'], ['w4']]);
  });

  test('a namespace shows its own', async () => {
    bench.stub.rows = [...rows(2), ...rows(2, (index) => ({ namespaceId: 'other-id', workflowId: `other${index}` }))];
    expect(await ids('ListWorkflowExecutions', { namespace: 'other' })).toEqual(['other0', 'other1']);
    expect(await answer('CountWorkflowExecutions', { namespace: 'other' })).toEqual({ count: 2 });
  });
});

describe('a page token', () => {
  const query = "CustomInt > 9007199254740993 OR WorkflowType != 'x'";
  const tokenOf = async (fields: Fields = {}): Promise<Uint8Array> =>
    (await answer('ListWorkflowExecutions', { pageSize: 1, ...fields })).nextPageToken!;

  beforeEach(() => {
    bench.stub.rows = rows(3);
  });

  test('is of the same rows in another process with the same key, whatever asks and however the query is written', async () => {
    const nextPageToken = await tokenOf({ query });
    const { rows: known } = bench.stub;
    await reopen({});
    bench.stub.rows = known;
    const rewritten = "CustomInt  >  9007199254740993  or (WorkflowType != 'x')";
    expect(await ids('ScanWorkflowExecutions', { query: rewritten, nextPageToken })).toEqual(['w1', 'w2']);
  });

  test.each<[string, Fields, string]>([
    ['another query', { query: "WorkflowType != 'y'" }, 'NextPageToken was given for another query.'],
    ['no query', {}, 'NextPageToken was given for another query.'],
    ['another namespace', { query, namespace: 'other' }, 'Operation requested with a token from a different namespace.'],
  ])('of %s is refused', async (_what, fields, text) => {
    const nextPageToken = await tokenOf({ query });
    expect(await refusal('ListWorkflowExecutions', { ...fields, nextPageToken })).toEqual([codes.INVALID_ARGUMENT, text]);
  });

  test('that was changed anywhere, or is of another kind, is none', async () => {
    const token = await tokenOf();
    const changed = Array.from(token, (_, at) => token.map((byte, index) => (index === at ? byte ^ 1 : byte)));
    for (const nextPageToken of [...changed, Buffer.from('junk'), token.subarray(1)]) {
      const outcome = await refusal('ListWorkflowExecutions', { nextPageToken });
      expect(outcome).toEqual([codes.INVALID_ARGUMENT, 'Invalid NextPageToken.']);
    }
    expect(await refusal('ListNamespaces', { nextPageToken: token })).toEqual([codes.INVALID_ARGUMENT, 'Invalid NextPageToken.']);
  });
});

describe('counts', () => {
  const keyword = (text: string): Fields => ({
    metadata: { encoding: utf8.encode('json/plain'), type: utf8.encode('Keyword') },
    data: utf8.encode(JSON.stringify(text)),
  });

  test('all, those of a query, and by status', async () => {
    bench.stub.rows = [...rows(3), ...rows(2, () => closed(5, 2_000_000)), ...rows(1, () => closed(6, 2_000_000))];
    expect(await answer('CountWorkflowExecutions')).toEqual({ count: 6 });
    expect(await answer('CountWorkflowExecutions', { query: `ExecutionStatus = 'Terminated'` })).toEqual({ count: 2 });
    expect(await answer('CountWorkflowExecutions', { query: 'GROUP BY ExecutionStatus' })).toEqual({
      count: 6,
      groups: [
        { groupValues: [keyword('Running')], count: 3 },
        { groupValues: [keyword('Terminated')], count: 2 },
        { groupValues: [keyword('ContinuedAsNew')], count: 1 },
      ],
    });
    expect(await answer('CountWorkflowExecutions', { query: "WorkflowId = 'none' GROUP BY ExecutionStatus" })).toEqual({});
  });
});

test('workflows that say that they are schedules are listed among them, whatever they have in the place of their information', async () => {
  const slots = new Map([['TemporalNamespaceDivision', 'TemporalScheduler']]);
  const memoOf = (data: string): Uint8Array => {
    const payload = messageType('temporal.api.common.v1.Payload');
    return encodeFields(new Map([['ScheduleInfo', encodeMessage(payload, { data: utf8.encode(data) })]]));
  };
  bench.stub.rows = ['garbage', '\n\u0005\u0001', ''].flatMap((data, nth) =>
    rows(1, () => ({ workflowId: `poser-${nth}`, slots, memo: memoOf(data) })),
  );
  const { schedules } = await answer<{ schedules: Fields[] }>('ListSchedules');
  expect(new Set(schedules.map(({ scheduleId }) => scheduleId))).toEqual(new Set(['poser-0', 'poser-1', 'poser-2']));
});

describe('the open and the closed', () => {
  beforeEach(() => {
    bench.stub.rows = [
      ...rows(1, () => ({ workflowId: `it's "open"\\`, startTimeMs: 5_000, workflowType: 'A' })),
      ...rows(1, () => ({ workflowId: 'open too', startTimeMs: 4_000, workflowType: 'B' })),
      ...rows(1, () => ({ workflowId: 'done', workflowType: 'A', startTimeMs: 4_000, ...closed(2, 9_000) })),
      ...rows(1, () => ({ workflowId: 'failed', workflowType: 'B', startTimeMs: 5_000, ...closed(3, 8_000) })),
      ...rows(1, () => ({
        workflowId: 'a schedule',
        startTimeMs: 1,
        slots: new Map([['TemporalNamespaceDivision', 'TemporalScheduler']]),
      })),
    ];
  });

  test.each<[string, Fields, readonly string[]]>([
    ['ListOpenWorkflowExecutions', {}, [`it's "open"\\`, 'open too']],
    ['ListOpenWorkflowExecutions', { executionFilter: { workflowId: `it's "open"\\` } }, [`it's "open"\\`]],
    ['ListOpenWorkflowExecutions', { executionFilter: { workflowId: `x' OR WorkflowId != 'x` } }, []],
    ['ListOpenWorkflowExecutions', { executionFilter: { workflowId: 'open too', runId: 'another' } }, []],
    ['ListOpenWorkflowExecutions', { executionFilter: {} }, []],
    ['ListOpenWorkflowExecutions', { typeFilter: { name: 'B' } }, ['open too']],
    ['ListOpenWorkflowExecutions', { startTimeFilter: { earliestTime: seconds(4_001) } }, [`it's "open"\\`]],
    ['ListOpenWorkflowExecutions', { startTimeFilter: { earliestTime: seconds(4_000), latestTime: seconds(4_000) } }, ['open too']],
    ['ListOpenWorkflowExecutions', { startTimeFilter: { earliestTime: after(4_000, 1) } }, [`it's "open"\\`]],
    ['ListOpenWorkflowExecutions', { startTimeFilter: { earliestTime: after(4_000, 1), latestTime: after(4_000, 2) } }, []],
    ['ListOpenWorkflowExecutions', { startTimeFilter: { latestTime: after(4_000, 1) } }, ['open too']],
    ['ListOpenWorkflowExecutions', { startTimeFilter: { latestTime: seconds(0) } }, []],
    ['ListOpenWorkflowExecutions', { startTimeFilter: { latestTime: { seconds: -62_135_596_800 } } }, [`it's "open"\\`, 'open too']],
    ['ListClosedWorkflowExecutions', {}, ['done', 'failed']],
    ['ListClosedWorkflowExecutions', { statusFilter: { status: 3 } }, ['failed']],
    ['ListClosedWorkflowExecutions', { typeFilter: { name: 'A' } }, ['done']],
    ['ListClosedWorkflowExecutions', { executionFilter: { workflowId: 'open too' } }, []],
    ['ListClosedWorkflowExecutions', { startTimeFilter: { earliestTime: seconds(8_001) } }, ['done']],
    ['ListClosedWorkflowExecutions', { startTimeFilter: { earliestTime: after(8_000, 999_999) } }, ['done']],
    ['ListClosedWorkflowExecutions', { startTimeFilter: { latestTime: seconds(8_500) } }, ['failed']],
  ])('%s %j', async (method, fields, found) => {
    expect(await ids(method, fields)).toEqual(found);
  });
});

describe('what is refused', () => {
  const earlier = { startTimeFilter: { earliestTime: seconds(5_000), latestTime: seconds(1_000) } };

  test.each<[string, Fields, number, string]>([
    ['ListWorkflowExecutions', { query: 'foo = 1' }, codes.INVALID_ARGUMENT, 'invalid query: invalid search attribute: foo'],
    ['ScanWorkflowExecutions', { query: 'foo = 1' }, codes.INVALID_ARGUMENT, 'invalid query: invalid search attribute: foo'],
    ['CountWorkflowExecutions', { query: 'foo = 1' }, codes.INVALID_ARGUMENT, 'invalid query: invalid search attribute: foo'],
    [
      'ListWorkflowExecutions',
      { query: 'foo = 1', nextPageToken: Buffer.from('junk') },
      codes.INVALID_ARGUMENT,
      'invalid query: invalid search attribute: foo',
    ],
    [
      'CountWorkflowExecutions',
      { query: 'GROUP BY WorkflowType' },
      codes.INVALID_ARGUMENT,
      "invalid query: operation is not supported: 'GROUP BY' clause is not supported for search attribute WorkflowType",
    ],
    [
      'ListOpenWorkflowExecutions',
      earlier,
      codes.INVALID_ARGUMENT,
      'EarliestTime in StartTimeFilter should not be larger than LatestTime.',
    ],
    [
      'ListClosedWorkflowExecutions',
      { ...earlier, statusFilter: { status: 1 } },
      codes.INVALID_ARGUMENT,
      'EarliestTime in StartTimeFilter should not be larger than LatestTime.',
    ],
    [
      'ListClosedWorkflowExecutions',
      { statusFilter: {} },
      codes.INVALID_ARGUMENT,
      'StatusFilter must be specified and must be not Running.',
    ],
    [
      'ListClosedWorkflowExecutions',
      { statusFilter: { status: 99 } },
      codes.INVALID_ARGUMENT,
      "invalid query: invalid expression: invalid ExecutionStatus value '99'",
    ],
    ['ListArchivedWorkflowExecutions', {}, codes.INVALID_ARGUMENT, 'Cluster is not configured for visibility archival.'],
    ['ListArchivedWorkflowExecutions', { pageSize: 10_001 }, codes.INVALID_ARGUMENT, 'PageSize is larger than allowed 10000.'],
    ...[...lists, 'ListArchivedWorkflowExecutions', 'CountWorkflowExecutions'].flatMap((method): [string, Fields, number, string][] => [
      [method, { namespace: '', query: 'foo = 1', ...earlier }, codes.INVALID_ARGUMENT, 'Namespace is empty.'],
      [method, { namespace: 'nope', query: 'foo = 1', ...earlier }, codes.NOT_FOUND, 'Namespace nope is not found.'],
      [method, { namespace: 'x'.repeat(1_001) }, codes.INVALID_ARGUMENT, 'Namespace length exceeds limit.'],
    ]),
  ])('%s %j', async (method, fields, code, text) => {
    expect(await refusal(method, fields)).toEqual([code, text]);
  });

  test('an attribute that another process has just added is known after a look', async () => {
    bench.stub.rows = rows(1, () => ({ slots: new Map([['Int01', 7]]) }));
    const [known] = bench.stub.namespaces;
    bench.stub.namespaces[0] = { ...known!, searchAttributeTypes: new Map(), searchAttributeSlots: new Map() };
    bench.stub.answers.cluster = () => {
      bench.stub.namespaces[0] = namespace('default');
      return { kind: 'done' };
    };
    expect(await ids('ListWorkflowExecutions', { query: 'CustomInt = 7' })).toEqual(['w0']);
  });
});

describe('a database that fails', () => {
  const failing = (error: Error): VisibilityStore => ({
    list: () => Promise.reject(error),
    count: () => Promise.reject(error),
    giveUp: () => Promise.reject(error),
  });

  test.each<[DatabaseErrorCode, number, string]>([
    ['unavailable', codes.UNAVAILABLE, 'visibility does not answer: no route'],
    ['closed', codes.UNAVAILABLE, 'visibility does not answer: no route'],
    ['misconfigured', codes.UNAVAILABLE, 'visibility does not answer: no route'],
    ['corrupt', codes.DATA_LOSS, 'visibility: no route'],
    ['data', codes.INTERNAL, 'visibility: no route'],
  ])('%s', async (kind, code, text) => {
    await reopen({ visibility: failing(new DatabaseError(kind, 'no route')) });
    expect(await refusal('ListWorkflowExecutions', {})).toEqual([code, text]);
    expect(await refusal('CountWorkflowExecutions', {})).toEqual([code, text]);
  });
});

test('what the server says of itself', async () => {
  const { capabilities } = decodeGetSystemInfoResponse(await bench.client.call('GetSystemInfo', new Uint8Array(0)));
  expect(capabilities?.countGroupByExecutionStatus).toBe(true);
  expect(decodeGetClusterInfoResponse(await bench.client.call('GetClusterInfo', new Uint8Array(0))).visibilityStore).toBe('memory');
  expect(await answer('GetSearchAttributes')).toEqual({ keys: { WorkflowId: 2, BuildIds: 7 } });
});

describe('queries at a time', () => {
  const limits = { runningPerNamespaceMax: 2, waitingPerNamespaceMax: 1, timeoutMs: 60_000 };

  const givenUp: number[] = [];
  const giveUp = async (asked: number): Promise<void> => void givenUp.push(asked);

  /** A query that ends when it is told to. */
  class Asked {
    readonly call: { -readonly [Key in keyof Pick<Call, 'cancelled'>]: Call[Key] } & Call;
    readonly outcome: Promise<string>;
    begun = false;
    asked = 0;
    cancel: () => void = () => {};
    end: () => void = () => {};

    constructor(queries: VisibilityQueries, namespaceName: string) {
      this.call = { cancelled: false, onCancel: (listener: () => void) => (this.cancel = listener) } as unknown as Asked['call'];
      const query = (asked: number): Promise<string> => {
        this.begun = true;
        this.asked = asked;
        return new Promise((resolve) => (this.end = () => resolve('answered')));
      };
      try {
        this.outcome = queries.run(this.call, namespaceName, query).catch((error: Error) => error.message);
      } catch (error) {
        this.outcome = Promise.resolve((error as Error).message);
      }
    }
  }

  test('two of a namespace run, one waits, more are refused; another namespace is not concerned', async () => {
    const queries = new VisibilityQueries(giveUp, limits);
    const asked = Array.from({ length: 4 }, () => new Asked(queries, 'a'));
    const other = new Asked(queries, 'b');
    expect([...asked, other].map(({ begun }) => begun)).toEqual([true, true, false, false, true]);
    expect(await asked[3]!.outcome).toBe('too many lists and counts of this namespace wait');
    asked[0]!.end();
    expect(await asked[0]!.outcome).toBe('answered');
    await turn();
    expect(asked[2]!.begun).toBe(true);
  });

  test('whoever goes away while it waits never runs; while it runs, its place is free when it has ended', async () => {
    const queries = new VisibilityQueries(giveUp, limits);
    const [first, second, third] = [1, 2, 3].map(() => new Asked(queries, 'a')) as [Asked, Asked, Asked];
    third.cancel();
    expect(await third.outcome).toBe('context canceled');
    first.cancel();
    expect(await first.outcome).toBe('context canceled');
    // Its database hears of it; of one that never began there is nothing to be heard.
    expect(givenUp.splice(0)).toEqual([first.asked]);
    const fourth = new Asked(queries, 'a');
    expect(fourth.begun).toBe(false);
    first.end();
    await turn();
    expect([third.begun, fourth.begun]).toEqual([false, true]);
    second.end();
    fourth.end();
    expect(await fourth.outcome).toBe('answered');
    expect(givenUp).toEqual([]);
  });

  test('what takes too long is given up, and counts until it has ended', async () => {
    const queries = new VisibilityQueries(giveUp, { ...limits, runningPerNamespaceMax: 1, timeoutMs: 1 });
    const slow = new Asked(queries, 'a');
    const waiting = new Asked(queries, 'a');
    expect(await slow.outcome).toBe('the query took longer than 0.001 s');
    expect(await waiting.outcome).toBe('the query took longer than 0.001 s');
    expect(givenUp.splice(0)).toEqual([slow.asked]);
    const next = new Asked(new VisibilityQueries(giveUp, limits), 'a');
    slow.end();
    await turn();
    expect(waiting.begun).toBe(false);
    expect(next.begun).toBe(true);
  });
});
