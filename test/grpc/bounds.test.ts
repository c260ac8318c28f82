/**
 * Every number of every request that is built has a bound. The messages' own descriptors are walked, so a number that nobody thought of
 * fails here; and each bound is tried with the extremes of its type, from the socket through the history core to what is written.
 */
import { status as codes } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isLookedInto, leanSchema } from '../../scripts/generate/lean-schema.ts';
import { loadPublicApi } from '../../scripts/generate/public-api.ts';
import { HandlerContext } from '../../src/grpc/handler-context.ts';
import { operatorService } from '../../src/grpc/operator-service/operator-service.ts';
import { TokenSigner } from '../../src/grpc/tokens/token-signer.ts';
import { tokensOf } from '../../src/grpc/tokens/tokens.ts';
import { type Bound, bounds } from '../../src/grpc/validation/bounds.ts';
import { workflowRpcs } from '../../src/grpc/rpcs/workflow-rpcs.ts';
import { workflowService } from '../../src/grpc/workflow-service/workflow-service.ts';
import type { HistoryCommand } from '../../src/history/commands/history-commands.ts';
import { durationMsMax } from '../../src/kernel/duration.ts';
import { emptyConfig } from '../../src/matching/task-queue-config.ts';
import { namespaceId, scheduleActivity, ShardUnderTest } from '../history/shard-under-test.ts';
import { localName } from '../wire/upstream.ts';
import { openBench, type Bench } from './frontend-bench.ts';
import { namespace, StubServer } from './stub-ports.ts';

const upstream = loadPublicApi();
const { declared } = leanSchema(upstream);

type Place = { readonly method: string; readonly path: readonly string[]; readonly field: protobuf.Field };

/** Bytes of a request that are decoded all the same. */
const decodedBytes: Readonly<Record<string, string>> = {
  'RecordWorkerHeartbeatRequest.worker_heartbeat': 'temporal.api.worker.v1.WorkerHeartbeat',
  'RespondActivityTaskFailedRequest.failure': 'temporal.api.failure.v1.Failure',
  'StartWorkflowExecutionRequest.priority': 'temporal.api.common.v1.Priority',
};

/** What an Any of a request may be. */
const updateMessages = 'temporal.api.update.v1.';
const anyOf: Readonly<Record<string, readonly string[]>> = {
  'Message.body': [`${updateMessages}Acceptance`, `${updateMessages}Rejection`, `${updateMessages}Response`],
};

/** They look at nothing of their requests. */
const refused: ReadonlySet<string> = new Set(
  [...workflowRpcs.rpcs].flatMap(([name, { missing }]) => (missing?.refusal === undefined ? [] : [name])),
);

/** `Message.field` → where a request has it. */
function numbersOfRequests(): ReadonlyMap<string, readonly Place[]> {
  const found = new Map<string, Place[]>();
  const walk = (type: protobuf.Type, method: string, path: readonly string[]): void => {
    for (const field of type.fieldsArray) {
      const name = `${localName(type)}.${field.name}`;
      const deeper = [...path, field.name];
      if (isNumber(field)) found.set(name, [...(found.get(name) ?? []), { method, path: deeper, field }]);
      else if (decodedBytes[name] !== undefined) walk(upstream.lookupType(decodedBytes[name]), method, deeper);
      else if (anyOf[name] !== undefined) for (const body of anyOf[name]) walk(upstream.lookupType(body), method, [...deeper, body]);
      else if (field.resolvedType instanceof protobuf.Type && isLookedInto(field.resolvedType, declared))
        walk(field.resolvedType, method, deeper);
    }
  };
  const context = new HandlerContext(new StubServer().ports);
  for (const method of [...workflowService(context).methods.keys(), ...operatorService(context).methods.keys()]) {
    if (!refused.has(method)) walk(requestType(method), method, []);
  }
  return found;
}

function requestType(method: string): protobuf.Type {
  return upstream.lookupType(`temporal.api.${isOperators(method) ? 'operatorservice' : 'workflowservice'}.v1.${method}Request`);
}

