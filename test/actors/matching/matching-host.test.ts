import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isAskFailure, ownWork, type AskFailure } from '../../../src/actors/asks/asks.ts';
import { MatchingHost } from '../../../src/actors/matching/matching-host.ts';
import type { Clock } from '../../../src/ports/machine.ts';
import { Router, type MatchingAnswer } from '../../../src/actors/asks/router.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import { CLOCK_CHECK_MS } from '../../../src/ports/wall-alarm.ts';
import type { HistoryRequest } from '../../../src/history/commands/history-commands.ts';
import type { HistoryReply, StartedActivityTask } from '../../../src/history/run/history-replies.ts';
import type { MatchingRequest } from '../../../src/matching/matching-commands.ts';
import { matchingPartitionOf, type TaskQueuePartition } from '../../../src/kernel/task-queue.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { matchingCodec } from '../../../src/codec/matching-codec.ts';
import { activities, add, poll, sticky, task, workflows } from '../../matching/fixtures.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { jsonClaims } from '../ledger.ts';
import { MemoryLog } from '../memory-log.ts';
import { turns, until } from '../../support/event-loop.ts';

const topic = 'test.matching';
const matchingPartitions = 3;

/** Shard 1: keeps what it was asked until the test answers. */
class Shard {
  readonly asked: { readonly askId: number; readonly command: HistoryRequest }[] = [];
  readonly #answer: (askId: number, reply: HistoryReply | AskFailure) => void;

  constructor(router: Router) {
    const sink = router.history.sink(1);
    this.#answer = (askId, reply) => (isAskFailure(reply) ? sink.fail(askId, reply) : void sink.answer(askId, reply));
    router.history.attach(1, {
      submit: (askId, command) => {
        this.asked.push({ askId, command });
        return undefined;
      },
      cancel: () => {},
    });
  }

  /** Answers the oldest command that was not answered yet. */
  answer(reply: HistoryReply | AskFailure): void {
    const next = this.asked.shift();
    if (next === undefined) throw new Error('the shard was asked nothing');
    this.#answer(next.askId, reply);
  }
}

class Bench {
  readonly log: MemoryLog;
  readonly router: Router;
  readonly shard: Shard;
  readonly hosts: readonly MatchingHost[];
  /** Hosts that nobody reaches. */
  readonly away = new Set<number>();
  refused = 0;

  constructor(log: MemoryLog, clock: Clock = systemClock) {
    this.log = log;
    this.router = new Router(clock);
    this.shard = new Shard(this.router);
    this.hosts = Array.from({ length: matchingPartitions }, (_, partition) => {
      const host = new MatchingHost({
        partition,
        topic,
        owner: 'test',
        log,
        codec: matchingCodec,
        claims: jsonClaims,
        matchingPartitions,
        taskQueuePartitions: 3,
        router: this.router,
        sink: this.router.matching.sink(partition),
        clock,
        random: systemRandom,
        logger: silentLogger,
        onStatus: () => {},
      });
      this.router.matching.attach(partition, {
        submit: (askId, command) => (this.away.has(partition) ? this.#refuse() : host.actor.submit(askId, command)),
        cancel: (askId) => host.actor.cancel(askId),
      });
      host.actor.start();
      return host;
    });
  }

  #refuse(): AskFailure {
    this.refused++;
    return { kind: 'unavailable', message: 'away' };
  }

  ask<Request extends MatchingRequest>(request: Request): { readonly askId: number; readonly answer: Promise<MatchingAnswer<Request>> } {
    let askId = 0;
    const answer = new Promise<MatchingAnswer<Request>>((resolve) => {
      const partition = 'queue' in request ? matchingPartitionOf(request.queue, matchingPartitions) : 0;
      askId = this.router.askMatching(partition, request, ownWork(FAR_AWAY_MS), resolve);
    });
    return { askId, answer };
  }

  async started(): Promise<this> {
    await until(() => this.hosts.every((host) => host.actor.status().state === 'active'));
    return this;
  }

  async stop(): Promise<void> {
    await Promise.all(this.hosts.map((host) => host.actor.drain()));
    this.router.close();
  }

