/** ResetWorkflowExecution at the edge: what it reads before it asks. What becomes of it: test/history/reset.test.ts and the SDK scenarios. */
import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { RunKey } from '../../src/kernel/run-key.ts';
import type { HistoryRequest } from '../../src/history/commands/history-commands.ts';
import type { EventKind, HistoryEvent } from '../../src/history/run/events.ts';
import type { Description, HistoryReply } from '../../src/history/run/history-replies.ts';
import { computingCallsMax } from '../../src/grpc/computing-calls.ts';
import type { PrepareReset, ResetWorkflow } from '../../src/history/commands/operation-commands.ts';
import { decodeEvent, encodeEvent } from '../../src/codec/event-codec.ts';
import { encodePriority } from '../../src/wire/generated/lean/common.ts';
import {
  decodeResetWorkflowExecutionResponse,
  encodeResetWorkflowExecutionRequest,
  type ResetWorkflowExecutionRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import {
  bytes,
  completeWorkflow,
  continueAsNew,
  key,
  namespaceId,
  ShardUnderTest,
  startChild,
  startTimer,
  terminateWorkflow,
} from '../history/shard-under-test.ts';
import { type Bench, openBench } from './frontend-bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

/** Histories by their run ids, the current one last; read in pages of three events. */
let histories: Map<string, readonly HistoryEvent[]>;
let pages: number;
let answerTo: (tries: number) => string;
let answerPart: (part: PrepareReset) => HistoryReply;
const childless = describedAlone();

function describedAlone(): Description {
  const shard = new ShardUnderTest();
  shard.start();
  return shard.describe();
}

beforeEach(() => {
  histories = new Map();
  pages = 0;
  answerTo = () => 'the-new-run';
  answerPart = ({ newRunId }) => ({ kind: 'workflowReset', runId: newRunId });
  bench.stub.historyCommands.length = 0;
  let tries = 0;
  bench.stub.answers.history = (command: HistoryRequest) => {
    if (command.kind === 'resetWorkflow') return { kind: 'workflowReset', runId: answerTo(++tries) };
    if (command.kind === 'prepareReset') return answerPart(command);
    if (command.kind === 'dropReset') return { kind: 'done' };
    if (command.kind === 'describeWorkflow') return childless;
    const { key } = command as { readonly key: { readonly workflowId: string; readonly runId: string } };
    const runId = key.runId === '' ? [...histories.keys()].at(-1)! : key.runId;
    const events = histories.get(runId);
    if (events === undefined) return { kind: 'rejected', rejection: { reason: 'workflow-not-found', message: 'gone' } };
    const position = { key: { namespaceId: 'ns-id', workflowId: 'w', runId }, firstEventId: 1, lastEventId: events.length };
    return { kind: 'historyPosition', ...position, closed: false, tailEvents: [] };
  };
  bench.stub.answers.page = ({ key: { runId }, firstEventId, lastEventId }) => {
    pages++;
    const events = histories.get(runId) ?? [];
    return { kind: 'historyPage', events: events.slice(firstEventId - 1, Math.min(lastEventId, firstEventId + 2)).map(encodeEvent) };
  };
});

/** An open workflow that was told something, and then continued as new, and was told something again. */
function twoRuns(): readonly string[] {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t', 1_000)]);
  shard.signal({ signalName: 'first', requestId: 'one' });
  shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
  shard.signal({ signalName: 'second', requestId: 'two' });
  shard.start({
    policies: { reusePolicy: 1, conflictPolicy: 2 },
    onConflict: { attachRequestId: true, attachCallbacks: false, attachLinks: false, links: [] },
  });
  for (const runId of shard.runIds()) histories.set(runId, shard.events(runId));
  return shard.runIds();
}

const priority = encodePriority({ priorityKey: 2, fairnessKey: '', fairnessWeight: 0 });

const plain: ResetWorkflowExecutionRequest = {
  namespace: 'default',
  workflowExecution: { workflowId: 'w', runId: '' },
  reason: 'why',
  workflowTaskFinishEventId: 4,
  requestId: 'request',
  resetReapplyType: 0,
  resetReapplyExcludeTypes: [],
  postResetOperations: [],
  identity: 'me',
};

const nothing = { signalWorkflow: undefined, updateWorkflowOptions: undefined };

function options(paths: readonly string[]) {
  const workflowExecutionOptions = { priority, versioningOverride: undefined, timeSkippingConfig: undefined };
  return { workflowExecutionOptions, updateMask: { paths } };
}

async function reset(change: Partial<ResetWorkflowExecutionRequest>): Promise<string> {
  const answer = await bench.client.call('ResetWorkflowExecution', encodeResetWorkflowExecutionRequest({ ...plain, ...change }));
  return decodeResetWorkflowExecutionResponse(answer).runId;
}

function refusal(change: Partial<ResetWorkflowExecutionRequest>): Promise<{ readonly code: number; readonly details: string }> {
  return bench.client.refusal('ResetWorkflowExecution', encodeResetWorkflowExecutionRequest({ ...plain, ...change }));
}

function asked() {
  return bench.stub.historyCommands.filter((command) => command.kind === 'resetWorkflow');
}

describe('what it reads', () => {
  test('the kept events, page by page, and the signals and attachments of this run and of those behind it', async () => {
    const [first = '', second = ''] = twoRuns();
    expect(await reset({ workflowExecution: { workflowId: 'w', runId: first } })).toBe('the-new-run');
    const [command] = asked();
    // Its time is in front, as in the id of any run.
    expect(command?.newRunId[14]).toBe('7');
    const [base, next] = [histories.get(first)!, histories.get(second)!];
    expect(pages).toBe(Math.ceil(base.length / 3) + Math.ceil(next.length / 3));
    expect(command).toMatchObject({ requestId: 'request', reason: 'why', reappliesSignals: true });
    expect(command?.keptEvents).toEqual(base.slice(0, 3).map(encodeEvent));
    const again: readonly EventKind[] = ['workflowExecutionSignaled', 'workflowExecutionOptionsUpdated'];
    expect(command?.laterEvents).toEqual([...base, ...next].filter(({ type }) => again.includes(type)).map(encodeEvent));
    expect(command?.readTo).toEqual({ runId: second, lastEventId: next.length });
  });

  test('the options that the run which goes on is to have', async () => {
    const [first = ''] = twoRuns();
    const changes = [options(['priority']), { ...options(['priority.priority_key']), workflowExecutionOptions: undefined }];
    await reset({
      workflowExecution: { workflowId: 'w', runId: first },
      postResetOperations: changes.map((updateWorkflowOptions) => ({ ...nothing, updateWorkflowOptions })),
    });
    expect(asked()[0]?.priorityChanges).toEqual([
      { fields: ['priority'], priority },
      { fields: ['priority.priorityKey'], priority: undefined },
    ]);
  });

  test.each([
    ['none', { resetReapplyType: 2 }, false],
    ['signals alone', { resetReapplyType: 1 }, true],
    ['all but signals', { resetReapplyType: 3, resetReapplyExcludeTypes: [1] }, false],
    ['all but updates', { resetReapplyExcludeTypes: [2] }, true],
  ] as const)('applied again: %s', async (_, change, reapplies) => {
    const [first = ''] = twoRuns();
    await reset({ ...change, workflowExecution: { workflowId: 'w', runId: first } });
    expect(asked()).toMatchObject([{ reappliesSignals: reapplies }]);
    expect(asked()[0]?.laterEvents).toHaveLength(reapplies ? 3 : 1);
  });

  test.each([
    ['all', {}, ['workflowExecutionUpdateAccepted', 'workflowExecutionUpdateAdmitted']],
    ['none', { resetReapplyType: 2 }, []],
    ['signals alone', { resetReapplyType: 1 }, []],
    ['all but updates', { resetReapplyType: 3, resetReapplyExcludeTypes: [2] }, []],
    ['all but signals', { resetReapplyExcludeTypes: [1] }, ['workflowExecutionUpdateAccepted', 'workflowExecutionUpdateAdmitted']],
  ] as const)('updates that are applied again: %s', async (_, change, expected) => {
    const [first = ''] = twoRuns();
    const [started] = histories.get(first)!;
    const { eventId: _id, type: _type, attributes: _attributes, ...meta } = started!;
    const request = bytes('');
    const update = { protocolInstanceId: 'u', acceptedRequestMessageId: '', acceptedRequestSequencingEventId: 0, acceptedRequest: request };
    const accepted = { ...meta, eventId: 2, type: 'workflowExecutionUpdateAccepted', attributes: update } as const;
    const admitted = { ...meta, eventId: 3, type: 'workflowExecutionUpdateAdmitted', attributes: { request, origin: 1 } } as const;
    histories.set(first, [started!, accepted, admitted]);
    await reset({ ...change, workflowExecution: { workflowId: 'w', runId: first }, workflowTaskFinishEventId: 2 });
    const later = asked()[0]?.laterEvents.map((event) => decodeEvent(event).type) ?? [];
    expect(later.filter((type) => type.includes('Update'))).toEqual(expected);
  });

  test('a run that went on in one that is gone by now', async () => {
    const [first = '', second = ''] = twoRuns();
    histories.delete(second);
    await reset({});
    expect(asked()[0]?.readTo).toEqual({ runId: first, lastEventId: histories.get(first)!.length });
  });
});

test('nothing is read, or reset, for whoever has gone away', async () => {
  const [runId = ''] = twoRuns();
  const [started, ...others] = histories.get(runId)!;
  const signals = others.filter(({ type }) => type === 'workflowExecutionSignaled');
  histories.set(runId, [started!, ...Array.from({ length: 30_000 }, () => signals[0]!)]);
  const change = { workflowExecution: { workflowId: 'w', runId }, workflowTaskFinishEventId: 30_000 };
  const own = await openBench();
  Object.assign(own.stub.answers, bench.stub.answers);
  const { asker } = own.stub.ports;
  const askHistory = asker.askHistory.bind(asker);
  // As from a database: the loop turns meanwhile.
  asker.askHistory = (shard, command, context, onReply) =>
    askHistory(shard, command, context, (reply) => void setImmediate(onReply, reply));
  const call = own.client.start('ResetWorkflowExecution', encodeResetWorkflowExecutionRequest({ ...plain, ...change }));
  await vi.waitUntil(() => pages > 0, { interval: 1, timeout: 60_000 });
  call.cancel();
  await expect(call.answer).rejects.toMatchObject({ code: codes.CANCELLED });
  let before = -1;
  await vi.waitUntil(() => before === (before = pages), { interval: 50, timeout: 60_000 });
  expect(pages).toBeLessThan(10_000);
  expect(own.stub.historyCommands.filter(({ kind }) => kind === 'resetWorkflow')).toEqual([]);
  await own.close();
});

describe('a run that grows while it is read', () => {
  test('is read again', async () => {
    const [runId = ''] = twoRuns();
    answerTo = (tries) => (tries < 3 ? '' : 'at-last');
    expect(await reset({ workflowExecution: { workflowId: 'w', runId } })).toBe('at-last');
    expect(asked().map(({ requestId }) => requestId)).toEqual(['request', 'request', 'request']);
  });

  test('from where it was, and not from the start: the second reading is of what came in between', async () => {
    const [runId = ''] = twoRuns();
    const [started, ...others] = histories.get(runId)!;
    const [signal] = others.filter(({ type }) => type === 'workflowExecutionSignaled');
    const told = (count: number): HistoryEvent[] => Array.from({ length: count }, (_, at) => ({ ...signal!, eventId: at + 2 }));
    histories.clear();
    histories.set(runId, [started!, ...told(900)]);
    const read: number[] = [];
    let before = 0;
    answerTo = (tries) => {
      read.push(pages - before);
      before = pages;
      histories.set(runId, [started!, ...told(900 + 3 * tries)]);
      return tries < 40 ? '' : 'at-last';
    };
    expect(await reset({ workflowExecution: { workflowId: 'w', runId }, workflowTaskFinishEventId: 4 })).toBe('at-last');
    expect(read.slice(1)).toEqual(Array.from({ length: 39 }, () => 1));
    const { laterEvents, readTo } = asked().at(-1) as ResetWorkflow;
    expect(laterEvents.map((event) => decodeEvent(event).eventId)).toEqual(Array.from({ length: 1_018 - 4 + 1 }, (_, at) => at + 4));
    expect(readTo).toEqual({ runId, lastEventId: 1_018 });
  });

  test('but not for ever', async () => {
    const [runId = ''] = twoRuns();
    answerTo = () => '';
    expect((await refusal({ workflowExecution: { workflowId: 'w', runId } })).code).toBe(codes.RESOURCE_EXHAUSTED);
    expect(asked()).toHaveLength(100);
  });
});

describe('a history that is longer than one command takes', () => {
  const parts = () => bench.stub.historyCommands.filter((command) => command.kind === 'prepareReset');
  const dropped = () => bench.stub.historyCommands.flatMap((command) => (command.kind === 'dropReset' ? [command.key.runId] : []));

  /** Of as many signals, and two more of another task. */
  function runThatWasTold(signals: number, size: number): string {
    const [runId = ''] = twoRuns();
    const [started, ...others] = histories.get(runId)!;
    const signal = others.find((event) => event.type === 'workflowExecutionSignaled')!;
    const scheduled = others.find((event) => event.type === 'workflowTaskScheduled');
    const attributes = { ...signal.attributes, header: new Uint8Array(size) };
    const many = Array.from({ length: signals }, (_, at): HistoryEvent => ({ ...signal, attributes, eventId: at + 2 }));
    histories.clear();
    many[0] = { ...scheduled!, eventId: 2 };
    histories.set(runId, [started!, ...many, signal, signal]);
    return runId;
  }

  /** To the end of that task. */
  async function resetLong(signals: number, size: number): Promise<string> {
    const runId = runThatWasTold(signals, size);
    return await reset({ workflowExecution: { workflowId: 'w', runId }, workflowTaskFinishEventId: signals + 2 });
  }

  test('goes in parts of a thousand events, and the last command has none of them', async () => {
    answerTo = () => parts()[0]!.newRunId;
    const runId = await resetLong(2_100, 0);
    expect(parts().map(({ firstEventId, events }) => [firstEventId, events.length])).toEqual([
      [1, 1_000],
      [1_001, 1_000],
      [2_001, 101],
    ]);
    expect(parts().map(({ newRunId, requestId }) => [newRunId, requestId])).toEqual(parts().map(() => [runId, 'request']));
    const sent = parts().flatMap(({ events }) => events);
    expect(sent.map((event) => decodeEvent(event).eventId)).toEqual(sent.map((_, at) => at + 1));
    expect(asked()).toMatchObject([{ newRunId: runId, isPrepared: true, keptEvents: [], laterEvents: [{}, {}] }]);
    expect(dropped()).toEqual([]);
  });

  test('or of a mebibyte; one event may be more', async () => {
    answerTo = () => parts()[0]!.newRunId;
    await resetLong(6, 400 * 1024);
    expect(parts().map(({ events }) => events.length)).toEqual([4, 2, 1]);
    bench.stub.historyCommands.length = 0;
    await resetLong(3, 1_200 * 1024);
    expect(parts().map(({ events }) => events.length)).toEqual([2, 1, 1]);
  });

  test('up to that it is one command', async () => {
    await resetLong(999, 0);
    expect(parts()).toEqual([]);
    expect(asked()[0]).toMatchObject({ isPrepared: false });
    expect(asked()[0]?.keptEvents).toHaveLength(1_000);
  });

  test('that grows meanwhile is not sent again, but for what is behind it', async () => {
    answerTo = (tries) => (tries < 3 ? '' : parts()[0]!.newRunId);
    await resetLong(1_500, 0);
    expect(parts()).toHaveLength(2);
    expect(asked()).toHaveLength(3);
    expect(new Set(asked().map(({ newRunId }) => newRunId)).size).toBe(1);
    expect(dropped()).toEqual([]);
  });

  test('whose reset was made before is answered with its run, and no more is sent', async () => {
    answerPart = () => ({ kind: 'workflowReset', runId: 'made-before' });
    expect(await resetLong(3_000, 0)).toBe('made-before');
    expect([parts().length, asked().length]).toEqual([1, 0]);
  });

  test.each([
    ['a part', 2, 0],
    ['the last command', 3, 1],
  ])('whose shard refuses %s is dropped', async (_, partsAsked, resetsAsked) => {
    const rejected: HistoryReply = { kind: 'rejected', rejection: { reason: 'busy-workflow', message: 'not now' } };
    const { history } = bench.stub.answers;
    bench.stub.answers.history = (command) => {
      const isRefused = command.kind === 'prepareReset' ? command.firstEventId > 1 && resetsAsked === 0 : command.kind === 'resetWorkflow';
      return isRefused ? rejected : history(command);
    };
    await expect(resetLong(2_100, 0)).rejects.toMatchObject({ code: codes.RESOURCE_EXHAUSTED, details: 'not now' });
    expect([parts().length, asked().length]).toEqual([partsAsked, resetsAsked]);
    await vi.waitUntil(() => dropped().length > 0, { interval: 1, timeout: 60_000 });
    expect(dropped()).toEqual([parts()[0]?.newRunId]);
  });

  test('is dropped when there is too much to apply again', async () => {
    const runId = runThatWasTold(1_500, 0);
    const events = histories.get(runId)!;
    const behind = { ...events[2]!, attributes: { ...events[2]!.attributes, header: new Uint8Array(6 * 1024 * 1024) } } as HistoryEvent;
    histories.set(runId, [...events, behind]);
    const change = { workflowExecution: { workflowId: 'w', runId }, workflowTaskFinishEventId: 1_502 };
    expect(await refusal(change)).toMatchObject({
      code: codes.INVALID_ARGUMENT,
      details: expect.stringContaining('resetReappliedBytesMax'),
    });
    await vi.waitUntil(() => dropped().length > 0, { interval: 1, timeout: 60_000 });
    expect(dropped()).toEqual([parts()[0]?.newRunId]);
    expect(asked()).toEqual([]);
  });

  test('is dropped when it changes without end', async () => {
    answerTo = () => '';
    await expect(resetLong(1_500, 0)).rejects.toMatchObject({ code: codes.RESOURCE_EXHAUSTED });
    await vi.waitUntil(() => dropped().length > 0, { interval: 1, timeout: 60_000 });
    expect(dropped()).toEqual([parts()[0]?.newRunId]);
  });

  test.each([
    ['no workflow task was scheduled before it', []],
    ['the workflow task before it is completed', ['workflowTaskScheduled', 'workflowTaskStarted', 'workflowTaskCompleted']],
  ] as const)('is refused before anything is written where %s', async (_, before) => {
    const runId = runThatWasTold(1_500, 0);
    const events = [...histories.get(runId)!];
    const shard = new ShardUnderTest();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startTimer('t', 1_000)]);
    for (const [at, type] of before.entries()) {
      events[at + 1] = { ...shard.events().find((event) => event.type === type)!, eventId: at + 2 };
    }
    if (before.length === 0) events[1] = { ...events[2]!, eventId: 2 };
    histories.set(runId, events);
    for (const finishEventId of [1_300, 1_502]) {
      const change = { workflowExecution: { workflowId: 'w', runId }, workflowTaskFinishEventId: finishEventId };
      expect(await refusal(change)).toMatchObject({
        code: codes.INVALID_ARGUMENT,
        details: `Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: ${finishEventId}`,
      });
    }
    expect([parts(), asked(), dropped()]).toEqual([[], [], []]);
  });

  test('is dropped when its caller goes away', async () => {
    let begun = false;
    answerPart = ({ newRunId }) => {
      begun = true;
      return { kind: 'workflowReset', runId: newRunId };
    };
    const { history } = bench.stub.answers;
    bench.stub.answers.history = (command) => (command.kind === 'resetWorkflow' ? 'never' : history(command));
    const [runId = ''] = twoRuns();
    const [started, ...others] = histories.get(runId)!;
    const ofType = (wanted: EventKind): HistoryEvent => others.find(({ type }) => type === wanted)!;
    const signals = Array.from({ length: 99_998 }, () => ofType('workflowExecutionSignaled'));
    histories.set(runId, [started!, ...signals, ofType('workflowTaskScheduled'), signals[0]!]);
    const { asker } = bench.stub.ports;
    const askHistory = asker.askHistory.bind(asker);
    asker.askHistory = (shard, command, context, onReply) =>
      askHistory(shard, command, context, (reply) => void setImmediate(onReply, reply));
    const change = { workflowExecution: { workflowId: 'w', runId }, workflowTaskFinishEventId: 100_001 };
    const call = bench.client.start('ResetWorkflowExecution', encodeResetWorkflowExecutionRequest({ ...plain, ...change }));
    await vi.waitUntil(() => begun, { interval: 1, timeout: 60_000 });
    call.cancel();
    await expect(call.answer).rejects.toMatchObject({ code: codes.CANCELLED });
    await vi.waitUntil(() => dropped().length > 0, { interval: 5, timeout: 60_000 });
    expect(dropped()).toEqual([parts()[0]?.newRunId]);
    asker.askHistory = askHistory;
  });
});

