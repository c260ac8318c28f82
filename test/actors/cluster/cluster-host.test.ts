/** What a process knows of the cluster's journal, and how much of it that is. */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { ClusterHost } from '../../../src/actors/cluster/cluster-host.ts';
import { CLUSTER_ACTOR, Router, type ClusterAnswer } from '../../../src/actors/asks/router.ts';
import { LoopTurns } from '../../../src/ports/loop-turns.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import type { ClusterCommand } from '../../../src/cluster/cluster-commands.ts';
import type { Log } from '../../../src/ports/log.ts';
import { type Logger, silentLogger } from '../../../src/observability/logger.ts';
import { clusterCodec } from '../../../src/codec/cluster-codec.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { jsonClaims } from '../ledger.ts';
import { MemoryLog } from '../memory-log.ts';
import { until } from '../../support/event-loop.ts';

const topic = 'test.cluster';

class Bench {
  readonly router = new Router(systemClock);
  readonly host: ClusterHost;

  constructor(log: Log, logger: Logger = silentLogger, turns = new LoopTurns(systemClock)) {
    this.host = new ClusterHost({
      topic,
      owner: 'test',
      log,
      codec: clusterCodec,
      claims: jsonClaims,
      sink: this.router.cluster.sink(CLUSTER_ACTOR),
      clock: systemClock,
      random: systemRandom,
      logger,
      turns,
      onStatus: () => {},
    });
    this.router.cluster.attach(CLUSTER_ACTOR, this.host.actor);
    this.host.actor.start();
  }

  ask<Command extends ClusterCommand>(command: Command): Promise<ClusterAnswer<Command>> {
    return new Promise((resolve) => void this.router.askCluster(command, ownWork(FAR_AWAY_MS), resolve));
  }
}

const partition = { topic, partition: 0 };
const day = 86_400_000;

function register(name: string): ClusterCommand {
  return { kind: 'registerNamespace', id: `id-${name}`, name, description: '', ownerEmail: '', data: new Map(), retentionMs: day };
}

function describeAs(name: string, description: string): ClusterCommand {
  const rest = { ownerEmail: undefined, data: undefined, retentionMs: undefined, state: undefined };
  return { kind: 'updateNamespace', id: `id-${name}`, description, ...rest };
}

/** What people are told of it. */
function shown({ host: { view } }: Bench): unknown {
  const { identity, deadLetterQueues, clusterSearchAttributes } = view;
  return { namespaces: view.namespaces(), deletions: [...view.deletions], identity, deadLetterQueues, clusterSearchAttributes };
}

/** As a process finds it that starts when the log has the first `records`, and begins at `start`. */
async function foundIn(log: MemoryLog, records: number, start: number): Promise<Bench> {
  const found = new MemoryLog();
  found.partitions.set(`${topic}/0`, log.records(partition).slice(0, records));
  found.starts.set(`${topic}/0`, start);
  return await open(found);
}

const benches: Bench[] = [];

async function open(log: MemoryLog): Promise<Bench> {
  const bench = new Bench(log);
  benches.push(bench);
  await until(() => bench.host.actor.status().state === 'active');
  return bench;
}

afterEach(async () => {
  for (const { host, router } of benches.splice(0)) {
    await host.actor.drain();
    router.close();
  }
});

test('the view stands behind its last record: when the answer comes, and after a takeover, whose claim is no record of it', async () => {
  const log = new MemoryLog();
  const first = await open(log);
  expect(first.host.view.position).toBe(0);
  const namespace = { id: 'id-a', name: 'a', description: '', ownerEmail: '', data: new Map(), retentionMs: 86_400_000 };
  expect(await first.ask({ kind: 'registerNamespace', ...namespace })).toEqual({ kind: 'done' });
  const { position } = first.host.view;
  expect(position).toBe(log.records({ topic, partition: 0 }).length);
  expect(await first.ask({ kind: 'syncCluster' })).toEqual({ kind: 'done' });
  expect(first.host.view.position).toBe(position);

  const second = await open(log);
  expect(second.host.view.position).toBe(position);
  expect(second.host.view.namespaceById('id-a')?.name).toBe('a');
});