function isOperators(method: string): boolean {
  return ['DeleteNamespace', 'ListClusters'].includes(method) || (method.endsWith('SearchAttributes') && method !== 'GetSearchAttributes');
}

function isNumber(field: protobuf.Field): boolean {
  if (field.type === 'google.protobuf.Duration' || field.type === 'google.protobuf.Timestamp') return true;
  return field.resolvedType instanceof protobuf.Enum || /^(s?fixed|[su]?int|float|double)/.test(field.type);
}

const places = numbersOfRequests();
const rows: Readonly<Record<string, Bound>> = bounds;

test('every number of a request has a row, and every row has its number', () => {
  expect([...places.keys()].toSorted()).toEqual(Object.keys(rows).toSorted());
});

const second = 1_000;
const longMax = '9223372036854775807';
const longMin = '-9223372036854775808';
const different = 'duration has seconds and nanos with different signs';

/** What is sent, and the number that a decision would see; a text is the reader's own refusal. */
type Extreme = { readonly sent: unknown; readonly seen: number | string };

function extremesOf(field: protobuf.Field): readonly Extreme[] {
  const same = (...values: readonly number[]): readonly Extreme[] => values.map((value) => ({ sent: value, seen: value }));
  if (field.type === 'google.protobuf.Duration') {
    const duration = (seconds: number | string, nanos: number, seen: number | string): Extreme => ({ sent: { seconds, nanos }, seen });
    return [
      duration(0, 0, 0),
      duration(1, 0, second),
      duration(0, 1, 1),
      duration(-1, 0, -second),
      duration(0, -1, -1),
      duration(1, -1, different),
      duration(-1, 1, different),
      duration(0, 2 ** 31 - 1, 2_148),
      duration(315_576_000_000, 0, durationMsMax),
      duration(9_007_199_254_740, 0, durationMsMax),
      duration(longMax, 999_999_999, durationMsMax),
      duration(longMin, -999_999_999, -durationMsMax),
    ];
  }
  if (field.type === 'google.protobuf.Timestamp') {
    const moment = (seconds: number | string, nanos: number, seen: number | string): Extreme => ({ sent: { seconds, nanos }, seen });
    return [
      moment(0, 0, 0),
      moment(-1, 0, -second),
      moment(1, -1, second - 1),
      moment(-62_135_596_800, 0, -62_135_596_800_000),
      moment(-62_135_596_801, 0, -62_135_596_801_000),
      moment(253_402_300_799, 999_999_999, 253_402_300_799_999),
      moment(253_402_300_800, 0, 253_402_300_800_000),
      moment(9_000_000_000_000, 0, 9_000_000_000_000_000),
      moment(longMax, 0, 'is outside ±2^53'),
      moment(longMin, 0, 'is outside ±2^53'),
    ];
  }
  if (field.type === 'double' || field.type === 'float') {
    return same(0, -0, 1, -1, 1e-30, 1e30, Infinity, -Infinity, Number.NaN);
  }
  if (field.type === 'int64') {
    const outside = 'is outside ±2^53';
    return [
      ...same(0, 1, -1, 2 ** 53 - 1),
      { sent: '9007199254740993', seen: outside },
      { sent: longMax, seen: outside },
      { sent: longMin, seen: outside },
    ];
  }
  return same(0, 1, -1, 2, 99, 2 ** 31 - 1, -(2 ** 31));
}

const plainSchedule = {
  spec: { interval: [{ interval: { seconds: 1_000_000_000_000 } }] },
  action: { start_workflow: { workflow_id: 'wf', workflow_type: { name: 't' }, task_queue: { name: 'q' } } },
};
/** What comes in lists: one of each. */
const lists: ReadonlySet<string> = new Set(['structured_calendar', 'second', 'backfill_request', 'worker_heartbeat', 'target_executions']);

