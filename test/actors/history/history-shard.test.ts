import { afterEach, describe, expect, test } from 'vitest';
import { isAskFailure, NOBODY, ownWork } from '../../../src/actors/asks/asks.ts';
import { CommandBudget } from '../../../src/actors/partition/command-budget.ts';
import { systemSearchAttributes } from '../../../src/cluster/search-attributes.ts';
import { defaultPartitionLimits } from '../../../src/actors/partition/partition-limits.ts';
import { ProcessVisibility } from '../../../src/projections/list/process-visibility.ts';
import { HistoryShard } from '../../../src/actors/history/history-shard.ts';
import type { Registry } from '../../../src/actors/history/history-memory.ts';
import { LogError } from '../../../src/ports/log.ts';
import { Router, type HistoryAnswer } from '../../../src/actors/asks/router.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import { CLOCK_CHECK_MS } from '../../../src/ports/wall-alarm.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import type {
  HistoryRequest,
  SignalWithStartWorkflow,
  StartAttributes,
  StartWorkflow,
} from '../../../src/history/commands/history-commands.ts';
import type { ReadHistory } from '../../../src/history/commands/owner-requests.ts';
import type { WorkflowCommand } from '../../../src/history/commands/workflow-commands.ts';
import { defaultHistoryLimits, type HistoryLimits } from '../../../src/history/run/history-limits.ts';
import type { HistoryReply, StartedWorkflowTask } from '../../../src/history/run/history-replies.ts';
import { historyShardOf } from '../../../src/kernel/shard.ts';
import type { DispatchQuery } from '../../../src/matching/matching-commands.ts';
import { matchingLimits } from '../../../src/matching/matching-limits.ts';
import { noPoller, tooManyQueries } from '../../../src/matching/rejections.ts';
import type { MatchingRejected, QueryAnswer, StickyUnavailable } from '../../../src/matching/matching-replies.ts';
import type { MatchingTask } from '../../../src/matching/matching-tasks.ts';
import { createLogger, silentLogger } from '../../../src/observability/logger.ts';
import { historyCodec } from '../../../src/codec/history-codec.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import { encodeFields } from '../../../src/wire/fields.ts';
import { encodePayload } from '../../../src/wire/generated/lean/common.ts';
import { namespace } from '../../grpc/stub-ports.ts';
import { completion } from '../../history/completion.ts';
import { namespaceId, signalAttributes, startAttributes, startChild, terminateWorkflow } from '../../history/shard-under-test.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { jsonClaims } from '../ledger.ts';
import { MemoryLog } from '../memory-log.ts';
import { LetterQueues } from './letter-queues.ts';
import { thereIs, withoutLetters } from '../../support/simple-cluster.ts';
import type { TaskCapture } from '../../../src/actors/history/hand-over/task-capture.ts';
import { MemoryDatabase } from '../../support/memory-database.ts';
import { turns, until } from '../../support/event-loop.ts';

const topic = 'test.history';
const layout = { historyShards: 2, matchingPartitions: 1, taskQueuePartitions: 1 };

type BenchOptions = {
  readonly log?: MemoryLog | undefined;
  readonly cacheBytesMax?: number | undefined;
  readonly wire?: typeof historyWire;
  readonly codec?: typeof historyCodec;
  readonly budget?: CommandBudget;
  readonly limits?: Partial<HistoryLimits>;
  readonly heap?: { readonly nearlyFull: object | undefined };
  /** A task that fails so often is a letter. Absent: there are no letters. */
  readonly failuresMax?: number | undefined;
};

/** Shard 1 with a matching host that takes every task, and with a shard 2 that waits for the test. */
class Bench {
  readonly log: MemoryLog;
  readonly clock = new HandClock();
  readonly router = new Router(this.clock);
  readonly shard: HistoryShard;
  readonly offered: MatchingTask[] = [];
  /** Matching has no poll for any, and stores them. */
  stores = false;
  queues: LetterQueues | undefined;
  /** In the log for people. */
  readonly errors: string[] = [];
  readonly asked: { readonly askId: number; readonly command: HistoryRequest }[] = [];
  readonly answer: (askId: number, reply: HistoryReply) => void;
  /** What this process has folded of it; it has no namespaces. */
  readonly registry: Registry & { view: Registry['view'] } = {
    isFolded: true,
    view: { position: 0, registeredNameOf: () => undefined, namespaceById: thereIs, systemSearchAttributes },
  };
  /** What matching answers to a query; undefined: it is silent. */
  onQuery: (query: DispatchQuery) => QueryAnswer | StickyUnavailable | MatchingRejected | undefined = () => ({ kind: 'stickyUnavailable' });

  constructor({ log = new MemoryLog(), cacheBytesMax = 1024 * 1024, wire = historyWire, ...given }: BenchOptions = {}) {
    const { codec = historyCodec, budget = new CommandBudget(), limits = {} } = given;
    this.log = log;
    const matching = this.router.matching.sink(0);
    this.router.matching.attach(0, {
      submit: (askId, request) => {
        if ('task' in request) this.offered.push(request.task);
        systemClock.soon(() => {
          const answer = request.kind === 'dispatchQuery' ? this.onQuery(request) : ({ kind: this.stores ? 'stored' : 'done' } as const);
          if (answer !== undefined) matching.answer(askId, answer);
        });
        return undefined;
      },
      cancel: () => {},
    });
    const other = this.router.history.sink(2);
    this.answer = (askId, reply) => void other.answer(askId, reply);
    this.router.history.attach(2, {
      submit: (askId, command) => {
        this.asked.push({ askId, command });
        return undefined;
      },
      cancel: () => {},
    });
    this.shard = new HistoryShard({
      shard: 1,
      topic,
      owner: 'test',
      log,
      codec,
      claims: jsonClaims,
      wire,
      limits: { ...defaultHistoryLimits, ...limits },
      registry: this.registry,
      visibility: new ProcessVisibility({ database: new MemoryDatabase(), clock: this.clock, logger: silentLogger }),
      cacheBytesMax,
      layout,
      router: this.router,
      sink: this.router.history.sink(1),
      clock: this.clock,
      random: systemRandom,
      logger: createLogger({ level: 'error', format: 'text', write: (line) => void this.errors.push(line), nowMs: () => 0 }),
      onStatus: () => {},
      budget,
      ...(given.heap === undefined ? {} : { heap: given.heap }),
      capture: this.#capture(given.failuresMax),
      isArchiving: false,
      sideRunners: {},
    });
    this.router.history.attach(1, this.shard);
  }