describe('a child whose parent was closed when it ended', () => {
  const childKey = { namespaceId, workflowId: 'child', runId: '' };

  /** A workflow that is terminated without its child, and the bench in front of its shard. */
  function closedParent(): { readonly shard: ShardUnderTest; readonly base: string; readonly finishEventId: number } {
    const shard = new ShardUnderTest();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startChild({ parentClosePolicy: 2 })]);
    shard.pumpOutbox();
    const task = shard.transfers().find(({ kind, key: of }) => kind === 'workflowTask' && of.workflowId === 'wf');
    if (task?.kind !== 'workflowTask') throw new Error('the parent has something to do');
    const { scheduledEventId, stamp, taskQueue } = task;
    const started = { key: task.key, scheduledEventId, stamp, pollRequestId: 'poll', identity: 'w', taskQueue };
    const reply = shard.ask({ kind: 'startWorkflowTask', ...started });
    if (reply?.kind !== 'workflowTask') throw new Error('not started');
    shard.ask({ ...terminateWorkflow(), key });
    const own = (of: RunKey): RunKey => ({ ...of, namespaceId });
    bench.stub.answers.history = (command) => {
      if (command.kind === 'resetWorkflow' || command.kind === 'describeWorkflow' || command.kind === 'getHistoryPosition')
        return shard.ask({ ...command, key: own(command.key) }) ?? 'never';
      if (command.kind !== 'recordChildClosed') throw new Error(`not expected: ${command.kind}`);
      return shard.ask({ ...command, parent: { ...command.parent, namespaceId } }) ?? 'never';
    };
    bench.stub.answers.page = ({ key: { runId }, firstEventId, lastEventId }) => ({
      kind: 'historyPage',
      events: shard
        .events(runId)
        .slice(firstEventId - 1, lastEventId)
        .map(encodeEvent),
    });
    return { shard, base: reply.key.runId, finishEventId: reply.startedEventId + 1 };
  }

  function resetBase({ base, finishEventId }: { readonly base: string; readonly finishEventId: number }): Promise<string> {
    return reset({ workflowExecution: { workflowId: 'wf', runId: base }, workflowTaskFinishEventId: finishEventId });
  }

  test('is known to have ended in the run that goes on, also when that is asked again', async () => {
    const parent = closedParent();
    const { shard } = parent;
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    shard.fireNextTimer();
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    const ended = shard.describe(childKey).key.runId;
    shard.pumpOutbox();
    const runId = await resetBase(parent);
    expect(shard.lastEvent('childWorkflowExecutionCompleted', runId).attributes).toMatchObject({
      workflowExecution: { workflowId: 'child', runId: ended },
      result: bytes('done'),
    });
    const { length } = shard.events(runId);
    expect(await resetBase(parent)).toBe(runId);
    expect(shard.events(runId)).toHaveLength(length);
  });

  test('is not while it runs, and tells it itself', async () => {
    const parent = closedParent();
    const { shard } = parent;
    const runId = await resetBase(parent);
    expect(shard.describe().pendingChildren).toHaveLength(1);
    const task = shard.transfers().find(({ kind, key: of }) => kind === 'workflowTask' && of.workflowId === 'child');
    expect(task).toBeDefined();
    shard.ask({ ...terminateWorkflow(), key: childKey });
    shard.pumpOutbox();
    expect(shard.history(runId)).toContain('childWorkflowExecutionTerminated');
  });

  test('that nothing is left of: nobody can tell', async () => {
    const parent = closedParent();
    const { shard } = parent;
    shard.ask({ ...terminateWorkflow(), key: childKey });
    shard.pumpOutbox();
    shard.ask({ kind: 'deleteWorkflow', key: shard.describe(childKey).key });
    await resetBase(parent);
    expect(shard.describe().pendingChildren).toHaveLength(1);
  });
});

