import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HistoryPosition } from '../../src/history/run/history-replies.ts';
import {
  decodeGetWorkflowExecutionHistoryResponse,
  decodeGetWorkflowExecutionHistoryReverseResponse,
  decodePollWorkflowTaskQueueResponse,
  emptyGetWorkflowExecutionHistoryRequest,
  emptyPollWorkflowTaskQueueRequest,
  encodeGetWorkflowExecutionHistoryRequest,
  encodeGetWorkflowExecutionHistoryReverseRequest,
  encodePollWorkflowTaskQueueRequest,
  type GetWorkflowExecutionHistoryRequest,
  type GetWorkflowExecutionHistoryResponse,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { decodeHistoryEvent, emptyHistoryEvent, encodeHistoryEvent } from '../../src/wire/generated/lean/history.ts';
import { emptyFailure, encodeFailure } from '../../src/wire/generated/lean/failure.ts';
import { openBench, runId, type Bench } from './frontend-bench.ts';
import { key, startedWorkflowTask, taskReply } from './started-tasks.ts';

let bench: Bench;
const timeoutFailure = encodeFailure({
  ...emptyFailure(),
  message: 'workflow timeout',
  timeoutFailureInfo: { timeoutType: 1, lastHeartbeatDetails: undefined },
});
/** As the shard sees the run. */
let lastEventId: number;
let closed: boolean;
let tailEvents: readonly Uint8Array[];
/** What a wait ends with; undefined = it waits for ever. */
let whenWaited: (() => Partial<HistoryPosition>) | undefined;

beforeAll(async () => {
  bench = await openBench();
  bench.stub.events = Array.from({ length: 600 }, (_, at) => event(at + 1));
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.stub.historyCommands.length = 0;
  lastEventId = 5;
  closed = false;
  tailEvents = [];
  whenWaited = undefined;
  bench.stub.answers.history = (command) => {
    if (command.kind !== 'getHistoryPosition') throw new Error(`unexpected ${command.kind}`);
    const waits = command.waitForClose ? !closed : command.waitBeyondEventId >= lastEventId && !closed;
    if (waits && whenWaited === undefined) return { kind: 'deadline', message: 'too late' };
    const waited = waits ? whenWaited?.() : undefined;
    return { kind: 'historyPosition', key, firstEventId: 1, lastEventId, closed, tailEvents, ...waited };
  };
});

/** An event by its id: that is all a page shows here. */
function event(eventId: number): Uint8Array {
  return Uint8Array.from(eventId < 128 ? [8, eventId] : [8, (eventId & 127) | 128, eventId >> 7]);
}

function idsOf(events: readonly Uint8Array[]): number[] {
  return events.map((bytes) => (bytes.length === 2 ? (bytes[1] ?? 0) : ((bytes[1] ?? 0) & 127) + (bytes[2] ?? 0) * 128));
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.abs(last - first) + 1 }, (_, at) => first + (last < first ? -at : at));
}

async function history(
  changes: Partial<GetWorkflowExecutionHistoryRequest> = {},
  metadata: Record<string, string> = {},
): Promise<{ readonly ids: number[]; readonly nextPageToken: Uint8Array; readonly answer: GetWorkflowExecutionHistoryResponse }> {
  const request = {
    ...emptyGetWorkflowExecutionHistoryRequest(),
    namespace: 'default',
    execution: { workflowId: 'w', runId: '' },
    ...changes,
  };
  const answer = decodeGetWorkflowExecutionHistoryResponse(
    await bench.client.call('GetWorkflowExecutionHistory', encodeGetWorkflowExecutionHistoryRequest(request), { metadata }),
  );
  return { ids: idsOf(answer.history?.events ?? []), nextPageToken: answer.nextPageToken, answer };
}