  #capture(failuresMax: number | undefined): TaskCapture {
    if (failuresMax === undefined) return withoutLetters;
    this.registry.view = { ...this.registry.view, namespaceById: () => namespace('ns') };
    this.queues = new LetterQueues(this.router, failuresMax, () => this.clock.wallMs());
    return this.queues.capture;
  }

  async started(): Promise<this> {
    this.shard.actor.start();
    await until(() => this.shard.actor.status().state === 'active');
    return this;
  }

  ask<Command extends HistoryRequest>(command: Command): Promise<HistoryAnswer<Command>> {
    return new Promise((resolve) => void this.router.askHistory(1, command, ownWork(FAR_AWAY_MS), resolve));
  }

  async start(workflowId: string, startDelayMs = 0, change: Partial<StartAttributes> = {}): Promise<RunKey> {
    const reply = await this.ask({
      kind: 'startWorkflow',
      key: { namespaceId, workflowId, runId: '' },
      namespace: 'ns',
      newRunId: systemRandom.nonce(),
      requestId: systemRandom.nonce(),
      policies: { reusePolicy: 1, conflictPolicy: 1 },
      parent: undefined,
      onConflict: undefined,
      start: startAttributes({ startDelayMs, ...change }),
    });
    if (reply.kind !== 'started') throw new Error(`not started: ${JSON.stringify(reply)}`);
    return { namespaceId, workflowId, runId: reply.runId };
  }

  async read(key: RunKey, range: Omit<ReadHistory, 'kind' | 'key'>): Promise<readonly Uint8Array[]> {
    const reply = await this.ask({ kind: 'readHistory', key, ...range });
    if (reply.kind !== 'historyPage') throw new Error(`no page: ${JSON.stringify(reply)}`);
    return reply.events;
  }

  async eventsOf(key: RunKey): Promise<number> {
    return (await this.read(key, page)).length;
  }

  /** As many reads as the mailbox holds, before any of them is looked at. */
  fillMailbox(key: RunKey): void {
    for (let count = 0; count < defaultPartitionLimits.mailboxCommandsMax; count++) void this.ask({ kind: 'describeWorkflow', key });
  }

  async lastEventId(key: RunKey): Promise<number> {
    const reply = await this.ask({ kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: false });
    return isAskFailure(reply) || reply.kind === 'rejected' ? 0 : reply.lastEventId;
  }
}

/** Its requests are the same each time: asked again, they are repeats. */
function signalWithStart(workflowId: string): SignalWithStartWorkflow {
  const names = { namespace: 'ns', newRunId: systemRandom.nonce(), requestId: `start-${workflowId}` };
  const key = { namespaceId, workflowId, runId: '' };
  const policies = { reusePolicy: 1, conflictPolicy: 2 } as const;
  const signal = signalAttributes({ requestId: `signal-${workflowId}` });
  return { kind: 'signalWithStartWorkflow', key, ...names, start: startAttributes(), policies, signal };
}

test('while the heap is nearly full no run begins, those that are open are signalled, and there are starts again when there is room', async () => {
  const heap: { nearlyFull: object | undefined } = { nearlyFull: undefined };
  const bench = await openWith({ heap });
  const open = await bench.start('open');
  heap.nearlyFull = {};
  const refused = { kind: 'rejected', rejection: { reason: 'no-room', message: expect.stringContaining('nearly full') as string } };
  expect(await bench.ask(signalWithStart('new'))).toMatchObject(refused);
  await expect(bench.start('another')).rejects.toThrow('no-room');
  expect(await bench.ask(signalWithStart('open'))).toMatchObject({ kind: 'started', started: false, runId: open.runId });
  expect(await bench.lastEventId(open)).toBe(3);
  heap.nearlyFull = undefined;
  expect(await bench.ask(signalWithStart('new'))).toMatchObject({ kind: 'started', started: true });
});

const benches: Bench[] = [];
afterEach(async () => {
  for (const { shard, router } of benches.splice(0)) {
    await shard.actor.drain();
    router.close();
  }
});

async function open(log?: MemoryLog, cacheBytesMax?: number): Promise<Bench> {
  return await openWith({ log, cacheBytesMax });
}

async function openWith(options: BenchOptions): Promise<Bench> {
  const bench = new Bench(options);
  benches.push(bench);
  return await bench.started();
}

const childIds = Array.from({ length: 100 }, (_, index) => `child-${index}`).filter(
  (workflowId) => historyShardOf(namespaceId, workflowId, layout.historyShards) === 2,
);
const [childId] = childIds;

test('whoever asks which runs a namespace has is told when what the answer rests on is in the log', async () => {
  const bench = await open();
  const key = await bench.start('wf');
  const listRunKeys = { kind: 'listRunKeys', namespaceIds: [namespaceId], from: { isInTable: false, afterRunId: '' } } as const;
  expect(await bench.ask(listRunKeys)).toMatchObject({ keys: [{ workflowId: 'wf' }], next: { isInTable: true } });
  bench.log.held = true;
  const deleted = bench.ask({ kind: 'deleteWorkflow', key, isPurge: true });
  let answer: unknown;
  const listed = bench.ask(listRunKeys).then((reply) => (answer = reply));
  await turns(50);
  expect(answer, 'its deletion may be lost still').toBeUndefined();
  bench.log.letGo();
  expect(await deleted).toEqual({ kind: 'done' });
  expect(await listed).toMatchObject({ kind: 'runKeys', keys: [] });
  expect(await bench.ask({ ...listRunKeys, from: { isInTable: true, afterRunId: '' } })).toEqual({
    kind: 'runKeys',
    keys: [],
    next: undefined,
  });
});

