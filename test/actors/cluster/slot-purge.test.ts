/** From the removal of a search attribute to the record that gives its slot free, with whatever comes between. */
import { afterEach, expect, test } from 'vitest';
import { ClusterHost } from '../../../src/actors/cluster/cluster-host.ts';
import { SlotPurge, type SlotPurgeOptions } from '../../../src/actors/cluster/slot-purge.ts';
import { CLUSTER_ACTOR, Router, type ClusterAnswer } from '../../../src/actors/asks/router.ts';
import { DatabaseError } from '../../../src/actors/database.ts';
import { systemClock, systemRandom } from '../../../src/actors/system-ports.ts';
import type { ClusterCommand } from '../../../src/cluster/commands.ts';
import { createLogger, silentLogger } from '../../../src/observability/logger.ts';
import { clusterCodec } from '../../../src/topics/codec/cluster-codec.ts';
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
  readonly host: ClusterHost;
  readonly purge: SlotPurge;

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
    this.purge = new SlotPurge({
      cluster: this.host,
      clear: (left) => {
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
    this.host.actor.start();
  }

  ask<Command extends ClusterCommand>(command: Command): Promise<ClusterAnswer<Command>> {
    return new Promise((resolve) => void this.router.askCluster(command, FAR_AWAY_MS, resolve));
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
  expect(left?.registryPosition).toBeLessThan(bench.host.view.position);
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

test('what cannot be cleared now is tried again; the slot waits, and an outage of the database is told by whoever asks it', async () => {
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
  bench.clear = async () => false;
  await bench.remove('a', 'A1', 'A2');
  const tried = async (times: number): Promise<void> => {
    await until(() => bench.asked.length === times && bench.clock.pending > 0);
    bench.clock.advance(10_000);
  };
  for (let times = 1; times <= 11; times++) await tried(times);
  expect(bench.warnings).toEqual([]);
  for (let times = 12; times <= 20; times++) await tried(times);
  expect(bench.warnings).toHaveLength(1);
  expect(bench.warnings.join()).toContain('all shards have to be served');
  expect(bench.warnings.join()).toContain('slots=2');
  bench.clear = async () => true;
  await tried(21);
  await until(() => Object.keys(bench.left as object).length === 0);
});
