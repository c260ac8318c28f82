/** From the deletion of a namespace to the record that its entry is gone, with whatever comes between. */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { ClusterHost } from '../../../src/actors/cluster/cluster-host.ts';
import { NamespacePurge } from '../../../src/actors/cluster/namespace-purge.ts';
import type { Clock } from '../../../src/ports/machine.ts';
import { CLUSTER_ACTOR, Router, type ClusterAnswer } from '../../../src/actors/asks/router.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import type { ClusterCommand } from '../../../src/cluster/cluster-commands.ts';
import type { ListRunKeys, RunKeys } from '../../../src/history/commands/run-keys.ts';
import { errorText } from '../../../src/kernel/error-text.ts';
import type { MatchingReply } from '../../../src/matching/matching-replies.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import { createLogger, silentLogger } from '../../../src/observability/logger.ts';
import { clusterCodec } from '../../../src/codec/cluster-codec.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { jsonClaims } from '../ledger.ts';
import { MemoryLog } from '../memory-log.ts';
import { turns, until } from '../../support/event-loop.ts';
import { HandClock } from '../../support/hand-clock.ts';

class Bench {
  readonly #clock: Clock;
  readonly router: Router;
  readonly lines: string[] = [];
  /** By run id. */
  readonly runs = new Map<string, RunKey>();
  /** Run ids, in the order in which they were to be deleted. */
  readonly asked: string[] = [];
  /** Of what is there: whether it can be deleted. */
  canDelete: (runId: string) => boolean = () => true;
  /** Of these nobody answers whether they are deleted. */
  hangs: (runId: string) => boolean = () => false;
  /** What its one host of task queues answers, and how often it was to forget a namespace; undefined: nothing. */
  hostAnswer: MatchingReply<never> | undefined = { kind: 'done' };
  readonly forgotten: string[] = [];
  perSecond = 100_000;
  walks = 0;
  /** To the first page of a walk: so long is a table in which others stand first. */
  walkMs = 0;
  beforeWalk: () => void = () => {};
  #given: readonly RunKey[] = [];
  readonly host: ClusterHost;
  readonly purge: NamespacePurge;

  constructor(log: MemoryLog, passMsMax: number, clock: Clock) {
    this.#clock = clock;
    this.router = new Router(clock);
    this.host = new ClusterHost(
      {
        topic: 'test.cluster',
        owner: 'test',
        log,
        codec: clusterCodec,
        claims: jsonClaims,
        sink: this.router.cluster.sink(CLUSTER_ACTOR),
        clock,
        random: systemRandom,
        logger: silentLogger,
        onStatus: () => {},
      },
      () => this.purge.look(),
    );
    this.purge = new NamespacePurge({
      cluster: this.host,
      historyShards: 2,
      matchingPartitions: 1,
      hostOf: () => 0,
      settings: () => ({ perSecondOfEach: this.perSecond, concurrencyMax: 2 }),
      passMsMax,
      endsMsMax: 50,
      answerMsMax: 30,
      asker: this.router,
      newId: () => 'new',
      clock,
      logger: createLogger({ level: 'info', format: 'text', write: (line) => void this.lines.push(line), nowMs: () => 0 }),
    });
    this.router.cluster.attach(CLUSTER_ACTOR, this.host.actor);
    for (const shard of [1, 2]) this.#attach(shard);
    const matching = this.router.matching.sink(0);
    this.router.matching.attach(0, {
      submit: (askId, request) => {
        if (request.kind === 'listStoredQueues') {
          systemClock.soon(() => matching.answer(askId, { kind: 'storedQueues', queues: [] }));
          return undefined;
        }
        if (request.kind !== 'forgetNamespace') return { kind: 'internal', message: 'nothing else is asked' };
        this.forgotten.push(request.namespaceId);
        const answer = this.hostAnswer;
        if (answer !== undefined) systemClock.soon(() => matching.answer(askId, answer));
        return undefined;
      },
      cancel: () => {},
    });
    this.host.actor.start();
  }