/** A valid request of each method whose numbers are tried. The path to a command's attributes chooses the command. */
const valid: Readonly<Record<string, Record<string, unknown>>> = {
  StartWorkflowExecution: {
    ...{ workflow_id: 'wf', workflow_type: { name: 't' }, task_queue: { name: 'q' } },
    retry_policy: { initial_interval: { nanos: 1 } },
  },
  SignalWithStartWorkflowExecution: { workflow_id: 'wf', workflow_type: { name: 't' }, task_queue: { name: 'q' }, signal_name: 's' },
  PollActivityTaskQueue: { task_queue: { name: 'q' } },
  DescribeTaskQueue: { task_queue: { name: 'q' } },
  UpdateTaskQueueConfig: { task_queue: 'q', task_queue_type: 2 },
  QueryWorkflow: { execution: { workflow_id: 'wf' }, query: { query_type: 'q' } },
  UpdateWorkflowExecution: {
    workflow_execution: { workflow_id: 'wf' },
    request: { meta: { update_id: 'u' }, input: { name: 'n' } },
  },
  PollWorkflowExecutionUpdate: { update_ref: { workflow_execution: { workflow_id: 'wf' }, update_id: 'u' } },
  GetWorkflowExecutionHistory: { execution: { workflow_id: 'wf' } },
  GetWorkflowExecutionHistoryReverse: { execution: { workflow_id: 'wf' } },
  RegisterNamespace: { workflow_execution_retention_period: { seconds: 86_400 } },
  RespondWorkflowTaskCompleted: {
    sticky_attributes: { worker_task_queue: { name: 'sticky', kind: 2, normal_name: 'q' } },
    force_create_new_workflow_task: true,
  },
  UnpauseActivity: { execution: { workflow_id: 'wf' }, unpause_all: true },
  ResetActivity: { execution: { workflow_id: 'wf' }, match_all: true },
  ResetWorkflowExecution: { workflow_execution: { workflow_id: 'wf' }, request_id: 'reset', workflow_task_finish_event_id: 4 },
  UpdateActivityOptions: {
    execution: { workflow_id: 'wf' },
    match_all: true,
    activity_options: {},
    update_mask: {
      paths: ['schedule_to_close_timeout', 'schedule_to_start_timeout', 'start_to_close_timeout', 'heartbeat_timeout'],
    },
  },
  StartBatchOperation: { job_id: 'j', reason: 'r' },
  CreateSchedule: { schedule_id: 's', request_id: 'r', schedule: plainSchedule },
  ListScheduleMatchingTimes: { schedule_id: 's', start_time: { seconds: 1 }, end_time: { seconds: 2 } },
  RespondQueryTaskCompleted: { completed_type: 1 },
  RespondActivityTaskFailed: { failure: { message: 'm', application_failure_info: { type: 't' } } },
};

/** What a batch job is to do, by what of it is tried. */
const batches: Readonly<Record<string, Record<string, unknown>>> = {
  reset_type: { visibility_query: 'StartTime IS NOT NULL', reset_operation: {} },
  reset_reapply_type: { visibility_query: 'StartTime IS NOT NULL', reset_operation: { reset_type: 1 } },
  options: { visibility_query: 'StartTime IS NOT NULL', reset_operation: { options: { first_workflow_task: {} } } },
  unpause_activities_operation: { visibility_query: 'StartTime IS NOT NULL', unpause_activities_operation: { match_all: true } },
  reset_activities_operation: { visibility_query: 'StartTime IS NOT NULL', reset_activities_operation: { match_all: true } },
  target_executions: { target_executions: [{ business_id: 'wf' }], termination_operation: {} },
  max_operations_per_second: { visibility_query: 'StartTime IS NOT NULL', termination_operation: {} },
};

const commands: Readonly<Record<string, readonly [type: number, attributes: Record<string, unknown>]>> = {
  schedule_activity_task_command_attributes: [
    1,
    {
      activity_id: 'a',
      activity_type: { name: 't' },
      task_queue: { name: 'q' },
      schedule_to_close_timeout: { seconds: 1_000_000_000 },
      start_to_close_timeout: { seconds: 10 },
      retry_policy: { initial_interval: { nanos: 1 } },
    },
  ],
  start_timer_command_attributes: [3, { timer_id: 't' }],
  request_cancel_activity_task_command_attributes: [2, {}],
  continue_as_new_workflow_execution_command_attributes: [10, {}],
  start_child_workflow_execution_command_attributes: [
    11,
    { workflow_id: 'child', workflow_type: { name: 't' }, task_queue: { name: 'q' } },
  ],
};

