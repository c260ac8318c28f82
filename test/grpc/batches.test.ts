/** Batch jobs at the edge, in front of a shard: what is taken and shown, what is refused without a trace, and what is done to workflows for them. */
import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { BatchJob, BatchTrouble } from '../../src/ports/batch-operations.ts';
import { DatabaseError } from '../../src/projections/database-port.ts';
import { newBatch } from '../../src/batches/batch.ts';
import type { HistoryRequest } from '../../src/history/commands/history-commands.ts';
import {
  emptyBatchOperationReset,
  emptyBatchOperationResetActivities,
  emptyBatchOperationUnpauseActivities,
  emptyBatchOperationUpdateActivityOptions,
  emptyResetOptions,
  emptyStartBatchOperationRequest,
  encodeStartBatchOperationRequest,
} from '../../src/wire/generated/lean/batch.ts';
import { createLogger, silentLogger, type Logger } from '../../src/observability/logger.ts';
import { encodeEvent } from '../../src/codec/event-codec.ts';
import { encodePriority } from '../../src/wire/generated/lean/common.ts';
import { encodeMessage, messageType } from '../fuzz/descriptors.ts';
import { key, ShardUnderTest } from '../history/shard-under-test.ts';
import { visibilityRow as aRow } from '../contract/database/samples.ts';
import { turns } from '../support/event-loop.ts';
import { type Bench, openBench } from './frontend-bench.ts';

type Plain = Readonly<Record<string, unknown>>;

let bench: Bench;
let shard: ShardUnderTest;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  shard = new ShardUnderTest();
  bench.stub.rows = [];
  bench.stub.historyCommands.length = 0;
  bench.stub.answers.history = (command) => shard.ask(command as HistoryRequest & { kind: 'describeBatch' }) ?? 'never';
});

const wire = 'temporal.api.workflowservice.v1.';

function encoded(method: string, fields: Plain): Uint8Array {
  return encodeMessage(messageType(`${wire}${method}Request`), { namespace: 'default', ...fields });
}

async function call(method: string, fields: Plain): Promise<Plain> {
  const type = messageType(`${wire}${method}Response`);
  const answer = await bench.client.call(method, encoded(method, fields));
  return type.toObject(type.decode(answer), { longs: Number, enums: String, bytes: Array }) as Plain;
}

async function refusal(fields: Plain, method = 'StartBatchOperation') {
  const { code, details } = await bench.client.refusal(method, encoded(method, fields));
  expect(bench.stub.historyCommands.filter(({ kind }) => kind === 'startBatch')).toEqual([]);
  return [code, details];
}

const job = { jobId: 'job', reason: 'cleaning up', visibilityQuery: `WorkflowType = 'Report'`, terminationOperation: { identity: 'me' } };
const without = { ...job, terminationOperation: undefined };