describe('timers of a shard', () => {
  test('that are due together are decided together, and go into one append', async () => {
    const bench = await open();
    const count = 50;
    for (let index = 0; index < count; index++) await bench.start(`wf-${index}`, 1_000);
    bench.log.held = true;
    const before = bench.log.appends;
    bench.clock.advance(1_000);
    await turns(3 * count);
    bench.log.letGo();
    await until(() => bench.offered.length === count);
    expect(bench.log.appends - before).toBeLessThan(5);
  });

  test('fire although the mailbox was full when their time came, and nothing is written afterwards', async () => {
    const bench = await open();
    const key = await bench.start('wf', 1_000);
    bench.fillMailbox(key);
    bench.clock.advance(1_000);
    await turns(200);
    bench.clock.advance(1_000);
    await turns(20);
    expect(bench.offered).toHaveLength(1);
  });

  test('fire although the clock went back before they were decided', async () => {
    const bench = await open();
    await bench.start('wf', 60_000);
    bench.clock.advance(60_000);
    bench.clock.wallAheadMs -= 10_000;
    await turns(20);
    expect(bench.offered).toEqual([]);
    bench.clock.advance(10_000);
    await turns(20);
    expect(bench.offered).toHaveLength(1);
  });
});

describe('an hour that passes on the wall clock alone, as in a suspend', () => {
  test('makes timers late by half a minute at most', async () => {
    const bench = await open();
    await bench.start('wf', 3_600_000);
    bench.clock.advance(1_000);
    bench.clock.wallAheadMs += 3_600_000;
    bench.clock.advance(CLOCK_CHECK_MS);
    await turns(20);
    expect(bench.offered).toHaveLength(1);
  });

  test('does not let a timer of two hours fire early', async () => {
    const bench = await open();
    await bench.start('wf', 7_200_000);
    bench.clock.wallAheadMs += 3_600_000;
    for (let minutes = 0; minutes < 59; minutes++) {
      bench.clock.advance(60_000);
      await turns(2);
    }
    expect(bench.offered).toEqual([]);
    bench.clock.advance(60_000);
    await turns(20);
    expect(bench.offered).toHaveLength(1);
  });
});

describe('a clock that is set back by an hour', () => {
  test('neither stops timers nor lets them fire early', async () => {
    const bench = await open();
    await bench.start('before', 1_000);
    bench.clock.wallAheadMs -= 3_600_000;
    await bench.start('after', 1_000);
    for (let tenths = 0; tenths < 9; tenths++) {
      bench.clock.advance(100);
      await turns(5);
    }
    expect(bench.offered).toEqual([]);
    for (let tenths = 0; tenths < 4; tenths++) {
      bench.clock.advance(100);
      await turns(5);
    }
    expect(bench.offered.map(({ key }) => key.workflowId)).toEqual(['before', 'after']);
  });

  test('nor does it after a restart', async () => {
    const first = await open();
    await first.start('wf', 1_000);
    await first.shard.actor.drain();
    const second = new Bench({ log: first.log });
    benches.push(second);
    second.clock.wallAheadMs -= 3_600_000;
    await second.started();
    for (let tenths = 0; tenths < 12; tenths++) {
      second.clock.advance(100);
      await turns(5);
    }
    expect(second.offered).toHaveLength(1);
  });
});

test('what no journal can hold fails its caller alone', async () => {
  const bench = await open();
  const start = {
    kind: 'startWorkflow',
    key: { namespaceId, workflowId: 'odd', runId: '' },
    namespace: 'ns',
    newRunId: systemRandom.nonce(),
    requestId: systemRandom.nonce(),
    policies: { reusePolicy: 1, conflictPolicy: 1 },
    parent: undefined,
    onConflict: undefined,
  } as const;
  const odd: readonly Partial<StartAttributes>[] = [
    { executionTimeoutMs: 9_007_199_254_740_000 },
    { runTimeoutMs: Infinity },
    { startDelayMs: Number.NaN },
  ];
  for (const change of odd) {
    const request = { ...start, start: startAttributes(change) };
    // Not by way of the router: what cannot be journaled could not travel either.
    const answer = await new Promise<HistoryAnswer<StartWorkflow>>((resolve) => {
      bench.router.history.ask(1, request, ownWork(FAR_AWAY_MS), resolve);
    });
    expect([Object.keys(change), answer.kind]).toEqual([Object.keys(change), 'internal']);
  }
  expect([bench.shard.actor.status().state, bench.shard.runsAside]).toEqual(['active', 0]);
  const key = await bench.start('odd');
  expect(await bench.lastEventId(key)).toBe(2);
});