test('a namespace has a few long resets under way at a time, and others have theirs', async () => {
  const [runId = ''] = twoRuns();
  const [started, ...others] = histories.get(runId)!;
  const scheduled = others.find(({ type }) => type === 'workflowTaskScheduled')!;
  const signal = others.find(({ type }) => type === 'workflowExecutionSignaled')!;
  histories.set(runId, [started!, ...Array.from({ length: 1_498 }, () => signal), scheduled, signal]);
  const own = await openBench();
  own.stub.answers.page = bench.stub.answers.page;
  own.stub.answers.history = (command) => (command.kind === 'prepareReset' ? 'never' : bench.stub.answers.history(command));
  const long = { workflowExecution: { workflowId: 'w', runId }, workflowTaskFinishEventId: 1_501 };
  const begun = (): number => own.stub.historyCommands.filter(({ kind }) => kind === 'prepareReset').length;
  const start = (namespace: string) =>
    own.client.start('ResetWorkflowExecution', encodeResetWorkflowExecutionRequest({ ...plain, ...long, namespace }));
  const many = Array.from({ length: 12 }, () => start('default'));
  await vi.waitUntil(() => begun() === computingCallsMax, { interval: 1, timeout: 60_000 });
  const other = start('other');
  await vi.waitUntil(() => begun() === computingCallsMax + 1, { interval: 1, timeout: 60_000 });
  expect(begun()).toBe(computingCallsMax + 1);
  const ends = Promise.allSettled([...many, other].map((each) => each.answer));
  for (const each of [...many, other]) each.cancel();
  await ends;
  await own.close();
});