describe('a journal of which most no longer counts', () => {
  /** A cluster of some namespaces, and what has been said of one of them, over and over. */
  async function talkative(log: MemoryLog, bytes: number): Promise<Bench> {
    const bench = await open(log);
    const identity = { clusterId: 'id', clusterName: 'active', tokenKey: new Uint8Array(32).fill(7), historyShards: 4 };
    await bench.ask({ kind: 'initializeCluster', ...identity });
    for (const name of ['a', 'b', 'gone', 'going']) await bench.ask(register(name));
    await bench.ask({ kind: 'addSearchAttributes', namespaceId: '', attributes: new Map([['Region', 2]]) });
    await bench.ask({ kind: 'addSearchAttributes', namespaceId: 'id-b', attributes: new Map([['Color', 2]]) });
    await bench.ask({ kind: 'removeSearchAttributes', namespaceId: 'id-b', names: ['Color'] });
    await bench.ask({ kind: 'addSearchAttributes', namespaceId: 'id-b', attributes: new Map([['Color', 2]]) });
    await bench.ask({ kind: 'addDeadLetterQueue', category: 'transfer', sourceCluster: 'active' });
    await bench.ask({ kind: 'deleteNamespace', id: 'id-gone', graceMs: 0, deleteDelayMs: 0 });
    await bench.ask({ kind: 'endNamespace', id: 'id-gone' });
    await bench.ask({ kind: 'deleteNamespace', id: 'id-going', graceMs: day, deleteDelayMs: day });
    for (let told = 0; told < bytes; told += 50_000)
      expect(await bench.ask(describeAs('a', `${told} `.padEnd(50_000, 'd')))).toEqual({ kind: 'done' });
    return bench;
  }

  test('begins later: however often somebody changes a namespace, a start reads no more than some of it, and finds all that there is', async () => {
    const log = new MemoryLog();
    const bench = await talkative(log, 64_000_000);
    await until(() => log.starts.get(`${topic}/0`) !== undefined);
    const { start, end } = await log.bounds(partition);
    expect(end, 'nothing was left out').toBeGreaterThan(1_280);
    expect(end - start).toBeLessThan(200);
    expect(bench.host.journalStartMax).toBe(start);
    const before = shown(bench);
    const next = await open(log);
    expect(shown(next)).toEqual(before);
    expect(next.host.view.registeredNameOf('id-gone')).toBe('gone');
    expect(next.host.view.slotsToClear()).toEqual(new Map([['id-b', ['Keyword01']]]));
    expect(next.host.view.namespaceById('id-b')?.searchAttributeGenerations).toEqual(new Map([['Color', 1]]));
    expect(await next.ask(register('a'))).toMatchObject({ kind: 'rejected', rejection: { reason: 'namespace-exists' } });
    expect(await next.ask(register('c'))).toEqual({ kind: 'done' });
    expect(shown(await open(log))).toEqual(shown(next));
  });

  test('of thousands of small changes as well', async () => {
    const log = new MemoryLog();
    const bench = await open(log);
    await bench.ask(register('a'));
    for (let round = 0; round < 10_000; round += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => bench.ask(describeAs('a', `${round + index}`))));
    }
    const { start, end } = await log.bounds(partition);
    expect(end).toBeGreaterThan(10_000);
    expect(end - start).toBeLessThan(5_000);
    expect((await open(log)).host.view.namespaceById('id-a')?.description).toBe('9999');
  });

  test('says the same to a process that starts after a crash at any step, from the first change on', async () => {
    const log = new MemoryLog();
    const bench = await talkative(log, 4_300_000);
    await until(() => log.starts.get(`${topic}/0`) !== undefined);
    const records = log.records(partition);
    const cut = log.starts.get(`${topic}/0`) ?? 0;
    const begun = records.findIndex(({ type }) => type === 'CarryingBegun');
    const finished = records.findIndex(({ type }) => type === 'CarryingFinished');
    expect([records[cut]?.key, begun < finished]).toEqual(['@claim', true]);
    const last = shown(bench);
    const told = (from: Bench): number => Number.parseInt(from.host.view.namespaceById('id-a')?.description ?? '', 10);
    let toldBefore = 0;
    for (let length = begun; length <= finished; length++) {
      const killed = new MemoryLog();
      killed.partitions.set(`${topic}/0`, records.slice(0, length));
      const found = await open(killed);
      expect(told(found)).toBeGreaterThanOrEqual(toldBefore);
      toldBefore = told(found);
      const before = shown(found);
      // It is done once more, from the start.
      await until(() => killed.starts.get(`${topic}/0`) !== undefined);
      expect(killed.starts.get(`${topic}/0`)).toBeGreaterThan(cut);
      expect(shown(await open(killed))).toEqual(before);
    }
    // It was carried, and not cut; and cut.
    for (const start of [0, cut]) expect(shown(await foundIn(log, records.length, start))).toEqual(last);
    const uncut = new MemoryLog();
    uncut.partitions.set(`${topic}/0`, [...records]);
    await open(uncut);
    await until(() => uncut.starts.get(`${topic}/0`) === cut);
  });

  test('that somebody cut elsewhere is not served', async () => {
    const log = new MemoryLog();
    await talkative(log, 4_300_000);
    await until(() => log.starts.get(`${topic}/0`) !== undefined);
    const begun = log.records(partition).findIndex(({ type }) => type === 'CarryingBegun');
    const { end } = await log.bounds(partition);
    for (const start of [begun - 3, begun, begun + 1, begun + 2, end - 1]) {
      const found = new MemoryLog();
      found.partitions.set(`${topic}/0`, [...log.records(partition)]);
      found.starts.set(`${topic}/0`, start);
      const bench = new Bench(found);
      benches.push(bench);
      await until(() => ['active', 'failed'].includes(bench.host.actor.status().state));
      const { state, reason } = bench.host.actor.status();
      expect(state).toBe(start <= begun ? 'active' : 'failed');
      // Health is told of no loss where nothing is lost.
      if (start <= begun) expect(bench.host.journalStartMax).toBeGreaterThanOrEqual(start);
      if (start > begun)
        expect(reason).toContain(`the journal starts at ${start}, not at 0, and the records before it were not written again`);
    }
  });

  test('is read from its new beginning by whoever was just reading it', async () => {
    const log = new MemoryLog();
    const bench = await talkative(log, 4_300_000);
    await until(() => log.starts.get(`${topic}/0`) !== undefined);
    const cut = log.starts.get(`${topic}/0`) ?? 0;
    const last = shown(bench);
    const slow = new MemoryLog();
    slow.recordsPerRead = 1;
    slow.partitions.set(`${topic}/0`, [...log.records(partition)]);
    const reader = new Bench(slow);
    benches.push(reader);
    await until(() => reader.host.actor.status().offset > 10);
    await slow.truncate(partition, cut);
    await until(() => ['active', 'failed'].includes(reader.host.actor.status().state));
    expect(reader.host.actor.status()).toMatchObject({ state: 'active', reason: '' });
    expect(shown(reader)).toEqual(last);
  });

  test('lets others have their turns while what counts of it is weighed, however many namespaces there are', async () => {
    const log = new MemoryLog();
    let nowMs = 0;
    // Each look at the clock is a millisecond later.
    const bench = new Bench(log, silentLogger, new LoopTurns({ ...systemClock, monoMs: () => (nowMs += 1) }));
    benches.push(bench);
    await until(() => bench.host.actor.status().state === 'active');
    await Promise.all(Array.from({ length: 1_000 }, (_, number) => bench.ask(register(`n${number}`))));
    const isDue = (): boolean => log.records(partition).filter(({ type }) => type === 'NamespaceUpdated').length >= 90;
    while (!isDue()) await bench.ask(describeAs('n1', 'd'.repeat(50_000)));
    const due = log.records(partition).length;
    const isBegun = (): boolean => log.records(partition).some(({ type }) => type === 'CarryingBegun');
    while (!isBegun()) await bench.ask(describeAs('n2', 'a change'));
    expect(log.records(partition).findIndex(({ type }) => type === 'CarryingBegun') - due).toBeGreaterThan(20);
  });

  test('is left to the next start by a process that stops while it is written again, without a word of trouble', async () => {
    const log = new MemoryLog();
    const lines: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (message) => void lines.push(message), with: () => logger };
    const bench = new Bench(log, logger);
    await until(() => bench.host.actor.status().state === 'active');
    await Promise.all(Array.from({ length: 1_000 }, (_, number) => bench.ask(register(`n${number}`))));
    const isBegun = (): boolean => log.records(partition).some(({ type }) => type === 'CarryingBegun');
    while (!isBegun())
      await Promise.all([bench.ask(describeAs('n1', 'd'.repeat(50_000))), bench.ask(describeAs('n2', 'd'.repeat(50_000)))]);
    await bench.host.actor.drain();
    bench.router.close();
    expect(log.records(partition).some(({ type }) => type === 'CarryingFinished')).toBe(false);
    expect(lines).toEqual([]);
    const next = await open(log);
    await until(() => log.starts.get(`${topic}/0`) !== undefined);
    expect(next.host.view.namespaces()).toHaveLength(1_000);
  });

  test('says who has taken it to a process whose own claim stands before the cut', async () => {
    const log = new MemoryLog({ exclusive: false });
    const wakes = Promise.withResolvers<void>();
    const stopped: Log = {
      exclusive: false,
      attach: (...given) => log.attach(...given),
      read: async (id, fromOffset) => {
        await wakes.promise;
        return await log.read(id, fromOffset);
      },
      bounds: (id) => log.bounds(id),
      end: (id) => log.end(id),
      truncate: (...given) => log.truncate(...given),
      close: () => log.close(),
    };
    const lines: string[] = [];
    const logger: Logger = { ...silentLogger, error: (message) => void lines.push(message), with: () => logger };
    const first = new Bench(stopped, logger);
    benches.push(first);
    await until(() => log.records(partition).length === 1);
    await talkative(log, 4_300_000);
    await until(() => log.starts.get(`${topic}/0`) !== undefined);
    wakes.resolve();
    await until(() => ['active', 'failed', 'unassigned'].includes(first.host.actor.status().state));
    expect(first.host.actor.status()).toMatchObject({ state: 'unassigned', rival: { offset: log.starts.get(`${topic}/0`) } });
    expect(lines).toEqual([]);
  });

  test('grows until the log takes a cut again, and serves meanwhile', async () => {
    const log = new MemoryLog();
    const lines: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (message) => void lines.push(message), with: () => logger };
    const bench = new Bench(log, logger);
    benches.push(bench);
    await until(() => bench.host.actor.status().state === 'active');
    log.truncate = () => Promise.reject(new Error('DeleteRecords is not allowed'));
    await bench.ask(register('a'));
    for (let told = 0; told < 100; told++) expect(await bench.ask(describeAs('a', 'd'.repeat(50_000)))).toEqual({ kind: 'done' });
    await until(() => lines.length > 0);
    expect(lines).toEqual(['the journal of the cluster cannot be compacted: it grows until it can']);
    expect(await bench.ask(describeAs('a', 'last'))).toEqual({ kind: 'done' });
    expect((await open(log)).host.view.namespaceById('id-a')?.description).toBe('last');
  });
});