describe('a timer that cannot be decided', () => {
  /** The first workflow task of a workflow with this task timeout cannot be written: a bug of ours, planted. */
  const brokenTimeoutMs = 7_777;
  const brokenWire: typeof historyWire = {
    ...historyWire,
    encodeEvent(event) {
      const breaks = event.type === 'workflowTaskScheduled' && event.attributes.startToCloseTimeoutMs === brokenTimeoutMs;
      if (breaks) throw new RangeError('planted');
      return historyWire.encodeEvent(event);
    },
  };

  async function openBroken(log?: MemoryLog, failuresMax?: number): Promise<Bench> {
    return await openWith({ log, wire: brokenWire, failuresMax });
  }

  async function pass(bench: Bench, ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 100) {
      bench.clock.advance(Math.min(leftMs, 100));
      await turns(5);
    }
  }

  const linesOf = (bench: Bench) => bench.shard.actor.memory?.core.shard.handOvers?.get('timer');

  test('lets others fire, is tried again, and in the end it is a dead letter; its workflow can be read and terminated', async () => {
    const bench = await openBroken(undefined, 3);
    const broken = await bench.start('broken', 1_000, { taskTimeoutMs: brokenTimeoutMs });
    await bench.start('sound', 1_100);
    await pass(bench, 1_200);
    expect(bench.offered.map(({ key }) => key.workflowId)).toEqual(['sound']);
    const letters = bench.queues?.letters.timer ?? new Map();
    expect(letters.size).toBe(0);

    await pass(bench, 5_000);
    expect([bench.shard.actor.status().state, bench.shard.runsAside]).toEqual(['active', 0]);
    expect([...letters.keys()]).toEqual([0]);
    expect(letters.get(0)).toMatchObject({
      task: { taskType: 'TASK_TYPE_WORKFLOW_BACKOFF_TIMER', workflowId: 'broken', runId: broken.runId, namespace: 'ns' },
      failure: {
        cause: 'retries-exhausted',
        errorType: 'RangeError',
        errorMessage: 'planted',
        attempts: 3,
        handler: 'TimerQueueProcessor',
      },
    });
    expect(linesOf(bench)).toEqual({ lastSequence: 1, waiting: [] });
    const attempts = (): number => bench.errors.filter((line) => line.includes('could not be decided')).length;
    expect(attempts()).toBe(3);
    await pass(bench, 60_000);
    expect(attempts(), 'it is tried no more').toBe(3);

    await bench.shard.actor.drain();
    const second = await openBroken(bench.log, 3);
    await pass(second, 10_000);
    expect(second.queues?.letters.timer.size, 'nor is it handed over again').toBe(0);
    expect(await second.ask({ kind: 'describeWorkflow', key: broken })).toMatchObject({ status: 1, aside: undefined });
    expect(await second.ask(terminateWorkflow({ key: broken }))).toEqual({ kind: 'done' });
    expect(await second.ask({ kind: 'describeWorkflow', key: broken })).toMatchObject({ status: 5 });
    second.clock.advance(73 * 3_600_000);
    await pass(second, 1_000);
    expect(await second.ask({ kind: 'describeWorkflow', key: broken })).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
  });

  test('is tried for ever where there are no dead letters, and others fire', async () => {
    const bench = await openBroken();
    await bench.start('broken', 1_000, { taskTimeoutMs: brokenTimeoutMs });
    await pass(bench, 30_000);
    await bench.start('sound', 100);
    await pass(bench, 1_000);
    expect(bench.offered.map(({ key }) => key.workflowId)).toEqual(['sound']);
    expect(bench.shard.runsAside).toBe(0);
  });

  test('is handed over by the next owner where this one could not tell', async () => {
    const bench = await openBroken(undefined, 1);
    if (bench.queues !== undefined) bench.queues.isOpen = false;
    await bench.start('broken', 1_000, { taskTimeoutMs: brokenTimeoutMs });
    await pass(bench, 5_000);
    expect(linesOf(bench)?.waiting).toHaveLength(1);
    await bench.shard.actor.drain();
    const second = await openBroken(bench.log, 1);
    await pass(second, 5_000);
    expect([...(second.queues?.letters.timer.keys() ?? [])]).toEqual([0]);
    expect(linesOf(second)).toEqual({ lastSequence: 1, waiting: [] });
  });

  test('is a dead letter at once where its namespace is deleted', async () => {
    const bench = await openWith({ failuresMax: 70 });
    bench.registry.view = { ...bench.registry.view, namespaceById: () => ({ ...namespace('ns'), state: 'deleted' }) };
    await bench.start('sleeping', 1_000);
    await pass(bench, 2_000);
    expect(bench.queues?.letters.timer.get(0)).toMatchObject({ task: { workflowId: 'sleeping' }, failure: { cause: 'namespace-deleted' } });
    expect(bench.offered).toEqual([]);
  });
});

test('a workflow task that cannot be started is asked for a few times, then its workflow is quarantined', async () => {
  const identity = 'poison';
  const brokenWire: typeof historyWire = {
    ...historyWire,
    encodeEvent(event) {
      if (event.type === 'workflowTaskStarted' && event.attributes.identity === identity) throw new RangeError('planted');
      return historyWire.encodeEvent(event);
    },
  };
  const bench = await openWith({ wire: brokenWire });
  await bench.start('wf');
  await until(() => bench.offered.length === 1);
  const [offered] = bench.offered;
  if (offered === undefined) throw new Error('offered just now');
  const { key, scheduledEventId, stamp } = offered;
  const taskQueue = { name: 'queue', kind: 1, normalName: '' };
  const start = { kind: 'startWorkflowTask', key, scheduledEventId, stamp, pollRequestId: 'p', identity, taskQueue } as const;
  for (let attempt = 0; attempt < 5; attempt++) expect(await bench.ask(start)).toMatchObject({ kind: 'internal' });
  expect(await bench.ask(start), 'matching drops it').toMatchObject({ rejection: { reason: 'task-not-found' } });
  expect(bench.shard.runsAside).toBe(1);
});

describe('the outbox of a shard', () => {
  test('a run that is taken back tells its parent once', async () => {
    const bench = await open();
    const parent = { namespaceId, workflowId: childId ?? '', runId: 'parent-run' };
    const reply = await bench.ask({
      kind: 'startWorkflow',
      key: { namespaceId, workflowId: 'wf', runId: '' },
      namespace: 'ns',
      newRunId: systemRandom.nonce(),
      requestId: systemRandom.nonce(),
      policies: { reusePolicy: 1, conflictPolicy: 1 },
      parent: { ...parent, namespace: 'ns', initiatedEventId: 5, rootWorkflowId: parent.workflowId, rootRunId: parent.runId },
      onConflict: undefined,
      start: startAttributes({}),
    });
    if (reply.kind !== 'started') throw new Error('not started');
    const key = { namespaceId, workflowId: 'wf', runId: reply.runId };
    bench.shard.actor.submit(NOBODY, { kind: 'putAside', key, failedCommand: 'fireTimer', taskId: 0, reason: 'planted' });
    await until(() => bench.shard.runsAside === 1);
    expect(await bench.ask(terminateWorkflow({ key: key }))).toEqual({ kind: 'done' });
    await turns(20);
    expect(bench.asked.map(({ command }) => command.kind)).toEqual(['recordChildClosed']);
  });

  test('the answer of another shard is kept while the mailbox is full', async () => {
    const bench = await open();
    const key = await bench.start('wf');
    await until(() => bench.offered.length === 1);
    const task = await startedTask(bench);
    await complete(bench, task, [startChild({ workflowId: childId ?? '', namespaceId })]);
    await until(() => bench.asked.length === 1);
    const before = await bench.lastEventId(key);
    bench.fillMailbox(key);
    for (const { askId } of bench.asked) {
      bench.answer(askId, { kind: 'started', runId: systemRandom.nonce(), firstExecutionRunId: 'first', started: true, status: 1 });
    }
    await turns(200);
    bench.clock.advance(1_000);
    await turns(20);
    // ChildWorkflowExecutionStarted, WorkflowTaskScheduled
    expect(await bench.lastEventId(key)).toBe(before + 2);
  });
});