  /** Records besides claims. */
  get records(): readonly { readonly type: string; readonly key: string }[] {
    return [...this.log.partitions.values()].flat().filter((record) => record.key !== '@claim');
  }
}

const inHalfAMinute = (): number => Date.now() + 30_000;
const started: StartedActivityTask = {
  kind: 'activityTask',
  key: task('a').key,
  workflowType: 'Order',
  activityId: '1',
  activityType: 'pay',
  header: undefined,
  input: undefined,
  heartbeatDetails: undefined,
  scheduledEventId: 5,
  attempt: 1,
  scheduledTimeMs: 1,
  currentAttemptScheduledTimeMs: 1,
  startedTimeMs: 2,
  scheduleToCloseTimeoutMs: 0,
  startToCloseTimeoutMs: 0,
  heartbeatTimeoutMs: 0,
  retryPolicy: { initialIntervalMs: 1, backoffCoefficient: 2, maximumIntervalMs: 0, maximumAttempts: 0, nonRetryableErrorTypes: [] },
  priority: undefined,
};

let bench: Bench;
beforeEach(async () => {
  bench = await new Bench(new MemoryLog()).started();
});
afterEach(() => bench.stop());

describe('a matching host', () => {
  test('asks the shard to record the start, then answers both', async () => {
    const polled = bench.ask(poll('p1', { deadlineMs: inHalfAMinute(), workerVersion: new Uint8Array([1]) }));
    const added = bench.ask(add(task('a')));
    await until(() => bench.shard.asked.length === 1);
    expect(bench.shard.asked[0]?.command).toEqual({
      kind: 'startActivityTask',
      key: task('a').key,
      scheduledEventId: 5,
      stamp: 1,
      pollRequestId: 'p1',
      identity: 'worker-1',
      workerVersion: new Uint8Array([1]),
    });
    bench.shard.answer(started);
    expect(await polled.answer).toEqual({ kind: 'task', task: started, origin: task('a'), pollRequestId: 'p1', backlogCountHint: 0 });
    expect(await added.answer).toEqual({ kind: 'done' });
    expect(bench.records).toEqual([]);
  });

  test.each([
    ['normal', workflows, { name: 'orders', kind: 1, normalName: '' }],
    ['sticky', sticky, { name: 'worker-1-sticky', kind: 2, normalName: '' }],
  ] as const)('says which queue was polled: %s', async (_kind, queue, taskQueue) => {
    bench.ask(poll('p1', { queue, deadlineMs: inHalfAMinute() }));
    bench.ask(add(task('a'), { queue }));
    await until(() => bench.shard.asked.length === 1);
    expect(bench.shard.asked[0]?.command).toMatchObject({ kind: 'startWorkflowTask', pollRequestId: 'p1', taskQueue });
  });

  test('ends a poll by its own timer', async () => {
    const polled = bench.ask(poll('p1', { deadlineMs: Date.now() + 25 }));
    expect(await polled.answer).toEqual({ kind: 'emptyPoll' });
  });

  test('ends a poll within half a minute of a suspend that outlasted it', async () => {
    await bench.stop();
    const clock = new HandClock();
    bench = await new Bench(bench.log, clock).started();
    const polled = bench.ask(poll('p1', { deadlineMs: clock.wallMs() + 3_600_000 }));
    await until(() => bench.hosts.some((host) => host.actor.memory?.matching.counts()?.polls === 1));
    clock.wallAheadMs += 3_600_000;
    clock.advance(CLOCK_CHECK_MS);
    expect(await polled.answer).toEqual({ kind: 'emptyPoll' });
  });

  test('ends a poll half a minute late at most, though the clock was set back by an hour meanwhile and nobody asks for anything', async () => {
    await bench.stop();
    const clock = new HandClock();
    bench = await new Bench(bench.log, clock).started();
    let isOver = false;
    void bench.ask(poll('p1', { deadlineMs: clock.wallMs() + 60_000 })).answer.then(() => (isOver = true));
    await until(() => bench.hosts.some((host) => host.actor.memory?.matching.counts()?.polls === 1));
    clock.wallAheadMs -= 3_600_000;
    const begunMs = clock.monoMs();
    while (!isOver && clock.monoMs() - begunMs < 120_000) {
      clock.advance(1_000);
      await turns();
    }
    // The time between two looks at the clock is not known to have passed.
    expect(clock.monoMs() - begunMs).toBe(60_000 + CLOCK_CHECK_MS);
  });

  test('ends its polls when the server stops: empty, or with the task that is being started', async () => {
    const matched = bench.ask(poll('p1', { deadlineMs: inHalfAMinute() }));
    const waiting = bench.ask(poll('p2', { deadlineMs: inHalfAMinute() }));
    bench.ask(add(task('a')));
    await until(() => bench.shard.asked.length === 1);
    for (const host of bench.hosts) host.endPolls();
    expect(await waiting.answer).toEqual({ kind: 'emptyPoll' });
    bench.shard.answer(started);
    expect(await matched.answer).toMatchObject({ kind: 'task', task: started });
  });

  test('answers an add without a poll once the task is in the log; the next owner offers it', async () => {
    const added = bench.ask(add(task('a')));
    expect(await added.answer).toEqual({ kind: 'stored' });
    expect(bench.records).toMatchObject([{ type: 'TasksStored', key: 'ns/orders' }]);
    const { log } = bench;
    await bench.stop();
    bench = await new Bench(log).started();
    bench.ask(poll('p1', { deadlineMs: inHalfAMinute() }));
    await until(() => bench.shard.asked.length === 1);
    expect(bench.shard.asked[0]?.command).toMatchObject({ kind: 'startActivityTask', key: task('a').key });
  });

  test('does not answer before the append is answered', async () => {
    bench.log.held = true;
    const added = bench.ask(add(task('a')));
    let answered = false;
    void added.answer.then(() => (answered = true));
    await turns(20);
    expect(answered).toBe(false);
    bench.log.letGo();
    expect(await added.answer).toEqual({ kind: 'stored' });
  });

  test('gives out tasks although an earlier owner had a clock that ran ahead', async () => {
    await bench.stop();
    bench = await new Bench(bench.log, { ...systemClock, wallMs: () => Date.now() + 3_600_000 }).started();
    await bench.ask(add(task('a'))).answer;
    await bench.stop();
    bench = await new Bench(bench.log).started();
    const polled = bench.ask(poll('p1', { deadlineMs: inHalfAMinute() }));
    await until(() => bench.shard.asked.length === 1);
    bench.shard.answer(started);
    expect(await polled.answer).toMatchObject({ kind: 'task', origin: task('a') });
  });

  test('journals what was started before it lets go', async () => {
    await bench.ask(add(task('a'))).answer;
    const polled = bench.ask(poll('p1', { deadlineMs: inHalfAMinute() }));
    await until(() => bench.shard.asked.length === 1);
    bench.shard.answer(started);
    await polled.answer;
    const { log } = bench;
    await bench.stop();
    expect(bench.records.map((record) => record.type)).toEqual(['TasksStored', 'TasksRemoved']);
    bench = await new Bench(log).started();
  });

  test.each([
    ['gone', { kind: 'rejected', rejection: { reason: 'task-not-found', message: 'gone' } }, { kind: 'done' }],
    ['closed', { kind: 'rejected', rejection: { reason: 'workflow-closed', message: 'closed' } }, { kind: 'done' }],
  ] as const)('drops a task that history calls %s', async (_what, reply, expected) => {
    bench.ask(poll('p1', { deadlineMs: inHalfAMinute() }));
    const added = bench.ask(add(task('a')));
    await until(() => bench.shard.asked.length === 1);
    bench.shard.answer(reply);
    expect(await added.answer).toEqual(expected);
  });

  test.each([
    ['unavailable', { kind: 'unavailable', message: 'moving' }],
    ['busy', { kind: 'rejected', rejection: { reason: 'busy-workflow', message: 'busy' } }],
  ] as const)('asks again when history is %s', async (_what, reply) => {
    const polled = bench.ask(poll('p1', { deadlineMs: inHalfAMinute() }));
    bench.ask(add(task('a')));
    await until(() => bench.shard.asked.length === 1);
    bench.shard.answer(reply);
    await until(() => bench.shard.asked.length === 1);
    expect(bench.shard.asked[0]?.command).toMatchObject({ kind: 'startActivityTask', pollRequestId: 'p1' });
    bench.shard.answer(started);
    expect(await polled.answer).toMatchObject({ kind: 'task' });
  });
});