test('the histories that the resets of a namespace hold have a bound, and give their room back', async () => {
  const shard = new ShardUnderTest();
  shard.checks = false;
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t', 1_000)]);
  shard.signal({ input: new Uint8Array(5 * 1024 * 1024) });
  histories.set(shard.describe().key.runId, shard.events());
  const request = encodeResetWorkflowExecutionRequest(plain);
  const own = await openBench();
  own.stub.answers.page = bench.stub.answers.page;
  own.stub.answers.history = (command) => (command.kind === 'resetWorkflow' ? 'never' : bench.stub.answers.history(command));
  const waiting = Array.from({ length: 6 }, () => own.client.start('ResetWorkflowExecution', request));
  const given = Promise.allSettled(waiting.map((each) => each.answer));
  await vi.waitUntil(() => own.stub.openAsks === 6, { timeout: 60_000 });
  const error = await own.client.refusal('ResetWorkflowExecution', request);
  const message = 'the histories of resets of this namespace that wait are too large';
  expect([error.code, error.details]).toEqual([codes.RESOURCE_EXHAUSTED, message]);
  for (const each of waiting) each.cancel();
  await given;
  await own.close();
  // Of resets that are answered nothing is held.
  for (let nth = 0; nth < 8; nth++) await bench.client.call('ResetWorkflowExecution', request);
});

