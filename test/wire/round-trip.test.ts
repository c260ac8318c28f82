/**
 * Our codec against other implementations of the same messages: protobufjs reflection over the public .proto files for every message,
 * and `@temporalio/proto`, which is what SDK workers send with, for the ones of the hot path.
 */
import proto from '@temporalio/proto';
import fc from 'fast-check';
import Long from 'long';
import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { CommandType, EventType, RetryState, TaskQueueKind, TimeoutType } from '../../src/wire/generated/lean/enums.ts';
import { decodeRetryPolicy, encodeRetryPolicy } from '../../src/wire/generated/lean/common.ts';
import { withRetryDefaults } from '../../src/kernel/retry-policy.ts';
import { decodeFailure, emptyFailure, encodeFailure } from '../../src/wire/generated/lean/failure.ts';
import { emptyActivityTaskTimedOutEventAttributes, emptyHistoryEvent, encodeHistoryEvent } from '../../src/wire/generated/lean/history.ts';
import {
  decodeRespondWorkflowTaskCompletedRequest,
  decodeStartWorkflowExecutionRequest,
  emptyPollWorkflowTaskQueueResponse,
  emptyStartWorkflowExecutionRequest,
  encodePollWorkflowTaskQueueResponse,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { timesAlwaysWritten } from '../../scripts/generate/hot-messages.ts';
import { arbitraryMessage } from './arbitrary.ts';
import { leanCodecs } from './codecs.ts';
import { loadPublicApi } from '../../scripts/generate/public-api.ts';
import { declaredTypes, localName, upstreamByLocalName } from './upstream.ts';
import { withoutZeros } from './without-zeros.ts';

const api = proto.temporal.api;
const text = new TextEncoder();
const runId = '0f1e2d3c-1111-4222-8333-0123456789ab';
const payloads = api.common.v1.Payloads.encode({
  payloads: [{ metadata: { encoding: text.encode('json/plain') }, data: text.encode('"hello"') }],
}).finish();

describe('a message of the public API passes through our codec without loss', () => {
  const upstream = upstreamByFlatName();

  test.each(leanCodecs.map((codec) => [codec.name, codec] as const))('%s', (name, codec) => {
    const type = upstream.get(name);
    if (!(type instanceof protobuf.Type)) throw new Error(`the public API has no message ${name}`);
    fc.assert(
      fc.property(arbitraryMessage(type), (message) => {
        const theirs = type.encode(type.fromObject(message)).finish();
        const ours = codec.encode(codec.decode(theirs));
        expect(withoutZeros(canonical(type, ours))).toEqual(withoutZeros(canonical(type, theirs)));
      }),
      { numRuns: 15 },
    );
  });

  test.each(leanCodecs.map((codec) => [codec.name, codec] as const))('an empty %s is what no bytes decode to', (_name, codec) => {
    expect(codec.decode(new Uint8Array(0))).toStrictEqual(codec.empty());
    expect(codec.decode(codec.encode(codec.empty()))).toStrictEqual(codec.empty());
    if (!timesAlwaysWritten.some((path) => path.includes(`.${codec.name}.`))) expect(codec.encode(codec.empty())).toHaveLength(0);
  });
});

describe('what an SDK sends', () => {
  test('a start', () => {
    const bytes = api.workflowservice.v1.StartWorkflowExecutionRequest.encode({
      namespace: 'default',
      workflowId: 'bestellung-größe',
      workflowType: { name: 'order' },
      taskQueue: { name: 'orders', kind: api.enums.v1.TaskQueueKind.TASK_QUEUE_KIND_NORMAL },
      input: api.common.v1.Payloads.decode(payloads),
      workflowRunTimeout: { seconds: Long.fromNumber(3), nanos: 1 },
      workflowTaskTimeout: { seconds: Long.fromNumber(10), nanos: 500_000_000 },
      retryPolicy: { initialInterval: { seconds: Long.fromNumber(1) }, backoffCoefficient: 1.5, nonRetryableErrorTypes: ['Fatal'] },
      onConflictOptions: { attachLinks: true },
    }).finish();
    expect(decodeStartWorkflowExecutionRequest(bytes)).toStrictEqual({
      ...emptyStartWorkflowExecutionRequest(),
      namespace: 'default',
      workflowId: 'bestellung-größe',
      workflowType: { name: 'order' },
      taskQueue: { name: 'orders', kind: TaskQueueKind.NORMAL, normalName: '' },
      input: new Uint8Array(payloads),
      workflowRunTimeoutMs: 3001,
      workflowTaskTimeoutMs: 10_500,
      retryPolicy: {
        initialIntervalMs: 1000,
        backoffCoefficient: 1.5,
        maximumIntervalMs: 0,
        maximumAttempts: 0,
        nonRetryableErrorTypes: ['Fatal'],
      },
      onConflictOptions: { attachRequestId: false, attachCompletionCallbacks: false, attachLinks: true },
    });
  });

  test('a completed workflow task', () => {
    const request = decodeRespondWorkflowTaskCompletedRequest(
      api.workflowservice.v1.RespondWorkflowTaskCompletedRequest.encode({
        taskToken: text.encode('token'),
        commands: [
          {
            commandType: api.enums.v1.CommandType.COMMAND_TYPE_START_TIMER,
            startTimerCommandAttributes: { timerId: '7', startToFireTimeout: { seconds: Long.fromNumber(60) } },
          },
          {
            commandType: api.enums.v1.CommandType.COMMAND_TYPE_SCHEDULE_NEXUS_OPERATION,
            scheduleNexusOperationCommandAttributes: { endpoint: 'e' },
          },
        ],
        stickyAttributes: {
          workerTaskQueue: { name: 'sticky', normalName: 'orders' },
          scheduleToStartTimeout: { seconds: Long.fromNumber(5) },
        },
        queryResults: {
          q1: { resultType: api.enums.v1.QueryResultType.QUERY_RESULT_TYPE_ANSWERED, answer: api.common.v1.Payloads.decode(payloads) },
        },
      }).finish(),
    );
    expect(request.taskToken).toStrictEqual(text.encode('token'));
    expect(request.commands.map((command) => command.commandType)).toEqual([CommandType.START_TIMER, CommandType.SCHEDULE_NEXUS_OPERATION]);
    expect(request.commands[0]?.startTimerCommandAttributes).toEqual({ timerId: '7', startToFireTimeoutMs: 60_000 });
    expect(request.commands[0]?.scheduleNexusOperationCommandAttributes).toBeUndefined();
    expect(request.commands[1]?.scheduleNexusOperationCommandAttributes).toStrictEqual(new Uint8Array([10, 1, 101]));
    expect(request.stickyAttributes?.workerTaskQueue?.normalName).toBe('orders');
    expect(request.stickyAttributes?.scheduleToStartTimeoutMs).toBe(5000);
    expect(request.queryResults.get('q1')?.answer).toStrictEqual(new Uint8Array(payloads));
  });
});

describe('what an SDK reads', () => {
  test('a workflow task whose history is joined from encoded events', () => {
    const event = encodeHistoryEvent({
      ...emptyHistoryEvent(),
      eventId: 6,
      eventTimeMs: 1_763_728_000_123,
      eventType: EventType.ACTIVITY_TASK_TIMED_OUT,
      taskId: 2 ** 40 + 1,
      activityTaskTimedOutEventAttributes: {
        ...emptyActivityTaskTimedOutEventAttributes(),
        failure: encodeFailure({
          ...emptyFailure(),
          message: 'activity StartToClose timeout',
          source: 'Server',
          timeoutFailureInfo: { timeoutType: TimeoutType.START_TO_CLOSE, lastHeartbeatDetails: payloads },
        }),
        scheduledEventId: 5,
        startedEventId: -1,
        retryState: RetryState.MAXIMUM_ATTEMPTS_REACHED,
      },
    });
    const task = api.workflowservice.v1.PollWorkflowTaskQueueResponse.decode(
      encodePollWorkflowTaskQueueResponse({
        ...emptyPollWorkflowTaskQueueResponse(),
        taskToken: text.encode('token'),
        workflowExecution: { workflowId: 'order-1', runId },
        attempt: 1,
        history: { events: [event, event] },
        startedTimeMs: 1_763_728_000_999,
        queries: new Map([['q1', { queryType: 'state', queryArgs: payloads, header: undefined }]]),
      }),
    );
    expect(task.workflowExecution?.runId).toBe(runId);
    expect(task.startedTime).toMatchObject({ seconds: Long.fromNumber(1_763_728_000), nanos: 999_000_000 });
    expect(task.scheduledTime).toBeNull();
    expect(task.queries?.['q1']?.queryArgs?.payloads?.[0]?.data).toEqual(text.encode('"hello"'));
    expect(task.history?.events).toHaveLength(2);
    const read = task.history?.events?.[1];
    expect(read?.eventType).toBe(api.enums.v1.EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT);
    expect(read?.taskId?.toString()).toBe('1099511627777');
    expect(read?.activityTaskTimedOutEventAttributes?.startedEventId?.toString()).toBe('-1');
    expect(read?.activityTaskTimedOutEventAttributes?.failure?.message).toBe('activity StartToClose timeout');
    expect(read?.activityTaskTimedOutEventAttributes?.failure?.timeoutFailureInfo?.lastHeartbeatDetails?.payloads).toHaveLength(1);
  });
});

test('a failure tells "no delay" from "a delay of nothing"', () => {
  const delay = (nextRetryDelay: { seconds?: Long } | undefined) =>
    decodeFailure(api.failure.v1.Failure.encode({ applicationFailureInfo: { type: 'T', nextRetryDelay: nextRetryDelay ?? null } }).finish())
      .applicationFailureInfo?.nextRetryDelayMs;
  expect(delay(undefined)).toBeUndefined();
  expect(delay({})).toBe(0);
  expect(delay({ seconds: Long.fromNumber(2) })).toBe(2000);
  const written = encodeFailure({
    ...emptyFailure(),
    applicationFailureInfo: { type: '', nonRetryable: false, details: undefined, nextRetryDelayMs: 0, category: 0 },
  });
  expect(api.failure.v1.Failure.decode(written).applicationFailureInfo?.nextRetryDelay).not.toBeNull();
});

test('intervals of a retry policy keep their nanoseconds, of fifty days', () => {
  const upstream = upstreamByFlatName().get('RetryPolicy') as protobuf.Type;
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_320_000 }), fc.integer({ min: 0, max: 999_999_999 }), fc.boolean(), (seconds, nanos, less) => {
      const sign = less ? -1 : 1;
      const theirs = upstream.encode({ initial_interval: { seconds: sign * seconds, nanos: sign * nanos } }).finish();
      const read = upstream.decode(encodeRetryPolicy(decodeRetryPolicy(theirs))) as { initial_interval?: { seconds: Long; nanos: number } };
      const { initial_interval: interval } = read;
      expect([Number(interval?.seconds ?? 0), interval?.nanos ?? 0].map(Math.abs)).toEqual([seconds, nanos]);
    }),
  );
});