describe('a job', () => {
  test('is described by what it was asked, and how far it is', async () => {
    expect(await call('StartBatchOperation', job)).toEqual({});
    shard.fireDueTimers();
    expect(await call('DescribeBatchOperation', { jobId: 'job' })).toMatchObject({
      ...{ jobId: 'job', operationType: 'BATCH_OPERATION_TYPE_TERMINATE_WORKFLOW', state: 'BATCH_OPERATION_STATE_RUNNING' },
      ...{ totalOperationCount: 4, identity: 'me', reason: 'cleaning up', query: job.visibilityQuery },
    });
    for (let step = 0; step < 3; step++) shard.fireNextTimer();
    const done = await call('DescribeBatchOperation', { jobId: 'job' });
    expect(done).toMatchObject({ state: 'BATCH_OPERATION_STATE_COMPLETED', completeOperationCount: 3, failureOperationCount: 3 });
    expect(done['closeTime']).toBeDefined();
  });

  test('over a list knows at once how many there are', async () => {
    const executions = [{ workflowId: 'w1' }, { workflowId: 'w2', runId: '00000000-0000-4000-8000-000000000001' }];
    await call('StartBatchOperation', { ...job, visibilityQuery: '', executions });
    expect(await call('DescribeBatchOperation', { jobId: 'job' })).toMatchObject({
      totalOperationCount: 2,
      executions: executions.map(({ workflowId: businessId, ...rest }) => ({ type: 'EXECUTION_TYPE_WORKFLOW', businessId, ...rest })),
    });
  });

  test('may have an id as long as any other', async () => {
    const jobId = 'é'.repeat(500);
    await call('StartBatchOperation', { ...job, jobId });
    expect(await call('DescribeBatchOperation', { jobId })).toMatchObject({ jobId, state: 'BATCH_OPERATION_STATE_RUNNING' });
  });

  test('that is stopped has failed, as Temporal says', async () => {
    await call('StartBatchOperation', job);
    expect(await call('StopBatchOperation', { jobId: 'job', reason: 'enough', identity: 'me' })).toEqual({});
    expect(await call('DescribeBatchOperation', { jobId: 'job' })).toMatchObject({ state: 'BATCH_OPERATION_STATE_FAILED' });
    const again = encoded('StopBatchOperation', { jobId: 'job', reason: 'enough' });
    expect(await bench.client.refusal('StopBatchOperation', again)).toMatchObject({ code: codes.NOT_FOUND });
  });

  test('is listed by its id and type', async () => {
    await call('StartBatchOperation', job);
    const started = bench.stub.historyCommands.find((command) => command.kind === 'startBatch');
    if (started?.kind !== 'startBatch') return expect.unreachable();
    const { memo, key } = started;
    const slots = new Map([['TemporalNamespaceDivision', 'TemporalBatcher']]);
    bench.stub.rows = [aRow({ namespaceId: 'default-id', workflowId: key.workflowId, status: 1, memo, slots })];
    expect(await call('ListBatchOperations', {})).toMatchObject({
      operationInfo: [{ jobId: 'job', state: 'BATCH_OPERATION_STATE_RUNNING', operationType: 'BATCH_OPERATION_TYPE_TERMINATE_WORKFLOW' }],
    });
    expect(await call('ListWorkflowExecutions', {})).toEqual({});
    // While it runs there may be no other.
    bench.stub.historyCommands.length = 0;
    expect(await refusal({ ...job, jobId: 'other' })).toEqual([codes.RESOURCE_EXHAUSTED, 'Max concurrent batch operations is reached']);
  });
});

test('jobs that are started together are no more than there may be', async () => {
  let open = 0;
  const count = async () => {
    const counted = [{ status: 1, count: open }];
    await turns(20);
    return counted;
  };
  const slow = await openBench({ visibility: { list: async () => ({ rows: [] }), count, giveUp: async () => {} } });
  onTestFinished(() => slow.close());
  slow.stub.answers.history = (command) => {
    if (command.kind === 'startBatch') open++;
    return { kind: 'done' };
  };
  const starts = [1, 2, 3].map((nth) =>
    slow.client.call('StartBatchOperation', encoded('StartBatchOperation', { ...job, jobId: `job-${nth}` })),
  );
  const outcomes = await Promise.allSettled(starts);
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(open).toBe(1);
});

test('starts, lists and pages of jobs have one share of the database, and a number each', async () => {
  const underWay = new Map<number, () => void>();
  const slowly = <Answer>(answer: Answer) => ({
    answer: ({ asked = 0 }) => new Promise<Answer>((resolve) => underWay.set(asked, () => resolve(answer))),
  });
  const slow = await openBench({
    visibility: { list: slowly({ rows: [] }).answer, count: slowly([]).answer, giveUp: async () => {} },
  });
  onTestFinished(() => slow.close());
  slow.stub.answers.history = () => ({ kind: 'done' });
  const lists = [1, 2].map(() => slow.client.call('ListWorkflowExecutions', encoded('ListWorkflowExecutions', {})));
  const start = slow.client.call('StartBatchOperation', encoded('StartBatchOperation', job));
  await vi.waitFor(() => expect([...underWay.keys()]).toEqual([1, 2]), { timeout: 60_000 });
  for (const end of underWay.values()) end();
  await Promise.all(lists);
  await vi.waitFor(() => expect([...underWay.keys()]).toEqual([1, 2, 3]), { timeout: 60_000 });
  underWay.get(3)?.();
  await start;
});

