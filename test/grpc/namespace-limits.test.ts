/** What a namespace may ask at a time and a second, from the socket. The clock is the test's. */
import { status as codes, type ServiceError } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Namespace } from '../../src/cluster/cluster-state.ts';
import type { Rpc } from '../../src/grpc/rpcs/rpc.ts';
import { workflowRpcs } from '../../src/grpc/rpcs/workflow-rpcs.ts';
import { type LimitsOfNamespace, NamespaceLimits, Rate } from '../../src/grpc/limits/namespace-limits.ts';
import { firstDetail } from './details.ts';
import { openBench, type Bench } from './frontend-bench.ts';
import { StubServer } from './stub-ports.ts';

const { workflowservice } = proto.temporal.api;
const [start, poll] = (['StartWorkflowExecution', 'PollWorkflowTaskQueue'] as const).map((name) => workflowRpcs.rpcs.get(name)) as [
  Rpc,
  Rpc,
];
const unlimited = { perSecond: 0, burst: 1 };

class LimitedBench {
  readonly bench: Bench;
  readonly time: { nowMs: number };
  limits: LimitsOfNamespace;

  constructor(bench: Bench, time: { nowMs: number }, limits: LimitsOfNamespace) {
    this.bench = bench;
    this.time = time;
    this.limits = limits;
  }

  static async open(limits: Partial<LimitsOfNamespace['rates']>, waitingMax = 1_200): Promise<LimitedBench> {
    // Deadlines of calls count by the real one.
    const time = { nowMs: performance.now() };
    const given = { rates: { execution: unlimited, visibility: unlimited, ...limits }, waitingMax };
    const opened: LimitedBench = new LimitedBench(
      await openBench({
        clock: { wallMs: Date.now, monoMs: () => time.nowMs },
        limitsOfNamespace: (name) =>
          name === 'default' ? opened.limits : { rates: { execution: unlimited, visibility: unlimited }, waitingMax: 1_200 },
      }),
      time,
      given,
    );
    onTestFinished(() => opened.bench.close());
    return opened;
  }

  describe(namespace = 'default'): Promise<string> {
    return this.code(
      'DescribeTaskQueue',
      workflowservice.v1.DescribeTaskQueueRequest.encode({ namespace, taskQueue: { name: 'q' } }).finish(),
    );
  }

  list(): Promise<string> {
    return this.code('ListWorkflowExecutions', workflowservice.v1.ListWorkflowExecutionsRequest.encode({ namespace: 'default' }).finish());
  }

  signal(): Promise<string> {
    const request = { namespace: 'default', workflowExecution: { workflowId: 'w' }, signalName: 's' };
    return this.code('SignalWorkflowExecution', workflowservice.v1.SignalWorkflowExecutionRequest.encode(request).finish());
  }

  poll(namespace = 'default'): { readonly answer: Promise<Uint8Array>; readonly cancel: () => void } {
    const request = workflowservice.v1.PollWorkflowTaskQueueRequest.encode({ namespace, taskQueue: { name: 'q' } }).finish();
    return this.bench.client.start('PollWorkflowTaskQueue', request, { timeoutMs: 60_000 });
  }

  query(): { readonly answer: Promise<Uint8Array>; readonly cancel: () => void } {
    const request = { namespace: 'default', execution: { workflowId: 'w' }, query: { queryType: 'q' } };
    return this.bench.client.start('QueryWorkflow', workflowservice.v1.QueryWorkflowRequest.encode(request).finish(), {
      timeoutMs: 60_000,
    });
  }

  async code(method: string, request: Uint8Array): Promise<string> {
    const outcome = await this.bench.client.call(method, request).then(
      () => 'OK',
      (error: ServiceError) => error.details,
    );
    return outcome;
  }
}

const rateExceeded = 'namespace rate limit exceeded';
/** What the stub answers to whoever gets through. */
const unknownWorkflow = 'workflow not found for ID: w';

test('a namespace that has had its calls of a second is refused, says why, and goes on a moment later', async () => {
  const limited = await LimitedBench.open({ execution: { perSecond: 10, burst: 2 } });
  expect([await limited.signal(), await limited.signal()]).toEqual([unknownWorkflow, unknownWorkflow]);
  const request = { namespace: 'default', workflowExecution: { workflowId: 'w' }, signalName: 's' };
  const refusal = await limited.bench.client.refusal(
    'SignalWorkflowExecution',
    workflowservice.v1.SignalWorkflowExecutionRequest.encode(request).finish(),
  );
  expect(refusal).toMatchObject({ code: codes.RESOURCE_EXHAUSTED, details: rateExceeded });
  expect(refusal.metadata.getMap()).toMatchObject({
    'x-resource-exhausted-cause': 'RpsLimit',
    'x-resource-exhausted-scope': 'Namespace',
  });
  expect(firstDetail(refusal)).toEqual({
    type: 'ResourceExhaustedFailure',
    fields: { cause: 'RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT', scope: 'RESOURCE_EXHAUSTED_SCOPE_NAMESPACE' },
  });
  // Nothing was asked of anybody.
  expect(limited.bench.stub.historyCommands).toHaveLength(2);
  limited.time.nowMs += 101;
  expect([await limited.signal(), await limited.signal()]).toEqual([unknownWorkflow, rateExceeded]);
});