/** Of an update that nobody knows any more: what its worker says of it is taken. */
const bodies: Readonly<Record<string, Record<string, unknown>>> = {
  [`${updateMessages}Acceptance`]: {
    accepted_request_message_id: 'u/request',
    accepted_request: { meta: { update_id: 'u' }, input: { name: 'n' } },
  },
  [`${updateMessages}Rejection`]: { rejected_request: {} },
};

function bodyWith(name: string, fields: Record<string, unknown>): Record<string, unknown> {
  const type = upstream.lookupType(name);
  const value = type.encode(type.fromObject({ ...bodies[name], ...fields })).finish();
  return { type_url: `type.googleapis.com/${name}`, value };
}

const description = {
  kind: 'taskQueueDescription',
  pollers: [],
  backlogCountHint: 0,
  readLevel: 0,
  ackLevel: 0,
  backlogAgeMs: 0,
  isRateLimited: false,
  levels: [],
  ratePerSecond: undefined,
  config: undefined,
} as const;

let bench: Bench;
let shard: ShardUnderTest;
const tokenKey = Buffer.alloc(32, 7);
const tokens = tokensOf(new TokenSigner(() => tokenKey));
const forTheShard: ReadonlySet<HistoryCommand['kind']> = new Set([
  'startWorkflow',
  'signalWithStartWorkflow',
  'completeWorkflowTask',
  'failWorkflowTask',
  'failActivityTask',
  'createSchedule',
  'startBatch',
]);

beforeAll(async () => {
  bench = await openBench({ tokenKey: () => tokenKey });
  bench.stub.namespaces.push({ ...namespace('ns'), id: namespaceId });
  bench.stub.answers.history = (command) => {
    const reply = forTheShard.has(command.kind) ? shard.request(command) : undefined;
    return reply ?? { kind: 'rejected', rejection: { reason: 'workflow-not-found', message: 'workflow not found for ID: wf' } };
  };
  bench.stub.answers.matching = (request) => {
    if (request.kind === 'answerQuery') return { kind: 'done' };
    if (request.kind === 'describeTaskQueue') return description;
    if (request.kind === 'updateTaskQueueConfig') return { kind: 'taskQueueConfigured', config: emptyConfig };
    return { kind: 'emptyPoll' };
  };
});

afterAll(() => bench.close());

/** The number's places that are tried: of a policy, those of an activity and of a start; a poll may name each stage of an update. */
function placesOf(name: string): readonly Place[] {
  const all = places.get(name) ?? [];
  const ofActivities = all.find(({ path }) => path[1] === 'schedule_activity_task_command_attributes');
  const ofMethod = (wanted: string): Place | undefined => all.find(({ method }) => method === wanted);
  const ofPolls = ofMethod('PollWorkflowExecutionUpdate');
  const tried = name.startsWith('RetryPolicy.') ? [ofActivities, ofMethod('StartWorkflowExecution')] : [ofPolls ?? all[0]];
  return tried.map((place) => {
    if (place === undefined) throw new Error(`no request has ${name}`);
    return place;
  });
}

