/** From the removal of a search attribute to the record that gives its slot free, with whatever comes between. */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import { afterEach, expect, test } from 'vitest';
import { ClusterHost } from '../../../src/actors/cluster/cluster-host.ts';
import type { Rounds } from '../../../src/actors/cluster/rounds.ts';
import { slotPurge, type SlotPurgeOptions } from '../../../src/actors/cluster/slot-purge.ts';
import { CLUSTER_ACTOR, Router, type ClusterAnswer } from '../../../src/actors/asks/router.ts';
import { DatabaseError } from '../../../src/projections/database-port.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import type { ClusterCommand } from '../../../src/cluster/cluster-commands.ts';
import { createLogger, silentLogger } from '../../../src/observability/logger.ts';
import { clusterCodec } from '../../../src/codec/cluster-codec.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { jsonClaims } from '../ledger.ts';
import { MemoryLog } from '../memory-log.ts';
import { turns, until } from '../../support/event-loop.ts';
import { HandClock } from '../../support/hand-clock.ts';

const topic = 'test.cluster';
type Left = Parameters<SlotPurgeOptions['clear']>[0];

class Bench {
  readonly router = new Router(systemClock);
  readonly clock = new HandClock();
  readonly warnings: string[] = [];
  /** What was to be cleared, each time. */
  readonly asked: Left[] = [];
  clear: (left: Left) => Promise<boolean> = async () => true;
  /** With how much of the registry their rows were to be made. */
  readonly positions: number[] = [];
  isServed: (shard: number) => boolean = () => true;
  readonly host: ClusterHost;
  readonly purge: Rounds;

  constructor(log: MemoryLog) {
    this.host = new ClusterHost(
      {
        topic,
        owner: 'test',
        log,
        codec: clusterCodec,
        claims: jsonClaims,
        sink: this.router.cluster.sink(CLUSTER_ACTOR),
        clock: systemClock,
        random: systemRandom,
        logger: silentLogger,
        onStatus: () => {},
      },
      () => this.purge.look(),
    );
    this.purge = slotPurge({
      cluster: this.host,
      historyShards: 2,
      clear: (left, held) => {
        expect(held.map(({ fence }) => fence)).toEqual([1, 2]);
        this.asked.push(left);
        return this.clear(left);
      },
      asker: this.router,
      // Deadlines are the router's.
      clock: {
        monoMs: () => systemClock.monoMs(),
        wallMs: () => systemClock.wallMs(),
        soon: (act) => systemClock.soon(act),
        settled: (act) => systemClock.settled(act),
        after: (ms, act) => this.clock.after(ms, act),
      },
      logger: createLogger({ level: 'warn', format: 'text', write: (line) => void this.warnings.push(line), nowMs: () => 0 }),
    });
    this.router.cluster.attach(CLUSTER_ACTOR, this.host.actor);
    for (const shard of [1, 2]) this.#attach(shard);
    this.host.actor.start();
  }

  #attach(shard: number): void {
    const sink = this.router.history.sink(shard);
    this.router.history.attach(shard, {
      submit: (askId, request) => {
        if (request.kind !== 'holdRows') return { kind: 'internal', message: 'nothing else is asked' };
        this.positions.push(request.registryPosition);
        if (this.isServed(shard)) systemClock.soon(() => sink.answer(askId, { kind: 'rowsHeld', fence: shard }));
        else systemClock.soon(() => sink.fail(askId, { kind: 'unavailable', message: 'not yet' }));
        return undefined;
      },
      cancel: () => {},
    });
  }

  ask<Command extends ClusterCommand>(command: Command): Promise<ClusterAnswer<Command>> {
    return new Promise((resolve) => void this.router.askCluster(command, ownWork(FAR_AWAY_MS), resolve));
  }

  async add(namespaceId: string, ...names: string[]): Promise<ClusterAnswer<ClusterCommand>> {
    return await this.ask({ kind: 'addSearchAttributes', namespaceId, attributes: new Map(names.map((name) => [name, 3])) });
  }

  async remove(namespaceId: string, ...names: string[]): Promise<void> {
    await this.ask({ kind: 'removeSearchAttributes', namespaceId, names });
  }

  slots(id = 'a'): unknown {
    return Object.fromEntries(this.host.view.namespaceById(id)?.searchAttributeSlots ?? []);
  }

  get left(): unknown {
    return Object.fromEntries(this.host.view.slotsToClear());
  }

  async stop(): Promise<void> {
    this.purge.close();
    await this.host.actor.drain();
    this.router.close();
  }
}

const benches: Bench[] = [];

async function open(log: MemoryLog): Promise<Bench> {
  const bench = new Bench(log);
  benches.push(bench);
  await until(() => bench.host.actor.status().state === 'active');
  return bench;
}