describe('a workflow that stands still', () => {
  test.each([
    ['its row is missing', { kind: 'rejected', rejection: { reason: 'busy-workflow', message: 'behind' } }],
    ['its row is damaged', { kind: 'dataLoss', message: 'its row cannot be read' }],
    ['its row is out of reach', { kind: 'notHere', message: 'away', hint: '', epoch: 1 }],
  ] as const)('keeps its task, and no poll from the others: %s', async (_what, answer) => {
    await bench.ask(add(task('still'))).answer;
    await bench.ask(add(task('a'))).answer;
    const polled = bench.ask(poll('p1', { deadlineMs: inHalfAMinute() }));
    await until(() => bench.shard.asked.length === 1);
    expect(bench.shard.asked[0]?.command).toMatchObject({ key: task('still').key });
    bench.shard.answer(answer);
    await until(() => bench.shard.asked.length === 1);
    expect(bench.shard.asked[0]?.command).toMatchObject({ key: task('a').key, pollRequestId: 'p1' });
    bench.shard.answer(started);
    expect(await polled.answer).toMatchObject({ kind: 'task', origin: task('a') });
    bench.ask(poll('p2', { deadlineMs: inHalfAMinute() }));
    await until(() => bench.shard.asked.length === 1);
    expect(bench.shard.asked[0]?.command).toMatchObject({ key: task('still').key, pollRequestId: 'p2' });
  });
});