describe('what is no job', () => {
  const required = 'must provide required parameters: BatchType,Reason,Namespace, AND one of (Query OR Executions OR TargetExecutions)';
  const noText = { payloads: [{ metadata: { '\ud800': new Uint8Array() } }] };
  const unreadable = 'grpc: error unmarshalling request: string field 1 is not valid UTF-8';
  test.each<[string, Plain, string]>([
    ['nothing to do', without, required],
    ['no reason', { ...job, reason: '' }, required],
    ['nobody to do it to', { ...job, visibilityQuery: '' }, required],
    ['no id', { ...job, jobId: '' }, 'JobId is not set on request.'],
    [
      'a query and a list',
      { ...job, executions: [{ workflowId: 'w' }] },
      'visibility query, executions, and target executions are mutually exclusive',
    ],
    ['no name of a signal', { ...without, signalOperation: {} }, 'must provide signal name'],
    ['details that no workflow would take', { ...without, terminationOperation: { details: noText } }, unreadable],
    ['input of a signal that no workflow would take', { ...without, signalOperation: { signal: 'go', input: noText } }, unreadable],
    [
      'header of a signal that no workflow would take',
      { ...without, signalOperation: { signal: 'go', header: { fields: { a: noText.payloads[0] } } } },
      unreadable,
    ],
    ['no workflow task', { ...without, resetOperation: {} }, 'unknown batch reset type Unspecified'],
    ['options without one', { ...without, resetOperation: { options: {} } }, 'batch reset missing target'],
    ['no activities', { ...without, unpauseActivitiesOperation: {} }, 'activity filter must be set'],
    ['no activities to reset', { ...without, resetActivitiesOperation: {} }, 'must provide ActivityType or MatchAll'],
    [
      'an empty type of activity',
      { ...without, resetActivitiesOperation: { type: '' } },
      'Either activity type must be set, or match all should be set to true',
    ],
    [
      'no options of activities',
      { ...without, updateActivityOptionsOperation: { matchAll: true } },
      'Either activity type must be set, or restore original should be set to true',
    ],
    ['no options of workflows', { ...without, updateWorkflowOptionsOperation: {} }, 'must provide UpdateOptions'],
    [
      'options that are not named',
      { ...without, updateWorkflowOptionsOperation: { workflowExecutionOptions: {} } },
      'must provide UpdateMask',
    ],
    [
      'options that nobody knows',
      { ...without, updateWorkflowOptionsOperation: { workflowExecutionOptions: {}, updateMask: { paths: ['nope'] } } },
      'error parsing UpdateMask: proto: invalid path "nope" for message "temporal.api.workflow.v1.WorkflowExecutionOptions"',
    ],
    [
      'a priority that is none',
      {
        ...without,
        updateWorkflowOptionsOperation: {
          workflowExecutionOptions: { priority: { priorityKey: -1 } },
          updateMask: { paths: ['priority'] },
        },
      },
      "priority key can't be negative",
    ],
    ['an id that is too long', { ...job, jobId: 'é'.repeat(501) }, 'JobId length exceeds limit.'],
    ['a query that is none', { ...job, visibilityQuery: 'WorkflowType =' }, 'invalid visibility query: syntax error at position 41'],
    ['a query by what nobody knows', { ...job, visibilityQuery: `Nope = 'x'` }, 'invalid visibility query: invalid search attribute: Nope'],
    [
      'activities that stand alone',
      { ...without, cancelActivitiesOperation: {} },
      'The operation type *workflowservice.StartBatchOperationRequest_CancelActivitiesOperation is not supported for this namespace',
    ],
    [
      'a list that is too long',
      { ...job, visibilityQuery: '', executions: Array.from({ length: 1_001 }, () => ({ workflowId: 'w' })) },
      'a batch operation takes at most 1000 executions, and 1001 are listed',
    ],
    [
      'executions that are no workflows',
      {
        ...job,
        visibilityQuery: '',
        targetExecutions: [
          { type: 1, businessId: 'a' },
          { type: 2, businessId: 'b' },
        ],
      },
      'target_executions[1] has type Activity, but operation *workflowservice.StartBatchOperationRequest_TerminationOperation requires Workflow',
    ],
    [
      'a reset with a signal behind it',
      { ...without, resetOperation: { resetType: 1, postResetOperations: [{ signalWorkflow: { signalName: 's' } }] } },
      'unsupported post reset operation: *workflow.PostResetOperation_SignalWorkflow_',
    ],
  ])('%s', async (_, fields, message) => {
    expect(await refusal(fields)).toEqual([codes.INVALID_ARGUMENT, message]);
  });

  test.each<[string, Plain, string]>([
    ['a build id', { ...without, resetOperation: { options: { buildId: 'b' } } }, 'build_id of ResetOptions'],
    [
      'another version',
      { ...without, updateWorkflowOptionsOperation: { workflowExecutionOptions: {}, updateMask: { paths: ['versioning_override'] } } },
      'versioning_override',
    ],
  ])('not yet: %s', async (_, fields, what) => {
    expect(await refusal(fields)).toEqual([codes.UNIMPLEMENTED, `${what} is not supported by this server yet`]);
  });

  test('nobody knows of it', async () => {
    for (const method of ['DescribeBatchOperation', 'StopBatchOperation']) {
      expect(await refusal({ jobId: 'none', reason: 'r' }, method)).toEqual([codes.NOT_FOUND, 'workflow not found for ID: none']);
    }
  });

  test('a workflow cannot have the id that a job is kept under', async () => {
    const start = { workflowId: 'temporal-sys-batcher:x', workflowType: { name: 't' }, taskQueue: { name: 'q' }, requestId: 'r' };
    expect(await refusal(start, 'StartWorkflowExecution')).toEqual([
      codes.INVALID_ARGUMENT,
      `WorkflowId temporal-sys-batcher:x is a batch job's.`,
    ]);
  });
});