  #attach(shard: number): void {
    const sink = this.router.history.sink(shard);
    this.router.history.attach(shard, {
      submit: (askId, request) => {
        if (request.kind === 'listRunKeys') {
          void this.#runKeys(shard, request).then(
            (reply) => sink.answer(askId, reply),
            (error: unknown) => sink.fail(askId, { kind: 'unavailable', message: errorText(error) }),
          );
          return undefined;
        }
        if (request.kind !== 'deleteWorkflow' || request.isPurge !== true)
          return { kind: 'internal', message: 'it is purged by nothing else' };
        const { runId } = request.key;
        this.asked.push(runId);
        if (this.hangs(runId)) return undefined;
        if (!this.canDelete(runId)) return { kind: 'unavailable', message: 'its row is damaged' };
        const wasThere = this.runs.delete(runId);
        const gone = { kind: 'rejected', rejection: { reason: 'workflow-not-found', message: 'gone' } } as const;
        systemClock.soon(() => sink.answer(askId, wasThere ? { kind: 'done' } : gone));
        return undefined;
      },
      cancel: () => {},
    });
  }

  // In a table what is deleted may be found a little longer, so each run of shard 1 is given twice.
  async #runKeys(shard: number, { namespaceIds, from }: ListRunKeys): Promise<RunKeys> {
    const isFirst = shard === 1 && !from.isInTable;
    if (isFirst) {
      this.walks += 1;
      this.beforeWalk();
      if (this.walkMs > 0) await new Promise<void>((resolve) => void this.#clock.after(this.walkMs, resolve));
      this.#given = [...this.runs.values()];
    }
    const all = shard === 1 ? this.#given : [...this.runs.values()];
    const keys = all.filter(({ namespaceId }) => (namespaceId === 'b') === (shard === 2) && namespaceIds.includes(namespaceId));
    return { kind: 'runKeys', keys, next: isFirst ? { isInTable: true, afterRunId: '' } : undefined };
  }

  ask<Command extends ClusterCommand>(command: Command): Promise<ClusterAnswer<Command>> {
    return new Promise((resolve) => void this.router.askCluster(command, ownWork(FAR_AWAY_MS), resolve));
  }

  async delete(id: string, graceMs = 0, deleteDelayMs = 0): Promise<void> {
    await this.ask({ kind: 'deleteNamespace', id, graceMs, deleteDelayMs });
  }

  put(namespaceId: string, ...runIds: readonly string[]): void {
    for (const runId of runIds) this.runs.set(runId, { namespaceId, workflowId: runId, runId });
  }

  get namespaces(): readonly string[] {
    return this.host.view.namespaces().map(({ id }) => id);
  }

  async stop(): Promise<void> {
    this.purge.close();
    await this.host.actor.drain();
    this.router.close();
  }
}

const benches: Bench[] = [];

async function open(log: MemoryLog, runsOfA: readonly string[] = [], passMsMax = 50, clock: Clock = systemClock): Promise<Bench> {
  const bench = new Bench(log, passMsMax, clock);
  bench.put('a', ...runsOfA);
  benches.push(bench);
  await until(() => bench.host.actor.status().state === 'active');
  return bench;
}

async function started(log = new MemoryLog(), passMsMax = 50, clock: Clock = systemClock): Promise<Bench> {
  const bench = await open(log, [], passMsMax, clock);
  for (const id of ['a', 'b', 'c']) {
    const namespace = { id, name: id, description: '', ownerEmail: '', data: new Map(), retentionMs: 86_400_000 };
    await bench.ask({ kind: 'registerNamespace', ...namespace });
  }
  return bench;
}

afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.stop();
});

test('all that it has is deleted, with nobody asking for it, and nothing of others; then its entry is gone', async () => {
  const bench = await started();
  bench.put('a', 'a1', 'a2', 'a3');
  bench.put('b', 'b1');
  await bench.delete('a');
  await until(() => bench.namespaces.join() === 'b,c');
  expect([...bench.runs.keys()]).toEqual(['b1']);
  expect(bench.asked.toSorted()).toEqual(['a1', 'a1', 'a2', 'a2', 'a3', 'a3']);
  expect(bench.lines.join()).toMatch(/a deleted namespace was purged .*namespaceId=a .*executions=3/);
});

test('nothing of it is touched before its grace time is over', async () => {
  const bench = await started();
  bench.put('a', 'a1');
  await bench.delete('a', 200);
  const { purgeAtMs } = bench.host.view.deletions.get('a') ?? {};
  let firstMs = 0;
  bench.beforeWalk = () => (firstMs ||= Date.now());
  await until(() => !bench.namespaces.includes('a'));
  expect(firstMs).toBeGreaterThanOrEqual(purgeAtMs ?? Infinity);
});

test('its entry stays for its delay, and it is not walked again meanwhile', async () => {
  const bench = await started();
  bench.put('a', 'a1');
  await bench.delete('a', 0, 200);
  await until(() => bench.host.view.deletions.get('a')?.purgedAtMs !== undefined);
  const { walks, namespaces } = bench;
  expect(namespaces).toContain('a');
  await until(() => !bench.namespaces.includes('a'));
  expect(bench.walks).toBe(walks);
});

test('what comes while it is walked is found by the next pass', async () => {
  const bench = await started();
  bench.put('a', 'a1');
  bench.beforeWalk = () => {
    if (bench.walks === 2) bench.put('a', 'late');
  };
  await bench.delete('a');
  await until(() => !bench.namespaces.includes('a'));
  expect([...bench.runs.keys()]).toEqual([]);
  expect(bench.walks).toBe(3);
});

test('a process that ends in the middle leaves the rest to the next, which goes on by the journal alone', async () => {
  const log = new MemoryLog();
  const first = await started(log);
  first.put('a', 'a1');
  // Before it comes to any.
  first.beforeWalk = () => first.purge.close();
  await first.delete('a');
  await until(() => first.walks === 1);
  await turns(20);
  expect(first.asked).toEqual([]);
  expect(first.namespaces).toContain('a');
  const second = await open(log, ['a1']);
  await until(() => !second.namespaces.includes('a'));
  expect([...second.runs.keys()]).toEqual([]);
  const third = await open(log);
  await turns(20);
  expect([third.walks, third.namespaces]).toEqual([0, ['b', 'c']]);
});