describe('refused before its shard hears of it', () => {
  const outside = 'Workflow task finish ID must be > 1 && <= workflow last event ID.';
  test.each<[string, Partial<ResetWorkflowExecutionRequest>]>([
    ['Execution is not set on request.', { workflowExecution: undefined }],
    ['WorkflowId is not set on request.', { workflowExecution: { workflowId: '', runId: '' } }],
    ['RequestId is not set on request.', { requestId: '' }],
    ['RequestId length exceeds limit.', { requestId: 'x'.repeat(1001) }],
    ['Identity length exceeds limit.', { identity: 'x'.repeat(1001) }],
    ['Reason length exceeds limit.', { reason: 'x'.repeat(1001) }],
    [outside, { workflowTaskFinishEventId: 1 }],
    [outside, { workflowTaskFinishEventId: -3 }],
    [outside, { workflowTaskFinishEventId: 2 ** 52 }],
    ['unknown ResetReapplyType 7', { resetReapplyType: 7 }],
    ['unknown ResetReapplyExcludeType 9', { resetReapplyExcludeTypes: [1, 9] }],
  ])('%s %j', async (message, change) => {
    twoRuns();
    const { code, details } = await refusal(change);
    expect([code, details]).toEqual([codes.INVALID_ARGUMENT, message]);
    expect(asked()).toEqual([]);
  });

  test.each([
    ['a signal', { signalWorkflow: bytes('signal') }, 'unsupported post reset operation: *workflow.PostResetOperation_SignalWorkflow_'],
    ['nothing', {}, 'unsupported post reset operation: <nil>'],
    ['options without a mask', { updateWorkflowOptions: { ...options([]), updateMask: undefined } }, 'UpdateMask is required'],
    [
      'an unknown option',
      { updateWorkflowOptions: options(['nothing']) },
      'error applying update_options: proto: invalid path "nothing" for message "temporal.api.workflow.v1.WorkflowExecutionOptions"',
    ],
  ])('behind it: %s', async (_, operation, message) => {
    twoRuns();
    const { code, details } = await refusal({ postResetOperations: [{ ...nothing, ...operation }] });
    expect([code, details]).toEqual([codes.INVALID_ARGUMENT, message]);
    expect(asked()).toEqual([]);
  });

  test('behind it: another version, which is not built, and more operations than there may be', async () => {
    const version = [{ ...nothing, updateWorkflowOptions: options(['versioning_override']) }];
    expect((await refusal({ postResetOperations: version })).details).toBe('versioning_override is not supported by this server yet');
    const many = Array.from({ length: 101 }, () => ({ ...nothing, updateWorkflowOptions: options(['priority']) }));
    expect((await refusal({ postResetOperations: many })).details).toBe('a reset may have 100 post_reset_operations, not 101');
  });

  test('the event behind the last one, though a task waits for its worker there', async () => {
    const shard = new ShardUnderTest();
    shard.start();
    histories.set(shard.describe().key.runId, shard.events());
    expect(await refusal({ workflowTaskFinishEventId: 3 })).toMatchObject({ code: codes.INVALID_ARGUMENT, details: outside });
    expect(asked()).toEqual([]);
  });

  test('more to apply again than one record holds', async () => {
    const shard = new ShardUnderTest();
    shard.checks = false;
    shard.start();
    shard.complete(shard.pollWorkflowTask());
    for (let nth = 0; nth < 7; nth++) shard.signal({ input: new Uint8Array(1024 * 1024), requestId: `${nth}` });
    histories.set(shard.describe().key.runId, shard.events());
    const { code, details } = await refusal({ workflowTaskFinishEventId: 4 });
    expect(code).toBe(codes.INVALID_ARGUMENT);
    expect(details).toBe('the events to apply again are larger than 6291456 bytes (resetReappliedBytesMax)');
  });
});