test('other namespaces, and lists, have rates of their own', async () => {
  const limited = await LimitedBench.open({ execution: { perSecond: 1, burst: 1 }, visibility: { perSecond: 1, burst: 1 } });
  expect([await limited.signal(), await limited.signal()]).toEqual([unknownWorkflow, rateExceeded]);
  expect([await limited.list(), await limited.list()]).toEqual(['OK', rateExceeded]);
  expect(await limited.describe('other')).not.toBe(rateExceeded);
});

test('what matters more comes through when the rest is refused', async () => {
  const limited = await LimitedBench.open({ execution: { perSecond: 1, burst: 2 } });
  await limited.describe();
  await limited.describe();
  expect(await limited.describe()).toBe(rateExceeded);
  expect([await limited.signal(), await limited.signal(), await limited.signal()]).toEqual([
    unknownWorkflow,
    unknownWorkflow,
    rateExceeded,
  ]);
});

test('a limit that is set or lifted holds within a second', async () => {
  const limited = await LimitedBench.open({});
  expect(await limited.signal()).toBe(unknownWorkflow);
  limited.limits = { ...limited.limits, rates: { execution: { perSecond: 1, burst: 1 }, visibility: unlimited } };
  limited.time.nowMs += 1_001;
  expect([await limited.signal(), await limited.signal()]).toEqual([unknownWorkflow, rateExceeded]);
  limited.limits = { ...limited.limits, rates: { execution: unlimited, visibility: unlimited } };
  limited.time.nowMs += 1_001;
  expect([await limited.signal(), await limited.signal()]).toEqual([unknownWorkflow, unknownWorkflow]);
});

test('calls that wait are counted until they are answered or given up', async () => {
  const limited = await LimitedBench.open({}, 2);
  limited.bench.stub.answers.matching = () => 'never';
  const waiting = [limited.poll(), limited.poll()];
  await expect.poll(() => limited.bench.stub.openAsks).toBe(2);
  await expect(limited.poll().answer).rejects.toMatchObject({
    code: codes.RESOURCE_EXHAUSTED,
    details: 'namespace concurrent poller limit exceeded',
  });
  // Who waits for an answer takes no room from the workers that bring it about, nor they from him.
  limited.bench.stub.answers.history = () => 'never';
  const query = limited.query();
  await expect.poll(() => limited.bench.stub.openAsks).toBe(3);
  const ended = query.answer.catch(() => 'gone');
  query.cancel();
  await ended;
  await expect.poll(() => limited.bench.stub.openAsks).toBe(2);
  const elsewhere = limited.poll('other');
  await expect.poll(() => limited.bench.stub.openAsks).toBe(3);
  const gone = waiting[0]?.answer.catch(() => 'gone');
  waiting[0]?.cancel();
  await gone;
  await expect.poll(() => limited.bench.stub.openAsks).toBe(2);
  const another = limited.poll();
  await expect.poll(() => limited.bench.stub.openAsks).toBe(3);
  for (const call of [waiting[1], elsewhere, another]) {
    const end = call?.answer.catch(() => 'gone');
    call?.cancel();
    await end;
  }
});

test('however calls come, no more are let in than the rate and its burst, and the first priority gets all of it', () => {
  const calls = fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 400 }), priority: fc.constantFrom(1, 3, 4) }), { maxLength: 200 });
  fc.assert(
    fc.property(calls, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }), (steps, perSecond, burst) => {
      const [rate, first] = [new Rate(), new Rate()];
      let [nowMs, last, letIn] = [0, 0, 0];
      for (const { afterMs, priority } of steps) {
        nowMs += afterMs;
        const isIn = rate.take({ perSecond, burst }, priority as 1 | 3 | 4, nowMs);
        if (priority === 4 && isIn) last += 1;
        if (priority === 1) {
          expect(isIn).toBe(first.take({ perSecond, burst }, 1, nowMs));
          if (isIn) letIn += 1;
        }
      }
      const most = burst + (nowMs * perSecond) / 1_000;
      expect(last).toBeLessThanOrEqual(most);
      expect(letIn).toBeLessThanOrEqual(most);
    }),
  );
});

describe('more namespaces than are kept', () => {
  const some = 20_000;

  function limiting() {
    const looked: string[] = [];
    const limits = new NamespaceLimits(
      (name) => {
        looked.push(name);
        return { rates: { execution: { perSecond: 1, burst: 1 }, visibility: unlimited }, waitingMax: 1 };
      },
      () => 0,
    );
    const known = new StubServer().namespaces[0]!;
    const named = (name: string): Namespace => ({ ...known, id: name, name });
    const isAdmitted = (name: string): boolean => {
      try {
        limits.admit(named(name), start);
        return true;
      } catch {
        return false;
      }
    };
    return { looked, limits, named, isAdmitted };
  }

  test('one that has had its calls has no others for that', () => {
    const { isAdmitted } = limiting();
    expect([isAdmitted('busy'), isAdmitted('busy')]).toEqual([true, false]);
    for (let nth = 0; nth < some + 10; nth++) isAdmitted(`n${nth}`);
    expect(isAdmitted('busy')).toBe(false);
  });

  test('those that wait are kept, and none of the others is started again with each call', () => {
    const { limits, named, looked, isAdmitted } = limiting();
    for (let nth = 0; nth < some; nth++) limits.beginWait(named(`n${nth}`), poll);
    looked.length = 0;
    for (let call = 0; call < 100; call++) for (const name of ['one', 'other']) isAdmitted(name);
    expect(looked).toEqual(['one', 'other']);
    expect(() => limits.beginWait(named('n0'), poll)).toThrow('namespace concurrent poller limit exceeded');
  });
});