test('one of which something cannot be deleted waits, and keeps no other; a shard that is away is walked when it is back', async () => {
  const bench = await started();
  bench.put('a', 'a1', 'stone');
  bench.put('b', 'b1');
  let isStone = true;
  bench.canDelete = (runId) => runId !== 'stone' || !isStone;
  bench.beforeWalk = () => {
    if (bench.walks <= 2) throw new Error('the shard is not served here now');
  };
  await bench.delete('a');
  await bench.delete('b');
  await until(() => !bench.namespaces.includes('b'));
  await until(() => bench.walks >= 6);
  expect([...bench.runs.keys()]).toEqual(['stone']);
  expect(bench.namespaces).toContain('a');
  isStone = false;
  await until(() => !bench.namespaces.includes('a'));
});

test('hosts of task queues forget it, and again before its entry goes; while one does not, it is not purged, and that is reported', async () => {
  const bench = await started();
  const message = 'task queues of the namespace have 3 stored tasks';
  bench.hostAnswer = { kind: 'rejected', rejection: { reason: 'tasks-left', message } };
  bench.put('a', 'a1');
  await bench.delete('a', 0, 100);
  await until(() => bench.forgotten.length > 1);
  expect(bench.namespaces).toContain('a');
  expect(bench.purge.report()).toMatchObject([{ namespaceId: 'a', state: 'purging', executions: 1, trouble: message }]);
  bench.hostAnswer = { kind: 'done' };
  await until(() => bench.host.view.deletions.get('a')?.purgedAtMs !== undefined);
  expect(bench.purge.report()).toEqual([
    { namespaceId: 'a', namespace: expect.stringContaining('a'), state: 'purged', executions: 0, nextStepTimeMs: expect.any(Number) },
  ]);
  const { length } = bench.forgotten;
  await until(() => !bench.namespaces.includes('a'));
  expect(bench.forgotten).toHaveLength(length + 1);
  expect(bench.purge.report()).toEqual([]);
});

test('one that is deleted while a large one is purged does not wait for it', async () => {
  const bench = await started();
  bench.perSecond = 100;
  bench.put('a', ...Array.from({ length: 5_000 }, (_, nth) => `a${nth}`));
  bench.put('b', 'b1');
  await bench.delete('a');
  await until(() => bench.asked.length > 0);
  await bench.delete('b');
  await until(() => !bench.namespaces.includes('b'));
  expect([...bench.runs.values()].filter(({ namespaceId }) => namespaceId === 'a').length).toBeGreaterThan(4_000);
});

test('deletions that nobody answers hold up no other namespace for longer than a pass', async () => {
  const bench = await started();
  bench.put('a', ...Array.from({ length: 200 }, (_, nth) => `hung${nth}`));
  bench.hangs = (runId) => runId.startsWith('hung');
  await bench.delete('a');
  await until(() => bench.asked.length > 0);
  bench.put('b', 'b1');
  await bench.delete('b');
  await bench.delete('c');
  await until(() => bench.namespaces.join() === 'a');
  // Two of them take 30 ms: all would take 3 s, twice.
  expect(bench.asked.length).toBeLessThan(100);
  bench.hangs = () => false;
  await until(() => !bench.namespaces.includes('a'));
  expect(bench.runs.size).toBe(0);
});

test('entries that cannot go because no host of task queues answers hold up no purge', async () => {
  const bench = await started();
  await bench.delete('a', 0, 100);
  await until(() => bench.host.view.deletions.get('a')?.purgedAtMs !== undefined);
  bench.hostAnswer = undefined;
  await until(() => bench.forgotten.length > 1);
  bench.put('b', 'b1');
  await bench.delete('b');
  await until(() => bench.asked.includes('b1'));
  expect(bench.namespaces).toContain('a');
});

test('where it takes longer to come to its runs than a pass may last, they are deleted nevertheless', async () => {
  const bench = await started();
  bench.walkMs = 60;
  bench.put('a', 'a1', 'a2');
  await bench.delete('a');
  await until(() => !bench.namespaces.includes('a'));
  expect(bench.runs.size).toBe(0);
  expect(bench.walks).toBe(2);
});

test('the longer it takes to come to its runs, the more of them a pass deletes', async () => {
  // A millisecond passes in some turns of the event loop, however long these take.
  const clock = new HandClock();
  const passing = setInterval(() => clock.advance(1));
  onTestFinished(() => clearInterval(passing));
  const bench = await started(new MemoryLog(), 10, clock);
  bench.walkMs = 60;
  bench.perSecond = 1_000;
  bench.put('a', ...Array.from({ length: 100 }, (_, nth) => `a${nth}`));
  await bench.delete('a');
  await until(() => !bench.namespaces.includes('a'));
  expect(bench.runs.size).toBe(0);
  // Of 10 ms each, in which two at a time delete 20 runs, six would be needed.
  expect(bench.walks).toBeLessThan(5);
});