test('a retry policy with its defaults is read again as it is in memory, whatever was sent', () => {
  const upstream = upstreamByFlatName().get('RetryPolicy') as protobuf.Type;
  const seconds = fc.oneof(fc.integer({ min: 0, max: 5_000_000 }), fc.integer({ min: 0, max: 4_000_000_000 }));
  const nanos = fc.oneof(fc.integer({ min: 0, max: 999_999_999 }), fc.integer({ min: 0, max: 2 ** 31 - 1 }));
  fc.assert(
    fc.property(seconds, nanos, fc.boolean(), (whole, part, less) => {
      const sign = less ? -1 : 1;
      const theirs = upstream.encode({ initial_interval: { seconds: sign * whole, nanos: sign * part } }).finish();
      const inMemory = withRetryDefaults(decodeRetryPolicy(theirs));
      expect(decodeRetryPolicy(encodeRetryPolicy(inMemory))).toStrictEqual(inMemory);
    }),
    { numRuns: 2_000 },
  );
});

/** Types of the public API by the name that generated code gives them: Outer.Inner -> OuterInner. */
function upstreamByFlatName(): Map<string, protobuf.Type | protobuf.Enum> {
  const root = loadPublicApi();
  const flat = (name: string): string => name.replaceAll('.', '');
  const generated = new Set(leanCodecs.map((codec) => codec.name));
  const wanted = declaredTypes(root)
    .map(localName)
    .filter((name) => generated.has(flat(name)));
  return new Map([...upstreamByLocalName(root, new Set(wanted))].map(([name, type]) => [flat(name), type]));
}

/** What a message says, whatever the order of its bytes. */
function canonical(type: protobuf.Type, bytes: Uint8Array): unknown {
  return type.toObject(type.decode(bytes), { longs: String, bytes: String, arrays: true, objects: true, defaults: false });
}