test('tasks that ended without a record are journaled to the last one, however few of them one record takes', async () => {
  const bench = await openWith({ limits: { finishedTasksPerRecordMax: 2 } });
  const key = await bench.start('wf');
  await until(() => bench.offered.length === 1);
  const children = Array.from({ length: 5 }, (_, index) => startChild({ workflowId: childIds[index] ?? '', namespaceId }));
  await complete(bench, await startedTask(bench), children);
  await until(() => bench.asked.length === 5);
  expect(await bench.ask(terminateWorkflow({ key: key }))).toEqual({ kind: 'done' });
  // Nothing follows from it for a parent that has closed, but that these tasks are over.
  for (const { askId } of bench.asked) {
    bench.answer(askId, { kind: 'rejected', rejection: { reason: 'workflow-not-found', message: 'there is none' } });
  }
  const flushed = (): readonly number[] => {
    const records = bench.log.records({ topic, partition: 0 }).filter(({ type }) => type === 'TasksFinished');
    return records.map(({ value, schema }) => historyCodec.decode(value, schema).finishedTaskIds.length);
  };
  const inAll = (): number => flushed().reduce((sum, count) => sum + count, 0);
  // On a busy machine they end in several turns, and the first record has fewer than it could.
  while (inAll() < 5) {
    await turns(20);
    bench.clock.advance(1_000);
  }
  expect(inAll()).toBe(5);
  expect(Math.max(...flushed())).toBeLessThanOrEqual(2);
});

test('what matching has stored is not offered again after a replay, without a database', async () => {
  const first = new Bench();
  first.stores = true;
  await first.started();
  const keys = [await first.start('a'), await first.start('b'), await first.start('c')];
  await until(() => first.offered.length === 3);
  expect(await first.ask(terminateWorkflow({ key: keys[1]! }))).toEqual({ kind: 'done' });
  for (let second = 0; second < 3; second++) {
    await turns(20);
    first.clock.advance(1_000);
  }
  first.stores = false;
  await first.start('d');
  await until(() => first.offered.length === 4);
  await turns(20);
  const noted = first.log.records({ topic, partition: 0 }).filter(({ type }) => type === 'TasksAtMatching');
  expect(
    noted.map(({ value, schema }) => historyCodec.decode(value, schema).taskIdsAtMatching),
    'one record, without what has ended meanwhile',
  ).toEqual([[first.offered[0]?.taskId, first.offered[2]?.taskId]]);

  const second = await openWith({ log: first.log });
  await until(() => second.offered.length > 0);
  await turns(20);
  expect(second.offered.map(({ key }) => key.workflowId)).toEqual(['d']);
});

test('finished tasks that cannot be journaled are tried again ever more slowly', async () => {
  const brokenCodec: typeof historyCodec = {
    ...historyCodec,
    encode(record) {
      if (record.runs.length === 0) throw new RangeError('planted');
      return historyCodec.encode(record);
    },
  };
  const bench = await openWith({ codec: brokenCodec });
  const key = await bench.start('wf');
  await until(() => bench.offered.length === 1);
  await complete(bench, await startedTask(bench), [startChild({ workflowId: childId ?? '', namespaceId })]);
  await until(() => bench.asked.length === 1);
  expect(await bench.ask(terminateWorkflow({ key }))).toEqual({ kind: 'done' });
  bench.answer(bench.asked[0]?.askId ?? 0, { kind: 'rejected', rejection: { reason: 'workflow-not-found', message: 'there is none' } });
  for (let tenth = 0; tenth < 150; tenth++) {
    await turns(5);
    bench.clock.advance(100);
  }
  // After 1 s, and then after pauses of 0.2, 0.4, … 6.4 s.
  expect(bench.errors).toHaveLength(7);
  expect(bench.errors[0]).toContain('flushFinishedTasks');
});

test('queries that wait for a log that does not answer stay in the budget', async () => {
  const queryBytes = 256 * 1024;
  const budget = new CommandBudget(64 * queryBytes, 32 * queryBytes);
  const log = new MemoryLog({ exclusive: false });
  const bench = await openWith({ log, budget });
  const key = await bench.start('wf');
  await until(() => bench.offered.length === 1);
  await complete(bench, await startedTask(bench), []);
  const answered = Promise.withResolvers<void>();
  const end = log.end.bind(log);
  log.end = (partition) => answered.promise.then(() => end(partition));
  const answers: string[] = [];
  for (let index = 0; index < 100; index++) {
    const query = { queryId: `${index}`, query: new Uint8Array(queryBytes), rejectCondition: 0, deadlineMs: FAR_AWAY_MS };
    void bench.ask({ kind: 'queryWorkflow', key, ...query }).then(({ kind }) => answers.push(kind));
    await turns(2);
  }
  answered.resolve();
  await until(() => budget.bytes === 0);
  expect(answers.filter((kind) => kind === 'busy').length).toBeGreaterThan(60);
});