describe('a poll whose caller leaves', () => {
  test('before the start is answered: withdrawn', async () => {
    const polled = bench.ask(poll('p1', { deadlineMs: inHalfAMinute() }));
    bench.ask(add(task('a')));
    await until(() => bench.shard.asked.length === 1);
    bench.router.cancel(polled.askId);
    bench.shard.answer(started);
    await until(() => bench.shard.asked.length === 1);
    expect(bench.shard.asked[0]?.command).toEqual({
      kind: 'withdrawActivityStart',
      key: task('a').key,
      scheduledEventId: 5,
      pollRequestId: 'p1',
    });
  });

  test('after the start is answered, before its own answer has left: withdrawn all the same', async () => {
    const polled = bench.ask(poll('p1', { deadlineMs: inHalfAMinute() }));
    bench.ask(add(task('a')));
    await until(() => bench.shard.asked.length === 1);
    // The answer stands in the host's mailbox before the cancellation does.
    bench.shard.answer(started);
    bench.router.cancel(polled.askId);
    await until(() => bench.shard.asked.length === 1);
    expect(bench.shard.asked[0]?.command).toMatchObject({ kind: 'withdrawActivityStart', pollRequestId: 'p1' });
  });

  test('a withdrawal that history could not take is asked again', async () => {
    const polled = bench.ask(poll('p1', { deadlineMs: inHalfAMinute() }));
    bench.ask(add(task('a')));
    await until(() => bench.shard.asked.length === 1);
    bench.router.cancel(polled.askId);
    bench.shard.answer(started);
    await until(() => bench.shard.asked.length === 1);
    bench.shard.answer({ kind: 'unavailable', message: 'moving' });
    await until(() => bench.shard.asked.length === 1);
    expect(bench.shard.asked[0]?.command.kind).toBe('withdrawActivityStart');
  });

  test('is withdrawn however long history is out of reach: what it had decided is committed in the end', async () => {
    await bench.stop();
    const clock = new HandClock();
    bench = await new Bench(new MemoryLog(), clock).started();
    const polled = bench.ask(poll('p1', { deadlineMs: clock.wallMs() + 600_000 }));
    bench.ask(add(task('a')));
    await until(() => bench.shard.asked.length === 1);
    bench.router.cancel(polled.askId);
    bench.shard.answer(started);
    for (let second = 0; second < 600; second++) {
      await turns();
      clock.advance(1_000);
      await turns();
      if (bench.shard.asked.length > 0) bench.shard.answer({ kind: 'notHere', message: 'its log does not answer', hint: '', epoch: 1 });
    }
    for (let second = 0; second < 10 && bench.shard.asked.length === 0; second++) {
      clock.advance(1_000);
      await turns();
    }
    expect(bench.shard.asked[0]?.command).toMatchObject({ kind: 'withdrawActivityStart', pollRequestId: 'p1' });
    // A bug that it meets then is the first one.
    bench.shard.answer({ kind: 'internal', message: 'a bug' });
    for (let second = 0; second < 20 && bench.shard.asked.length === 0; second++) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(bench.shard.asked[0]?.command).toMatchObject({ kind: 'withdrawActivityStart', pollRequestId: 'p1' });
    bench.shard.answer({ kind: 'done' });
  });
});