function requestWith({ method, path, field }: Place, value: unknown): Uint8Array {
  const type = requestType(method);
  const request: Record<string, unknown> = structuredClone(valid[method] ?? {});
  if (method === 'StartBatchOperation') Object.assign(request, structuredClone(batches[path[1] ?? ''] ?? batches[path[0] ?? '']));
  if (type.fields['namespace'] !== undefined) request['namespace'] = method === 'RegisterNamespace' ? 'new' : 'ns';
  if (type.fields['task_token'] !== undefined) request['task_token'] = taskToken(method);
  const command = path[0] === 'commands' ? commands[path[1] ?? ''] : undefined;
  const attributes: Record<string, unknown> = structuredClone(command?.[1] ?? {});
  if (path[0] === 'commands') {
    request['commands'] = [
      path[1] === 'command_type' ? { command_type: value } : { command_type: command?.[0], [path[1] ?? '']: attributes },
    ];
    if (path.length > 2) put(attributes, path.slice(2), value);
  } else if (path[0] === 'messages') {
    const [, own = '', bodyName = `${updateMessages}Rejection`, ofBody] = path;
    const body = bodyWith(bodyName, ofBody === undefined ? {} : { [ofBody]: value });
    request['messages'] = [{ id: 'm', protocol_instance_id: 'u', ...(ofBody === undefined ? { [own]: value } : {}), body }];
  } else {
    const isMap = field instanceof protobuf.MapField;
    put(request, path, isMap ? { X: value } : field.repeated ? [value] : value);
  }
  return type.encode(type.fromObject(request)).finish();
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = '', ...rest] = path;
  if (rest.length === 0) target[first] = value;
  // A map's values: one of any name.
  else if (first === 'query_results') target[first] = { x: Object.fromEntries([[rest[0], value]]) };
  else if (first === 'interval') put((target[first] as [Record<string, unknown>])[0], rest, value);
  else if (first === 'backfill_request') target[first] = [{ start_time: { seconds: 1 }, end_time: { seconds: 2 }, [rest[0] ?? '']: value }];
  else if (lists.has(first)) put((((target[first] ??= [{}]) as unknown[])[0] ?? {}) as Record<string, unknown>, rest, value);
  else put((target[first] ??= {}) as Record<string, unknown>, rest, value);
}

/** A token for a task that stands in a fresh shard. */
function taskToken(method: string): Uint8Array {
  if (method === 'RespondQueryTaskCompleted') {
    return tokens.queryTask.sign({ namespaceId, taskQueue: 'q', sticky: false, partition: 0, queryId: 'x' });
  }
  shard.start();
  const task = shard.pollWorkflowTask();
  if (!method.startsWith('RespondActivity')) return tokens.workflowTask.sign({ ...task, ...task.key });
  shard.complete(task, [scheduleActivity({ startToCloseTimeoutMs: second })]);
  const activity = shard.pollActivityTask();
  return tokens.activityTask.sign({ ...activity, ...activity.key });
}

/** Everything that may follow from a number that was accepted: attempts, retries, timers, the child's start, whole lifetimes. */
function liveOn(): void {
  for (let step = 0; step < 8; step++) {
    const pending = shard.pendingTasks();
    if (pending.includes('activityTask')) {
      const activity = shard.pollActivityTask();
      const facts = { kind: 'application', type: 'x', nonRetryable: false, nextRetryDelayMs: 0, message: 'm' } as const;
      const { key, scheduledEventId, activityId, attempt } = activity;
      const ref = { key, scheduledEventId, activityId, attempt };
      const failure = { facts, bytes: new Uint8Array(0) };
      shard.ask({ kind: 'failActivityTask', activity: ref, failure, lastHeartbeatDetails: undefined, identity: 'w' });
    }
    if (pending.includes('workflowTask')) shard.complete(shard.pollWorkflowTask());
    shard.pumpOutboxIfPossible();
    if (shard.nextTimer() !== undefined) shard.fireNextTimer();
  }
}

const tried = Object.keys(rows).flatMap((name) =>
  placesOf(name).flatMap((place) =>
    extremesOf(place.field).map(({ sent, seen }) => ({ name, place, sent, seen, label: `${name} = ${label(sent)} (${place.method})` })),
  ),
);

function label(sent: unknown): string {
  if (typeof sent === 'object') return Object.values(sent ?? {}).join(' s ');
  return Object.is(sent, -0) ? '-0' : String(sent as number | string);
}