async function started(log = new MemoryLog()): Promise<Bench> {
  const bench = await open(log);
  for (const id of ['a', 'b']) {
    const namespace = { id, name: id, description: '', ownerEmail: '', data: new Map(), retentionMs: 86_400_000 };
    await bench.ask({ kind: 'registerNamespace', ...namespace });
  }
  return bench;
}

afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.stop();
});

test('a removal is followed by a purge, with nobody asking for it; then the slot is free', async () => {
  const bench = await started();
  await bench.add('a', 'A1', 'A2', 'A3', 'A4', 'A5', 'A6');
  await bench.add('b', 'B1');
  expect(bench.asked).toEqual([]);
  await bench.remove('a', 'A2');
  await until(() => bench.asked.length === 1 && Object.keys(bench.left as object).length === 0);
  const [left] = bench.asked;
  expect(left).toMatchObject({ namespaceIds: ['a'], slots: ['Int02'] });
  // Rows that are made with less may still hold what was removed.
  expect(bench.positions).toEqual(Array(2).fill(bench.host.view.position - 1));
  expect(await bench.add('a', 'New')).toEqual({ kind: 'done' });
  expect(bench.slots()).toMatchObject({ New: 'Int02' });
});

test('what is removed while others are cleared is cleared behind them; what every namespace had, in each of them', async () => {
  const bench = await started();
  await bench.add('a', 'A1');
  await bench.add('', 'All');
  let isOpen = (): void => {};
  const gate = new Promise<void>((resolve) => (isOpen = resolve));
  bench.clear = async () => {
    await gate;
    return true;
  };
  await bench.remove('a', 'A1');
  await bench.remove('', 'All');
  await bench.add('a', 'A1');
  expect(bench.slots(), 'not the one that is being cleared').toEqual({ A1: 'Int02' });
  isOpen();
  await until(() => Object.keys(bench.left as object).length === 0);
  expect(bench.asked.map(({ namespaceIds, slots }) => [namespaceIds, slots])).toEqual([
    [['a'], ['Int01']],
    [['a', 'b'], ['Int06']],
  ]);
  expect(bench.slots()).toEqual({ A1: 'Int02' });
});

test('a process that ends between the clearing and its record leaves it to the next, which clears again', async () => {
  const log = new MemoryLog();
  const first = await started(log);
  await first.add('a', 'A1');
  // Whatever is said of it comes too late.
  first.clear = async () => {
    first.purge.close();
    return true;
  };
  await first.remove('a', 'A1');
  await until(() => first.asked.length === 1);
  await turns(10);
  expect(first.left).toEqual({ a: ['Int01'] });
  const second = await open(log);
  await until(() => Object.keys(second.left as object).length === 0);
  expect(second.asked).toMatchObject([{ namespaceIds: ['a'], slots: ['Int01'] }]);
  const kinds = log.records({ topic, partition: 0 }).length;
  const third = await open(log);
  await turns(10);
  expect(third.asked, 'nothing is left').toEqual([]);
  expect(kinds).toBeGreaterThan(0);
});

test('what cannot be cleared now is tried again; the slot waits, and an outage of the database is reported by whoever asks it', async () => {
  const bench = await started();
  await bench.add('a', 'A1');
  const outcomes = [
    async () => false,
    async () => await Promise.reject(new DatabaseError('unavailable', 'connection refused')),
    async () => await Promise.reject(new DatabaseError('misconfigured', 'the disk is full of stones')),
    async () => await Promise.reject(new Error('a bug')),
  ];
  bench.clear = () => (outcomes.shift() ?? (async () => true))();
  await bench.remove('a', 'A1');
  for (let tries = 1; tries <= 4; tries++) {
    await until(() => bench.asked.length === tries && bench.clock.pending > 0);
    expect(bench.left).toEqual({ a: ['Int01'] });
    bench.clock.advance(60_000);
  }
  await until(() => Object.keys(bench.left as object).length === 0);
  expect(bench.warnings.join()).toContain('stones');
  expect(bench.warnings.join()).not.toContain('refused');
});

test('where it cannot be done for long, because a shard is served nowhere, that is said; a moment is not', async () => {
  const bench = await started();
  await bench.add('a', 'A1', 'A2');
  bench.isServed = (shard) => shard !== 2;
  await bench.remove('a', 'A1', 'A2');
  const tried = async (times: number): Promise<void> => {
    await until(() => bench.positions.length === 2 * times && bench.clock.pending > 0);
    bench.clock.advance(10_000);
  };
  for (let times = 1; times <= 11; times++) await tried(times);
  expect(bench.warnings).toEqual([]);
  for (let times = 12; times <= 20; times++) await tried(times);
  expect(bench.warnings).toHaveLength(1);
  expect(bench.warnings.join()).toContain('all shards must be served');
  expect(bench.warnings.join()).toContain('slots=2');
  expect(bench.asked).toEqual([]);
  bench.isServed = () => true;
  await tried(21);
  await until(() => Object.keys(bench.left as object).length === 0);
});