describe('forwards', () => {
  test('a short history is one page', async () => {
    expect(await history()).toMatchObject({ ids: range(1, 5), nextPageToken: new Uint8Array(0) });
  });

  test.each([
    [0, [256, 256, 88]],
    [1_000, [256, 256, 88]],
    [250, [250, 250, 100]],
  ])('pages of %i events hold %j', async (maximumPageSize, sizes) => {
    lastEventId = 600;
    let nextPageToken: Uint8Array = new Uint8Array(0);
    const ids: number[] = [];
    for (const size of sizes) {
      const page = await history({ maximumPageSize, nextPageToken });
      expect(page.ids).toHaveLength(size);
      ids.push(...page.ids);
      nextPageToken = page.nextPageToken;
    }
    expect(ids).toEqual(range(1, 600));
    expect(nextPageToken).toHaveLength(0);
    expect(bench.stub.historyCommands).toHaveLength(1);
  });

  test('a reading keeps the length that it began with', async () => {
    lastEventId = 300;
    const first = await history();
    lastEventId = 310;
    expect(await history({ nextPageToken: first.nextPageToken })).toMatchObject({ ids: range(257, 300), nextPageToken: new Uint8Array(0) });
  });

  test('waiting: what is there, then what comes, until the run is closed', async () => {
    const first = await history({ waitNewEvent: true });
    expect(first.ids).toEqual(range(1, 5));
    expect(first.nextPageToken.length).toBeGreaterThan(0);
    whenWaited = () => ({ lastEventId: 7 });
    const second = await history({ waitNewEvent: true, nextPageToken: first.nextPageToken });
    expect(second.ids).toEqual([6, 7]);
    expect(bench.stub.historyCommands.at(-1)).toMatchObject({ waitBeyondEventId: 5, waitForClose: false, key });
    whenWaited = () => ({ lastEventId: 8, closed: true });
    const third = await history({ waitNewEvent: true, nextPageToken: second.nextPageToken });
    expect(third).toMatchObject({ ids: [8], nextPageToken: new Uint8Array(0) });
  });

  test('waiting in vain gives an empty page and a token that goes on', async () => {
    const first = await history({ waitNewEvent: true });
    const second = await history({ waitNewEvent: true, nextPageToken: first.nextPageToken });
    expect(second.ids).toEqual([]);
    whenWaited = () => ({ lastEventId: 6 });
    expect((await history({ waitNewEvent: true, nextPageToken: second.nextPageToken })).ids).toEqual([6]);
  });

  test('no longer waiting ends the reading', async () => {
    const first = await history({ waitNewEvent: true });
    expect(await history({ nextPageToken: first.nextPageToken })).toMatchObject({ ids: [], nextPageToken: new Uint8Array(0) });
  });

  test('the transient tail is for workers', async () => {
    tailEvents = [event(6), event(7)];
    expect((await history()).ids).toEqual(range(1, 7));
    expect((await history({ waitNewEvent: true })).ids).toEqual(range(1, 5));
    for (const client of ['temporal-cli', 'temporal-ui']) {
      expect((await history({}, { 'client-name': client, 'client-version': '1.0.0' })).ids).toEqual(range(1, 5));
    }
  });

  test('the transient tail comes on the last page', async () => {
    lastEventId = 300;
    tailEvents = [event(301)];
    const first = await history();
    expect(first.ids).toEqual(range(1, 256));
    expect((await history({ nextPageToken: first.nextPageToken })).ids).toEqual(range(257, 301));
  });

  test('whoever begins to wait in the middle of a reading gets each event once', async () => {
    lastEventId = 300;
    tailEvents = [event(301), event(302)];
    const first = await history();
    const second = await history({ waitNewEvent: true, nextPageToken: first.nextPageToken });
    expect(second.ids).toEqual(range(257, 300));
    whenWaited = () => ({ lastEventId: 303 });
    const third = await history({ waitNewEvent: true, nextPageToken: second.nextPageToken });
    expect(third.ids).toEqual(range(301, 303));
  });

  test('a long poll answer goes on here', async () => {
    const task = {
      ...startedWorkflowTask,
      historyFirstEventId: 1,
      historyLastEventId: 400,
      startedEventId: 402,
      tailEvents: [event(401), event(402)],
    };
    bench.stub.answers.matching = () => taskReply(task);
    const request = {
      ...emptyPollWorkflowTaskQueueRequest(),
      namespace: 'default',
      taskQueue: { name: 'orders', kind: 1, normalName: '' },
    };
    const polled = decodePollWorkflowTaskQueueResponse(
      await bench.client.call('PollWorkflowTaskQueue', encodePollWorkflowTaskQueueRequest(request), { timeoutMs: 70_000 }),
    );
    expect(idsOf(polled.history?.events ?? [])).toEqual(range(1, 256));
    const rest = await history({ nextPageToken: polled.nextPageToken, execution: { workflowId: 'w', runId } });
    expect(rest).toMatchObject({ ids: range(257, 402), nextPageToken: new Uint8Array(0) });
  });
});