test('a query that waits for a log that does not answer hears so', async () => {
  const log = new MemoryLog({ exclusive: false });
  const bench = await open(log);
  const key = await bench.start('wf');
  await until(() => bench.offered.length === 1);
  await complete(bench, await startedTask(bench), []);
  const answered = Promise.withResolvers<void>();
  const end = log.end.bind(log);
  log.end = (partition) => answered.promise.then(() => end(partition));
  const query = { kind: 'queryWorkflow', key, queryId: 'q', query: Uint8Array.of(1), rejectCondition: 0, deadlineMs: FAR_AWAY_MS } as const;
  let answer: HistoryAnswer<typeof query> | undefined;
  void bench.ask(query).then((given) => (answer = given));
  await turns(5);
  bench.clock.advance(3_000);
  await turns(5);
  expect(answer).toEqual({ kind: 'unavailable', message: expect.stringContaining('has had no answer from its log for 3 s') });
  answered.resolve();
  await turns(5);
  expect(await bench.ask({ ...query, queryId: 'next' })).toMatchObject({ kind: 'rejected', rejection: { reason: 'failed-precondition' } });
});

test('an hour in doubt makes no work of its own', async () => {
  const budget = new CommandBudget();
  const bench = await openWith({ budget });
  const key = await bench.start('wf');
  await until(() => bench.offered.length === 1);
  await complete(bench, await startedTask(bench), [startChild({ workflowId: childId ?? '', namespaceId })]);
  await until(() => bench.asked.length === 1);
  expect(await bench.ask(terminateWorkflow({ key: key }))).toEqual({ kind: 'done' });
  const [asked] = bench.asked;
  bench.log.held = true;
  const waiting = bench.start('in doubt').catch(() => undefined);
  await turns(5);
  bench.answer(asked?.askId ?? 0, { kind: 'rejected', rejection: { reason: 'workflow-not-found', message: 'there is none' } });
  await turns(5);
  bench.log.unknown = true;
  bench.log.letGo();
  await until(() => bench.shard.actor.status().state === 'claiming');
  bench.log.held = true;
  const advance = (seconds: number): void => {
    for (let second = 0; second < seconds; second++) bench.clock.advance(1_000);
  };
  advance(5);
  const { bytes } = budget;
  advance(3_600);
  expect(budget.bytes).toBe(bytes);
  await waiting;
});

test.each([
  [noPoller, 'failed-precondition'],
  [tooManyQueries(matchingLimits), 'busy-workflow'],
] as const)('a query that its queue refuses ($rejection.reason) is answered with what callers make of that', async (refusal, reason) => {
  const bench = await open(new MemoryLog());
  const key = await bench.start('wf');
  await until(() => bench.offered.length === 1);
  await bench.ask(completion(await startedTask(bench), []));
  bench.onQuery = () => refusal;
  const query = { kind: 'queryWorkflow', key, queryId: 'q', query: Uint8Array.of(1), rejectCondition: 0, deadlineMs: FAR_AWAY_MS } as const;
  const { message } = refusal.rejection;
  expect(await bench.ask(query)).toEqual({ kind: 'rejected', rejection: { reason, message } });
});