describe('at its extremes', () => {
  test.each(tried)('$label', async ({ name, place, sent, seen }) => {
    shard = new ShardUnderTest();
    const row = rows[name] as Bound;
    const problem = typeof seen === 'string' ? seen : row.problem(seen);
    const { historyCommands, matchingRequests, clusterCommands } = bench.stub;
    for (const asked of [historyCommands, matchingRequests, clusterCommands]) asked.length = 0;
    // Polls are judged by their deadline first.
    const answer = bench.client.call(pathOf(place), requestWith(place, sent), { timeoutMs: 10_000 });
    const error = await answer.then(
      () => undefined,
      (thrown: { readonly code: number; readonly details: string }) => thrown,
    );
    if (problem === undefined) {
      const harmless = [undefined, codes.NOT_FOUND, codes.UNIMPLEMENTED];
      // A known command, and nothing else of it.
      if (name === 'Command.command_type' && error?.code === codes.INVALID_ARGUMENT)
        expect(error.details).toContain('Attributes is not set on');
      else expect(harmless, error?.details).toContain(error?.code);
    } else {
      expect(error?.code, error?.details).toBe(codes.INVALID_ARGUMENT);
      expect(error?.details).toContain(problem);
      if (typeof seen === 'string') expect(error?.details, 'it names the field').toContain(name);
      // A start is judged by the edge.
      const by = row.by === 'core' && (typeof seen === 'string' || place.method === 'StartWorkflowExecution') ? 'edge' : row.by;
      if (by === 'edge' && typeof seen === 'number') expect(error?.details).toBe(problem);
      if (by === 'core') expect(shard.history()).toContain('workflowTaskFailed');
      // By a sync the edge only learns what the cluster knows.
      else expect([...historyCommands, ...matchingRequests, ...clusterCommands].filter(({ kind }) => kind !== 'syncCluster')).toEqual([]);
    }
    liveOn();
  });
});

describe('what only passes through keeps its numbers', () => {
  const large = '1152921504606846976';

  test('the size of an external payload in a memo', async () => {
    shard = new ShardUnderTest();
    const memo = { fields: { note: { data: Buffer.from('"x"'), external_payloads: [{ size_bytes: large }] } } };
    await bench.client.call('StartWorkflowExecution', encoded('StartWorkflowExecution', { ...valid['StartWorkflowExecution'], memo }));
    const type = upstream.lookupType('temporal.api.common.v1.Memo');
    const kept = type.toObject(type.decode(shard.lastEvent('workflowExecutionStarted').attributes.memo ?? new Uint8Array(0)), {
      longs: String,
    });
    expect(kept['fields'].note.external_payloads).toEqual([{ size_bytes: large }]);
    liveOn();
  });

  test('event ids inside a failure', async () => {
    shard = new ShardUnderTest();
    const failure = {
      activity_failure_info: { scheduled_event_id: large, started_event_id: longMin },
      cause: { application_failure_info: {} },
    };
    const command = { command_type: 5, fail_workflow_execution_command_attributes: { failure } };
    await bench.client.call('RespondWorkflowTaskCompleted', encoded('RespondWorkflowTaskCompleted', { commands: [command] }));
    const type = upstream.lookupType('temporal.api.failure.v1.Failure');
    const kept = type.decode(shard.lastEvent('workflowExecutionFailed').attributes.failure ?? new Uint8Array(0));
    expect(type.toObject(kept, { longs: String })).toMatchObject({
      activity_failure_info: { scheduled_event_id: large, started_event_id: longMin },
    });
  });

  test('a hundred thousand entries in the metadata of a payload', async () => {
    shard = new ShardUnderTest();
    shard.checks = false;
    const metadata = Object.fromEntries(Array.from({ length: 100_001 }, (_, at) => [`m${at}`, new Uint8Array(0)]));
    const memo = { fields: { note: { data: Buffer.from('"x"'), metadata } } };
    await bench.client.call('StartWorkflowExecution', encoded('StartWorkflowExecution', { ...valid['StartWorkflowExecution'], memo }));
    liveOn();
    expect(shard.describe().memo?.length).toBeGreaterThan(1_000_000);
  });
});