describe('the close event', () => {
  const close = { historyEventFilterType: 2 };

  describe('of a run that another goes on for', () => {
    const closeAttributes = {
      workflowExecutionCompletedEventAttributes: {
        result: Uint8Array.of(10, 0),
        workflowTaskCompletedEventId: 4,
        newExecutionRunId: 'next',
      },
      workflowExecutionFailedEventAttributes: {
        failure: Uint8Array.of(10, 1, 120),
        retryState: 1,
        workflowTaskCompletedEventId: 4,
        newExecutionRunId: 'next',
      },
      workflowExecutionTimedOutEventAttributes: { retryState: 1, newExecutionRunId: 'next' },
    };
    const said = {
      workflowExecutionCompletedEventAttributes: { lastCompletionResult: Uint8Array.of(10, 0), failure: undefined },
      workflowExecutionFailedEventAttributes: { lastCompletionResult: undefined, failure: Uint8Array.of(10, 1, 120) },
      workflowExecutionTimedOutEventAttributes: { lastCompletionResult: undefined, failure: timeoutFailure },
    };
    const types = {
      workflowExecutionCompletedEventAttributes: 2,
      workflowExecutionFailedEventAttributes: 3,
      workflowExecutionTimedOutEventAttributes: 4,
    };
    const kinds = [
      'workflowExecutionCompletedEventAttributes',
      'workflowExecutionFailedEventAttributes',
      'workflowExecutionTimedOutEventAttributes',
    ] as const;

    async function closeOf(kind: (typeof kinds)[number], newExecutionRunId: string, features: string) {
      const attributes = { ...closeAttributes[kind], newExecutionRunId };
      const written = encodeHistoryEvent({
        ...emptyHistoryEvent(),
        eventId: 7,
        eventTimeMs: 1_234,
        taskId: 9,
        eventType: types[kind],
        [kind]: attributes,
      });
      const stored = bench.stub.events;
      bench.stub.events = stored.with(6, written);
      lastEventId = 7;
      closed = true;
      const { answer } = await history(close, features === '' ? {} : { 'supported-features': features });
      bench.stub.events = stored;
      const [bytes] = answer.history?.events ?? [];
      return { bytes: bytes ?? new Uint8Array(0), written };
    }

    test.each(kinds)('%s reads as ContinuedAsNew', async (kind) => {
      const event = decodeHistoryEvent((await closeOf(kind, 'next', '')).bytes);
      expect(event).toMatchObject({ eventId: 7, eventTimeMs: 1_234, taskId: 9, eventType: 28, [kind]: undefined });
      expect(event.workflowExecutionContinuedAsNewEventAttributes).toMatchObject({ newExecutionRunId: 'next', ...said[kind] });
    });

    test.each(kinds)('%s stays what it is where no run follows, and for clients that follow it themselves', async (kind) => {
      for (const [next, features] of [
        ['', ''],
        ['next', 'other, follows-next-run-id'],
      ] as const) {
        const { bytes, written } = await closeOf(kind, next, features);
        expect(bytes).toEqual(written);
      }
    });
  });

  test('with wait: only once the run is closed', async () => {
    const first = await history({ ...close, waitNewEvent: true });
    expect(first.ids).toEqual([]);
    expect(first.nextPageToken.length).toBeGreaterThan(0);
    whenWaited = () => ({ lastEventId: 9, closed: true });
    const second = await history({ ...close, waitNewEvent: true, nextPageToken: first.nextPageToken });
    expect(second).toMatchObject({ ids: [9], nextPageToken: new Uint8Array(0) });
    // The token pinned the run: another may be the current one by now.
    expect(bench.stub.historyCommands.at(-1)).toMatchObject({ key: { runId }, waitForClose: true });
  });

  test('of a closed run it comes at once', async () => {
    closed = true;
    expect((await history({ ...close, waitNewEvent: true })).ids).toEqual([5]);
  });
});