test.each([
  ['', 0],
  [', though the records are ahead of a clock that was set back', 3_600_000],
])('a query that no sticky worker takes is answered by another, and stickiness ends%s', async (_, setBackMs) => {
  const bench = await open(new MemoryLog());
  const key = await bench.start('wf');
  await until(() => bench.offered.length === 1);
  const sticky = { taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' }, scheduleToStartTimeoutMs: 5000 };
  expect(await bench.ask({ ...completion(await startedTask(bench), []), sticky })).toMatchObject({ kind: 'workflowTaskCompleted' });
  const tried: string[] = [];
  bench.onQuery = ({ queue }) => {
    tried.push(`${queue.kind} ${queue.name}`);
    if (queue.kind === 'sticky') return { kind: 'stickyUnavailable' };
    return { kind: 'queryAnswer', result: { answered: true, answer: Uint8Array.of(7), errorMessage: '', failure: undefined } };
  };
  bench.clock.wallAheadMs -= setBackMs;
  const deadlineMs = bench.clock.wallMs() + 3_000_000;
  const query = { kind: 'queryWorkflow', key, queryId: 'q', query: Uint8Array.of(1), rejectCondition: 0, deadlineMs } as const;
  expect(await bench.ask(query)).toEqual({ kind: 'queryAnswered', answer: Uint8Array.of(7) });
  expect(tried).toEqual(['sticky sticky', 'normal queue']);
  expect(await bench.ask({ ...query, queryId: 'next' })).toMatchObject({ kind: 'queryAnswered' });
  expect(tried).toEqual(['sticky sticky', 'normal queue', 'normal queue']);
});

test('a query whose sticky queue is on a host that never answers goes to the normal queue, and so do the next ones', async () => {
  const bench = await open(new MemoryLog());
  const key = await bench.start('wf');
  await until(() => bench.offered.length === 1);
  const sticky = { taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' }, scheduleToStartTimeoutMs: 50 };
  await bench.ask({ ...completion(await startedTask(bench), []), sticky });
  bench.onQuery = ({ queue }) =>
    queue.kind === 'sticky'
      ? undefined
      : { kind: 'queryAnswer', result: { answered: true, answer: Uint8Array.of(7), errorMessage: '', failure: undefined } };
  const deadlineMs = bench.clock.wallMs() + 60_000;
  const query = { kind: 'queryWorkflow', key, queryId: 'q', query: Uint8Array.of(1), rejectCondition: 0, deadlineMs } as const;
  const answer = bench.ask(query);
  await turns(20);
  bench.clock.advance(10_000);
  expect(await answer).toEqual({ kind: 'queryAnswered', answer: Uint8Array.of(7) });
  const tried: string[] = [];
  bench.onQuery = ({ queue }) => {
    tried.push(queue.kind);
    return { kind: 'stickyUnavailable' };
  };
  await bench.ask({ ...query, queryId: 'next' });
  expect(tried).toEqual(['normal']);
});

test('a query in a start delay that it outlasts waits, though the records are ahead of a clock that was set back', async () => {
  const bench = await open(new MemoryLog());
  await bench.start('before');
  bench.clock.wallAheadMs -= 3_600_000;
  const key = await bench.start('wf', 0, { startDelayMs: 1_000 });
  const ask = (queryId: string, waitMs: number): ReturnType<typeof bench.ask> => {
    const deadlineMs = bench.clock.wallMs() + waitMs;
    return bench.ask({ kind: 'queryWorkflow', key, queryId, query: Uint8Array.of(1), rejectCondition: 0, deadlineMs });
  };
  expect(await ask('short', 500)).toMatchObject({ rejection: { message: 'Workflow task is not scheduled yet.' } });
  const answers: unknown[] = [];
  void ask('long', 10_000).then((answer) => answers.push(answer));
  // Behind it, so it has been decided by then.
  await bench.ask({ kind: 'describeWorkflow', key });
  expect(answers).toEqual([]);
});

test('a completion is decided with the search attributes that are registered where its shard is', async () => {
  const bench = await open(new MemoryLog());
  const key = await bench.start('wf');
  await until(() => bench.offered.length === 1);
  const upsert: WorkflowCommand = {
    type: 'upsertWorkflowSearchAttributes',
    userMetadata: undefined,
    attributes: { searchAttributes: encodeFields(new Map([['Fresh', keyword('new')]])) },
  };
  const completing = { ...completion(await startedTask(bench), [upsert]), registryPosition: 3 };

  // The asker knows more than this process: nothing is judged by the older view.
  expect(await bench.ask(completing)).toMatchObject({ kind: 'notHere' });
  expect(await bench.ask({ kind: 'describeWorkflow', key })).toMatchObject({ historyLength: 3 });

  const registered = { ...namespace('ns'), searchAttributeTypes: new Map([['Fresh', 2]]) };
  bench.registry.view = { ...bench.registry.view, position: 3, namespaceById: (id) => (id === namespaceId ? registered : undefined) };
  expect(await bench.ask(completing)).toMatchObject({ kind: 'workflowTaskCompleted' });
  const description = await bench.ask({ kind: 'describeWorkflow', key });
  expect(description).toMatchObject({ searchAttributes: encodeFields(new Map([['Fresh', keyword('new')]])) });
});

test.each([
  ['There', { kind: 'workflowTaskCompleted' }],
  ['Here', { rejection: { message: expect.stringContaining('Here') as string } }],
])('a child in another namespace is judged by what is registered there: %s', async (name, verdict) => {
  const bench = await open(new MemoryLog());
  await bench.start('wf');
  await until(() => bench.offered.length === 1);
  const here = { ...namespace('ns'), searchAttributeTypes: new Map([['Here', 2]]) };
  const there = { ...namespace('there'), searchAttributeTypes: new Map([['There', 2]]) };
  bench.registry.view = { ...bench.registry.view, namespaceById: (id) => [here, there].find((each) => each.id === id) };
  const searchAttributes = encodeFields(new Map([[name, keyword('new')]]));
  const child = startChild({ namespace: there.name, namespaceId: there.id, searchAttributes });
  expect(await bench.ask(completion(await startedTask(bench), [child]))).toMatchObject(verdict);
});

function keyword(text: string): Uint8Array {
  const metadata = new Map([['encoding', Buffer.from('json/plain')]]);
  return encodePayload({ metadata, data: Buffer.from(JSON.stringify(text)), externalPayloads: [] });
}

describe('rows for lists', () => {
  const all = { rowsMax: 100, bytesMax: 1_000_000 };
  const listed = ({ shard }: Bench): readonly (readonly [workflowId: string, status: number])[] => {
    const rows = shard.actor.memory?.visibility?.take(all).rows ?? [];
    shard.actor.memory?.visibility?.written();
    return rows.map(({ workflowId, status }) => [workflowId, status]);
  };

  test('are there once their record is in the log, before whoever asked has an answer, and not earlier', async () => {
    const bench = await open();
    bench.log.held = true;
    let rowsAtAnswer: unknown;
    const started = bench.start('wf').then(() => (rowsAtAnswer = listed(bench)));
    await turns(20);
    expect(listed(bench)).toEqual([]);
    bench.log.letGo();
    await started;
    expect(rowsAtAnswer).toEqual([['wf', 1]]);
  });

  test('of a record in doubt are there when the doubt is settled, once', async () => {
    const bench = await open();
    bench.log.unknown = true;
    const answered = bench.start('wf').catch(() => undefined);
    await until(() => bench.shard.actor.status().state !== 'active');
    expect(listed(bench)).toEqual([]);
    bench.log.unknown = false;
    for (let second = 0; second < 30 && bench.shard.actor.status().state !== 'active'; second++) {
      bench.clock.advance(1_000);
      await turns(5);
    }
    await answered;
    expect(bench.shard.actor.status().state).toBe('active');
    expect(listed(bench)).toEqual([['wf', 1]]);
    expect(listed(bench)).toEqual([]);
  });

  test('wait again after a takeover, but for records that never came into the log', async () => {
    const log = new MemoryLog();
    const first = await open(log);
    await first.start('kept');
    log.held = true;
    void first.start('lost');
    await turns(10);
    // The other one takes over while the append of this one hangs, and reads what is there.
    const records = new MemoryLog();
    for (const [name, stored] of log.partitions) records.partitions.set(name, [...stored]);
    const second = await open(records);
    expect(listed(second)).toEqual([['kept', 1]]);
    log.letGo();
  });
});

const page = { firstEventId: 1, lastEventId: 2, eventsMax: 10, bytesMax: 1_000_000 };

describe('pages of history', () => {
  test('there are none while the journal is read: what is there so far may lack events', async () => {
    const log = new MemoryLog();
    const first = await open(log);
    const key = await first.start('wf');
    expect(await first.eventsOf(key)).toBe(2);
    const second = new Bench({ log });
    benches.push(second);
    second.shard.actor.start();
    for (let step = 1; second.shard.actor.status().state !== 'active'; step++) {
      expect(second.shard.submit(step, { kind: 'readHistory', key, ...page })).toMatchObject({ kind: 'notHere' });
      // Most of it happens within a turn; a replay that takes long lets others have theirs.
      await (step % 20 === 0 ? turns(1) : Promise.resolve());
    }
    expect(await second.eventsOf(key)).toBe(2);
  });

  test('are read although nothing is decided: what is committed needs no barrier', async () => {
    const log = new MemoryLog({ exclusive: false });
    const bench = await open(log);
    const key = await bench.start('wf');
    log.end = () => new Promise(() => {});
    expect(await bench.eventsOf(key)).toBe(2);
  });

  test('come with the task, from a poll and inline, and are those that are read', async () => {
    const bench = await open(new MemoryLog());
    await bench.start('wf');
    await until(() => bench.offered.length === 1);
    const polled = await startedTask(bench);
    expect(polled.firstPage).toEqual(await bench.read(polled.key, { ...page, lastEventId: 3 }));
    const completed = await bench.ask({ ...completion(polled, []), returnNewWorkflowTask: true, forceCreateNewWorkflowTask: true });
    if (completed.kind !== 'workflowTaskCompleted' || completed.workflowTask === undefined) throw new Error('no task inline');
    const { historyFirstEventId: firstEventId, historyLastEventId: lastEventId, firstPage } = completed.workflowTask;
    expect(firstPage).toEqual(await bench.read(polled.key, { ...page, firstEventId, lastEventId }));
    expect(lastEventId).toBe(6);
  });

  test('come with the task of an eager start, also when another owner is asked for it again', async () => {
    const log = new MemoryLog();
    const first = await open(log);
    const start = {
      kind: 'startWorkflow',
      key: { namespaceId, workflowId: 'wf', runId: '' },
      namespace: 'ns',
      newRunId: systemRandom.nonce(),
      requestId: systemRandom.nonce(),
      policies: { reusePolicy: 1, conflictPolicy: 1 },
      parent: undefined,
      onConflict: undefined,
      eager: true,
      start: startAttributes({}),
    } as const;
    const reply = await first.ask(start);
    const events = await first.read({ ...start.key, runId: start.newRunId }, { ...page, lastEventId: 3 });
    expect(events).toHaveLength(3);
    expect(reply).toMatchObject({ kind: 'started', workflowTask: { startedEventId: 3, firstPage: events } });
    expect(first.offered).toEqual([]);
    const second = await open(log);
    const again = await second.ask({ ...start, newRunId: systemRandom.nonce() });
    expect(again).toMatchObject({ kind: 'started', runId: start.newRunId, workflowTask: { startedEventId: 3 } });
  });

  test.each([
    ['large events', 1024 * 1024, { input: new Uint8Array(64 * 1024) }],
    ['events that are not in memory', 0, {}],
  ])('with %s the task goes alone', async (_what, cacheBytesMax, change) => {
    const bench = await open(new MemoryLog(), cacheBytesMax);
    await bench.start('wf', 0, change);
    await until(() => bench.offered.length === 1);
    const task = await startedTask(bench);
    expect(task.firstPage).toBeUndefined();
    expect(await bench.read(task.key, { ...page, lastEventId: 3 })).toHaveLength(3);
  });
});

describe('pages that must be read again', () => {
  test('come from the log', async () => {
    const bench = await open(new MemoryLog(), 0);
    expect(await bench.eventsOf(await bench.start('wf'))).toBe(2);
  });

  test('are read a few MiB at a time, however many are asked for; what is given up before its turn is not read', async () => {
    const log = new MemoryLog();
    const bench = await open(log, 0);
    const key = await bench.start('wf', 0, { input: new Uint8Array(1024 * 1024) });
    let reading = 0;
    let readingMax = 0;
    let reads = 0;
    const read = log.read.bind(log);
    log.read = async (...from) => {
      reads += 1;
      readingMax = Math.max(readingMax, ++reading);
      await turns(2);
      reading -= 1;
      return read(...from);
    };
    const answers: string[] = [];
    const askIds = Array.from({ length: 100 }, () =>
      bench.router.askHistory(1, { kind: 'readHistory', key, ...page, bytesMax: 4 * 1024 * 1024 }, ownWork(FAR_AWAY_MS), ({ kind }) =>
        answers.push(kind),
      ),
    );
    for (const askId of askIds.slice(50)) bench.router.cancel(askId);
    await until(() => answers.length === 50);
    expect(new Set(answers)).toEqual(new Set(['historyPage']));
    expect(readingMax).toBeGreaterThan(1);
    expect(readingMax).toBeLessThanOrEqual(8);
    expect(reads).toBe(50);
  });

  test('cannot be had while the log is out of reach, which is no bug', async () => {
    const bench = await open(new MemoryLog(), 0);
    const key = await bench.start('wf');
    bench.log.read = () => Promise.reject(new LogError('unavailable', 'no broker'));
    expect(await bench.ask({ kind: 'readHistory', key, ...page })).toMatchObject({ kind: 'unavailable' });
    bench.log.read = () => Promise.reject(new LogError('corrupt', 'rotten'));
    expect(await bench.ask({ kind: 'readHistory', key, ...page })).toMatchObject({
      kind: 'internal',
      message: expect.stringContaining('rotten'),
    });
  });
});

async function startedTask(bench: Bench): Promise<StartedWorkflowTask> {
  const [offered] = bench.offered;
  if (offered === undefined) throw new Error('no task was offered');
  const { key, scheduledEventId, stamp } = offered;
  const reply = await bench.ask({
    kind: 'startWorkflowTask',
    key,
    scheduledEventId,
    stamp,
    pollRequestId: systemRandom.nonce(),
    identity: 'worker',
    taskQueue: { name: 'queue', kind: 1, normalName: '' },
  });
  if (reply.kind !== 'workflowTask') throw new Error(`not started: ${JSON.stringify(reply)}`);
  return reply;
}

async function complete(bench: Bench, task: StartedWorkflowTask, commands: readonly WorkflowCommand[]): Promise<void> {
  await bench.ask(completion(task, commands));
}