describe('what is done for a job', () => {
  const nowhere = newBatch(0).position;

  async function opened(change: Partial<Parameters<typeof encodeStartBatchOperationRequest>[0]>, { frontend }: Bench = bench) {
    const definition = encodeStartBatchOperationRequest({ ...emptyStartBatchOperationRequest(), reason: 'cleaning up', ...change });
    const about: BatchJob = { namespaceId: 'default-id', namespace: 'default', runId: 'job-run', startTimeMs: shard.nowMs, definition };
    return (await frontend.batchOperations()).open(about);
  }

  const terminates = { terminationOperation: { details: undefined, identity: 'me' } };
  const target = { workflowId: 'w', runId: '00000000-0000-4000-8000-000000000001' };

  test('its query is read by pages, in the order of List, and of open workflows alone', async () => {
    bench.stub.rows = [1, 2, 3, 2, 1].map((status, index) =>
      aRow({
        namespaceId: 'default-id',
        workflowType: 'Report',
        workflowId: `w${index}`,
        runId: `run-${index}`,
        startTimeMs: index,
        status,
      }),
    );
    const work = await opened({ ...terminates, visibilityQuery: `WorkflowType = 'Report'` });
    expect(await work.count()).toBe(2);
    const first = await work.page(nowhere, 1);
    expect([first.targets.map((one) => one.target.workflowId), first.isLast]).toEqual([['w4'], false]);
    const second = await work.page(first.targets[0]?.position ?? nowhere, 5);
    expect([second.targets.map((one) => one.target.workflowId), second.isLast]).toEqual([['w0'], true]);
    const deletes = await opened({ deletionOperation: { identity: '' }, visibilityQuery: `WorkflowType = 'Report'` });
    expect(await deletes.count()).toBe(5);
  });

  test('a page has no more bytes than one of List, and what follows is on the next', async () => {
    const memo = new Uint8Array(1_500_000);
    bench.stub.rows = Array.from({ length: 5 }, (_, index) =>
      aRow({ namespaceId: 'default-id', workflowId: `w${index}`, runId: `run-${index}`, startTimeMs: index, status: 1, memo }),
    );
    const work = await opened({ ...terminates, visibilityQuery: `WorkflowId STARTS_WITH 'w'` });
    const first = await work.page(nowhere, 100);
    expect([first.targets.map((one) => one.target.workflowId), first.isLast]).toEqual([['w4', 'w3', 'w2'], false]);
    const second = await work.page(first.targets.at(-1)?.position ?? nowhere, 100);
    expect([second.targets.map((one) => one.target.workflowId), second.isLast]).toEqual([['w1', 'w0'], true]);
  });

  test('each of its calls passes what the calls of clients pass, with the row of its RPC', async () => {
    const told: unknown[] = [];
    const logger: Logger = {
      ...silentLogger,
      enabled: () => true,
      debug: (_message, fields) => void told.push([fields?.['operation'], fields?.['code']]),
    };
    const logged = await openBench({ logger });
    onTestFinished(() => logged.close());
    const work = await opened({ ...terminates, visibilityQuery: `WorkflowType = 'Report'` }, logged);
    await work.count();
    await work.page(nowhere, 1);
    await work.perform(target);
    expect(told).toEqual([
      ['CountWorkflowExecutions', codes.OK],
      ['ListWorkflowExecutions', codes.OK],
      ['TerminateWorkflowExecution', codes.NOT_FOUND],
    ]);
  });

  test('a count that takes too long holds no job up: how many there are is seen on the way', async () => {
    const tooLong = async (): Promise<never> => {
      throw new DatabaseError('overtime', 'it did not end in time');
    };
    const slow = await openBench({ visibility: { list: tooLong, count: tooLong, giveUp: async () => {} } });
    onTestFinished(() => slow.close());
    const work = await opened({ ...terminates, visibilityQuery: `WorkflowType = 'Report'` }, slow);
    expect(await work.count()).toBe(0);
    await expect(work.page(nowhere, 5)).rejects.toMatchObject({ kind: 'mayPass' } satisfies Partial<BatchTrouble>);
  });

  test('its rate is what it asks for, and no more than the server lets it', async () => {
    for (const [asked, expected] of [
      [0, 50],
      [7.5, 7.5],
      [1_000, 50],
      [NaN, 50],
      [-1, 50],
    ] as const) {
      const work = await opened({ ...terminates, visibilityQuery: `WorkflowType = 'Report'`, maxOperationsPerSecond: asked });
      expect([asked, work.perSecondMax]).toEqual([asked, expected]);
    }
  });

  test('a query that has become invalid ends it', async () => {
    const work = await opened({ ...terminates, visibilityQuery: `Nope = 'x'` });
    await expect(work.count()).rejects.toMatchObject({ kind: 'stays' } satisfies Partial<BatchTrouble>);
  });

  test.each([
    ['unavailable', 'passes'],
    ['data', 'stays'],
    ['corrupt', 'stays'],
  ] as const)('a query that its database answers with %s: that %s', async (code, kind) => {
    const fails = async (): Promise<never> => {
      throw new DatabaseError(code, 'no such column: s17');
    };
    const lines: string[] = [];
    const logger = createLogger({ level: 'info', format: 'text', write: (line) => void lines.push(line), nowMs: () => 0 });
    const other = await openBench({ logger, visibility: { list: fails, count: fails, giveUp: async () => {} } });
    onTestFinished(() => other.close());
    const work = await opened({ ...terminates, visibilityQuery: `WorkflowType = 'Report'` }, other);
    const trouble = { kind, message: expect.stringContaining('no such column: s17') };
    await expect(work.count()).rejects.toMatchObject(trouble);
    await expect(work.page(nowhere, 5)).rejects.toMatchObject(trouble);
    const told = lines.filter((line) => line.includes('a batch job has failed') && line.includes('no such column: s17'));
    expect(told).toHaveLength(kind === 'stays' ? 2 : 0);
  });

  test('each operation is the request of a client, with an id that is the same when it is sent again', async () => {
    bench.stub.answers.history = () => ({ kind: 'signaled', runId: target.runId });
    const signals = await opened({
      signalOperation: { signal: 'go', input: undefined, header: undefined, identity: 'me' },
      executions: [target],
    });
    expect([await signals.perform(target), await signals.perform(target)]).toEqual(['done', 'done']);
    const sent = bench.stub.historyCommands.map((command) => (command.kind === 'signalWorkflow' ? command.signal : undefined));
    expect(sent[0]).toMatchObject({ signalName: 'go', identity: 'me' });
    expect(sent[0]?.requestId).toHaveLength(36);
    expect(sent[1]?.requestId).toBe(sent[0]?.requestId);
    await signals.perform({ ...target, workflowId: 'another' });
    const last = bench.stub.historyCommands.at(-1);
    expect(last?.kind === 'signalWorkflow' && last.signal.requestId).not.toBe(sent[0]?.requestId);
  });

  test.each([
    ['unpauseActivity', { unpauseActivitiesOperation: { ...emptyBatchOperationUnpauseActivities(), matchAll: true } }],
    ['resetActivity', { resetActivitiesOperation: { ...emptyBatchOperationResetActivities(), matchAll: true } }],
    [
      'updateActivityOptions',
      { updateActivityOptionsOperation: { ...emptyBatchOperationUpdateActivityOptions(), matchAll: true, restoreOriginal: true } },
    ],
  ] as const)('%s of a step that is taken once more has the id that it had', async (kind, operation) => {
    bench.stub.answers.history = () => ({ kind: 'done' });
    const work = await opened({ ...operation, executions: [target] });
    for (const workflowId of [target.workflowId, target.workflowId, 'another']) await work.perform({ ...target, workflowId });
    const ids = bench.stub.historyCommands.map((command) => command.kind === kind && 'requestId' in command && command.requestId);
    expect(ids[0]).toHaveLength(36);
    expect([ids.length, ids[1] === ids[0], ids[2] === ids[0]]).toEqual([3, true, false]);
  });

  test('options of workflows are changed as by a call', async () => {
    bench.stub.answers.history = () => ({ kind: 'workflowOptionsUpdated', priority: undefined });
    const priority = { priorityKey: 1, fairnessKey: 'tenant', fairnessWeight: 0 };
    const options = { versioningOverride: undefined, priority: encodePriority(priority), timeSkippingConfig: undefined };
    const updateWorkflowOptionsOperation = { identity: 'me', workflowExecutionOptions: options, updateMask: { paths: ['priority'] } };
    const changes = await opened({ updateWorkflowOptionsOperation, executions: [target] });
    expect(await changes.perform(target)).toBe('done');
    expect(bench.stub.historyCommands).toMatchObject([
      { kind: 'updateWorkflowOptions', key: { ...target, namespaceId: 'default-id' }, fields: ['priority'], identity: 'me' },
    ]);
  });

  test.each([
    ['workflow-closed', 'done'],
    ['workflow-not-found', 'done'],
    ['busy-workflow', 'again'],
    ['invalid-argument', 'failed'],
    ['failed-precondition', 'failed'],
  ] as const)('a refusal by %s: %s', async (reason, outcome) => {
    bench.stub.answers.history = () => ({ kind: 'rejected', rejection: { reason, message: 'm' } });
    expect(await (await opened({ ...terminates, executions: [target] })).perform(target)).toBe(outcome);
  });

  test('a reset finds the run that a list names in upper case, and fails for one that no run can have', async () => {
    const runId = '0a000000-0000-4000-8000-00000000000b';
    bench.stub.answers.history = (command) =>
      'key' in command && command.key.runId === runId
        ? { kind: 'rejected', rejection: { reason: 'busy-workflow', message: 'found, and busy' } }
        : { kind: 'rejected', rejection: { reason: 'workflow-not-found', message: 'm' } };
    const options = { ...emptyResetOptions(), firstWorkflowTask: new Uint8Array(0) };
    const resets = await opened({ resetOperation: { ...emptyBatchOperationReset(), options }, executions: [target] });
    expect(await resets.perform({ workflowId: 'w', runId: runId.toUpperCase() })).toBe('again');
    expect(await resets.perform({ workflowId: 'w', runId: 'no-uuid' })).toBe('failed');
  });

  test('a reset of whatever run is the current one names the one whose events it has read', async () => {
    const runId = '0a000000-0000-4000-8000-00000000000b';
    const other = new ShardUnderTest();
    other.start();
    other.complete(other.pollWorkflowTask());
    const events = other.events().map(encodeEvent);
    bench.stub.answers.page = () => ({ kind: 'historyPage', events });
    bench.stub.answers.history = ({ kind }) =>
      kind === 'getHistoryPosition'
        ? {
            ...{ kind: 'historyPosition', firstEventId: 1, lastEventId: events.length, closed: false, tailEvents: [] },
            key: { namespaceId: 'default-id', workflowId: 'w', runId },
          }
        : { kind: 'rejected', rejection: { reason: 'busy-workflow', message: 'm' } };
    const options = { ...emptyResetOptions(), lastWorkflowTask: new Uint8Array(0) };
    const resets = await opened({ resetOperation: { ...emptyBatchOperationReset(), options }, executions: [target] });
    bench.stub.historyCommands.length = 0;
    expect(await resets.perform({ workflowId: 'w', runId: '' })).toBe('again');
    expect(bench.stub.historyCommands.map((command) => ('key' in command ? [command.kind, command.key.runId] : []))).toEqual([
      ['getHistoryPosition', ''],
      ['getHistoryPosition', runId],
      ['resetWorkflow', runId],
    ]);
  });

  test.each(['firstWorkflowTask', 'lastWorkflowTask'] as const)(
    'a reset to the %s goes to one that still waits for its worker',
    async (which) => {
      shard.start();
      bench.stub.answers.history = (command) => {
        if (command.kind !== 'getHistoryPosition' && command.kind !== 'resetWorkflow') throw new Error(`not expected: ${command.kind}`);
        return shard.ask({ ...command, key: { ...command.key, namespaceId: key.namespaceId } }) ?? 'never';
      };
      bench.stub.answers.page = () => ({ kind: 'historyPage', events: shard.events().map(encodeEvent) });
      const options = { ...emptyResetOptions(), [which]: new Uint8Array(0) };
      const resets = await opened({ resetOperation: { ...emptyBatchOperationReset(), options }, executions: [target] });
      expect(await resets.perform({ workflowId: key.workflowId, runId: '' })).toBe('done');
      expect(shard.history()).toEqual([
        ...['workflowExecutionStarted', 'workflowTaskScheduled', 'workflowTaskStarted', 'workflowTaskFailed', 'workflowTaskScheduled'],
      ]);
    },
  );

  test('a run that goes on by a reset since the job began is found by its query too, and is reset no more', async () => {
    shard.start();
    shard.complete(shard.pollWorkflowTask());
    const base = shard.describe().key.runId;
    const options = { ...emptyResetOptions(), workflowTaskId: 4 };
    const resets = await opened({ resetOperation: { ...emptyBatchOperationReset(), options }, visibilityQuery: `WorkflowType = 'Report'` });
    shard.advance(1);
    const reset = shard.reset(4);
    bench.stub.answers.history = (command) => ('key' in command ? shard.describe({ ...key, runId: command.key.runId }) : 'never');
    bench.stub.historyCommands.length = 0;
    expect(await resets.perform({ workflowId: key.workflowId, runId: reset })).toBe('done');
    expect(bench.stub.historyCommands.map(({ kind }) => kind)).toEqual(['describeWorkflow']);
    await resets.perform({ workflowId: key.workflowId, runId: base });
    expect(bench.stub.historyCommands.length).toBeGreaterThan(2);
  });

  test('a shard that is not served is asked again', async () => {
    bench.stub.answers.history = () => ({ kind: 'unavailable', message: 'moving' });
    expect(await (await opened({ ...terminates, executions: [target] })).perform(target)).toBe('again');
  });
});