describe('tokens', () => {
  async function tokenOfFirstPage(): Promise<Uint8Array> {
    lastEventId = 300;
    return (await history()).nextPageToken;
  }

  test.each<[string, Partial<GetWorkflowExecutionHistoryRequest>]>([
    ['Invalid NextPageToken.', { nextPageToken: Buffer.from('junk') }],
    ['Invalid NextPageToken.', { execution: { workflowId: 'another', runId: '' } }],
    ['Invalid NextPageToken.', { namespace: 'other' }],
    [
      'RunId in the request does not match the NextPageToken.',
      { execution: { workflowId: 'w', runId: '11111111-1111-4111-8111-111111111111' } },
    ],
  ])('%s', async (message, changes) => {
    const request = {
      ...emptyGetWorkflowExecutionHistoryRequest(),
      namespace: 'default',
      execution: { workflowId: 'w', runId: '' },
      nextPageToken: await tokenOfFirstPage(),
      ...changes,
    };
    const error = await bench.client.refusal('GetWorkflowExecutionHistory', encodeGetWorkflowExecutionHistoryRequest(request));
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, message]);
  });

  test('every changed byte is noticed', async () => {
    const token = await tokenOfFirstPage();
    for (let at = 0; at < token.length; at++) {
      const forged = Uint8Array.from(token);
      forged[at] = (forged[at] ?? 0) ^ 1;
      const request = {
        ...emptyGetWorkflowExecutionHistoryRequest(),
        namespace: 'default',
        execution: { workflowId: 'w', runId: '' },
        nextPageToken: forged,
      };
      const error = await bench.client.refusal('GetWorkflowExecutionHistory', encodeGetWorkflowExecutionHistoryRequest(request));
      expect(error.details).toBe('Invalid NextPageToken.');
    }
  });

  test('a forward token does not turn back', async () => {
    const nextPageToken = await tokenOfFirstPage();
    const request = { namespace: 'default', execution: { workflowId: 'w', runId: '' }, maximumPageSize: 0, nextPageToken };
    const error = await bench.client.refusal(
      'GetWorkflowExecutionHistoryReverse',
      encodeGetWorkflowExecutionHistoryReverseRequest(request),
    );
    expect(error.details).toBe('Invalid NextPageToken.');
  });
});

test('backwards: newest first, to the beginning', async () => {
  lastEventId = 600;
  let nextPageToken: Uint8Array = new Uint8Array(0);
  const ids: number[] = [];
  do {
    const request = { namespace: 'default', execution: { workflowId: 'w', runId: '' }, maximumPageSize: 0, nextPageToken };
    const page = decodeGetWorkflowExecutionHistoryReverseResponse(
      await bench.client.call('GetWorkflowExecutionHistoryReverse', encodeGetWorkflowExecutionHistoryReverseRequest(request)),
    );
    ids.push(...idsOf(page.history?.events ?? []));
    nextPageToken = page.nextPageToken;
  } while (nextPageToken.length > 0);
  expect(ids).toEqual(range(600, 1));
});

test('backwards: a page cut short by its size loses nothing', async () => {
  const small = await openBench();
  // Room for three events, whatever is asked.
  small.stub.answers.page = ({ firstEventId: first, lastEventId: last, eventsMax }) => ({
    kind: 'historyPage',
    events: range(first, Math.min(last, first + Math.min(eventsMax, 3) - 1)).map(event),
  });
  small.stub.answers.history = () => ({ kind: 'historyPosition', key, firstEventId: 1, lastEventId: 20, closed: false, tailEvents: [] });
  let nextPageToken: Uint8Array = new Uint8Array(0);
  const ids: number[] = [];
  do {
    const request = { namespace: 'default', execution: { workflowId: 'w', runId: '' }, maximumPageSize: 0, nextPageToken };
    const page = decodeGetWorkflowExecutionHistoryReverseResponse(
      await small.client.call('GetWorkflowExecutionHistoryReverse', encodeGetWorkflowExecutionHistoryReverseRequest(request)),
    );
    ids.push(...idsOf(page.history?.events ?? []));
    nextPageToken = page.nextPageToken;
  } while (nextPageToken.length > 0);
  expect(ids).toEqual(range(20, 1));
  await small.close();
});

test('a shard that is not served now is no workflow that does not exist', async () => {
  const restoring = await openBench();
  restoring.stub.answers.page = () => ({ kind: 'notHere', message: 'the history of this workflow cannot be read now', hint: '', epoch: 0 });
  restoring.stub.answers.history = () => ({
    kind: 'historyPosition',
    key,
    firstEventId: 1,
    lastEventId: 20,
    closed: false,
    tailEvents: [],
  });
  const request = { ...emptyGetWorkflowExecutionHistoryRequest(), namespace: 'default', execution: { workflowId: 'w', runId: '' } };
  const error = await restoring.client.refusal('GetWorkflowExecutionHistory', encodeGetWorkflowExecutionHistoryRequest(request));
  expect(error.code).toBe(codes.UNAVAILABLE);
  await restoring.close();
});

test('an unknown filter is refused', async () => {
  const request = {
    ...emptyGetWorkflowExecutionHistoryRequest(),
    namespace: 'default',
    execution: { workflowId: 'w', runId: '' },
    historyEventFilterType: 7,
  };
  const error = await bench.client.refusal('GetWorkflowExecutionHistory', encodeGetWorkflowExecutionHistoryRequest(request));
  expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, 'unknown HistoryEventFilterType 7']);
});