describe('partitions of one queue', () => {
  const at = (partition: number): TaskQueuePartition => ({ ...activities, partition });

  test('a poll and a task that come to different children meet at the root, without the journal', async () => {
    const polled = bench.ask(poll('p1', { queue: at(1), deadlineMs: inHalfAMinute() }));
    await until(() => bench.hosts.reduce((sum, host) => sum + (host.actor.memory?.matching.counts()?.polls ?? 0), 0) === 2);
    const added = bench.ask(add(task('a'), { queue: at(2) }));
    await until(() => bench.shard.asked.length === 1);
    bench.shard.answer(started);
    expect(await polled.answer).toMatchObject({ kind: 'task', origin: task('a') });
    expect(await added.answer).toEqual({ kind: 'done' });
    expect(bench.records).toEqual([]);
  });

  test("a child's backlog reaches a poll that comes to the root", async () => {
    expect(await bench.ask(add(task('a'), { queue: at(2) })).answer).toEqual({ kind: 'stored' });
    bench.ask(poll('p1', { queue: at(0), deadlineMs: inHalfAMinute() }));
    await until(() => bench.shard.asked.length === 1);
    expect(bench.shard.asked[0]?.command).toMatchObject({ pollRequestId: 'p1' });
  });

  test('a canceled poll is gone at the root as well', async () => {
    const polled = bench.ask(poll('p1', { queue: at(1), deadlineMs: inHalfAMinute() }));
    const polls = (): number => bench.hosts.reduce((sum, host) => sum + (host.actor.memory?.matching.counts()?.polls ?? 0), 0);
    await until(() => polls() === 2);
    bench.router.cancel(polled.askId);
    await until(() => polls() === 0);
    expect(await bench.ask(add(task('a'), { queue: at(2) })).answer).toEqual({ kind: 'stored' });
    expect(bench.records).toHaveLength(1);
  });

  describe('and what operators say of it', () => {
    const update = { identity: 'ops', queueRate: { perSecond: 0, reason: 'paused' }, keyRate: undefined, setWeights: [], unsetWeights: [] };
    const say = async (): Promise<void> => {
      const answer = await bench.ask({ kind: 'updateTaskQueueConfig', queue: at(0), ...update }).answer;
      expect(answer.kind).toBe('taskQueueConfigured');
    };
    const rates = async (): Promise<readonly unknown[]> => {
      const descriptions = [0, 1, 2].map((partition) => bench.ask({ kind: 'describeTaskQueue', queue: at(partition) }).answer);
      return (await Promise.all(descriptions)).map((answer) => 'ratePerSecond' in answer && answer.ratePerSecond);
    };

    test('reaches all of them, and their next owners', async () => {
      await say();
      await until(() => bench.records.length === 3);
      expect(await rates()).toEqual([0, 0, 0]);
      await bench.stop();
      bench = await new Bench(bench.log).started();
      expect(await rates()).toEqual([0, 0, 0]);
      expect(bench.records, 'who has heard confirms it without another record').toHaveLength(3);
    });

    test('reaches one whose host was away', async () => {
      const host = matchingPartitionOf(at(1), matchingPartitions);
      expect(host, 'it is on another host').not.toBe(matchingPartitionOf(at(0), matchingPartitions));
      bench.away.add(host);
      await say();
      await until(() => bench.refused >= 2);
      bench.away.delete(host);
      await until(() => bench.records.length === 3);
      expect(await rates()).toEqual([0, 0, 0]);
    });
  });
});