describe('the token comes first', () => {
  const tooMany = (taskToken: Uint8Array): Uint8Array =>
    encoded('RespondWorkflowTaskCompleted', { task_token: taskToken, commands: Array.from({ length: 51_201 }, () => ({})) });

  test('a request of a stranger is not decoded: nothing in it is complained about but its token', async () => {
    shard = new ShardUnderTest();
    const error = await bench.client.refusal('RespondWorkflowTaskCompleted', tooMany(Buffer.alloc(100, 1)), { gzip: true });
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, 'Error deserializing task token.']);
    const own = await bench.client.refusal('RespondWorkflowTaskCompleted', tooMany(taskToken('RespondWorkflowTaskCompleted')));
    expect(own.code).toBe(codes.RESOURCE_EXHAUSTED);
  });

  test('a token behind more fields than come before one is none', async () => {
    shard = new ShardUnderTest();
    const token = encoded('RespondWorkflowTaskCompleted', {});
    const fields = (count: number): Uint8Array => Buffer.concat([...Array<Uint8Array>(count).fill(Uint8Array.from([40, 0])), token]);
    const error = await bench.client.refusal('RespondWorkflowTaskCompleted', fields(2_000_000));
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, 'Task token not set on request.']);
    await bench.client.call('RespondWorkflowTaskCompleted', fields(20));
    expect(shard.history()).toContain('workflowTaskCompleted');
  });
});

describe('counts', () => {
  const memoOf = (from: number, count: number): Record<string, unknown> => ({
    fields: Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${from + at}`, { data: Buffer.from('1') }])),
  });
  const modify = (memo: Record<string, unknown>): Record<string, unknown> => ({
    command_type: 16,
    modify_workflow_properties_command_attributes: { upserted_memo: memo },
  });

  test.each([10_001, 100_001])('%i keys in the memo of a start', async (count) => {
    shard = new ShardUnderTest();
    const request = encoded('StartWorkflowExecution', { ...valid['StartWorkflowExecution'], memo: memoOf(0, count) });
    const error = await bench.client.refusal('StartWorkflowExecution', request);
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, `Memo has ${count} keys, more than the limit of 10000.`]);
  });

  test('keys that a workflow adds, at once and one after the other', async () => {
    for (const [memos, count] of [
      [[memoOf(0, 100_001)], 100_001],
      [[memoOf(0, 6_000), memoOf(6_000, 6_000)], 12_000],
    ] as const) {
      shard = new ShardUnderTest();
      shard.checks = false;
      const request = encoded('RespondWorkflowTaskCompleted', { commands: memos.map(modify) });
      const error = await bench.client.refusal('RespondWorkflowTaskCompleted', request);
      const text = `BadModifyWorkflowPropertiesAttributes: ModifyWorkflowPropertiesCommandAttributes. Memo has ${count} keys, more than the limit of 10000.`;
      expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, text]);
      expect(shard.lastEvent('workflowExecutionTerminated').attributes.reason).toBe(text);
    }
  });

  test('more commands than a history may have events: in the words at which a worker gives the task up', async () => {
    shard = new ShardUnderTest();
    const commandsOf = (count: number): Uint8Array =>
      encoded('RespondWorkflowTaskCompleted', {
        commands: Array.from({ length: count }, () => ({ command_type: 9, record_marker_command_attributes: { marker_name: 'm' } })),
      });
    const error = await bench.client.refusal('RespondWorkflowTaskCompleted', commandsOf(51_201));
    expect([error.code, error.details]).toEqual([
      codes.RESOURCE_EXHAUSTED,
      'grpc: received message larger than max (RespondWorkflowTaskCompletedRequest.commands holds more than 51200 elements)',
    ]);
  });

  test('more links than anyone could mean', async () => {
    const request = encoded('SignalWorkflowExecution', { links: Array.from({ length: 10_001 }, () => ({})) });
    const error = await bench.client.refusal('SignalWorkflowExecution', request);
    expect([error.code, error.details]).toEqual([
      codes.RESOURCE_EXHAUSTED,
      'grpc: received message larger than max (SignalWorkflowExecutionRequest.links holds more than 10000 elements)',
    ]);
  });
});

function encoded(method: string, fields: Record<string, unknown>): Uint8Array {
  const type = upstream.lookupType(`temporal.api.workflowservice.v1.${method}Request`);
  const needsNone = type.fields['task_token'] === undefined || 'task_token' in fields;
  const token = needsNone ? {} : { task_token: taskToken(method) };
  return type.encode(type.fromObject({ namespace: 'ns', ...token, ...fields })).finish();
}

function pathOf({ method }: Place): string {
  return isOperators(method) ? `/temporal.api.operatorservice.v1.OperatorService/${method}` : method;
}
