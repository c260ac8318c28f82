/** Queues of dead letters beside a cluster that serves: made, numbered, and the same after a restart, on the embedded log. */
import { ownWork } from '../../src/actors/asks/asks.ts';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ClusterHost } from '../../src/actors/cluster/cluster-host.ts';
import { CLUSTER_ACTOR, type DeadLetterAnswer, Router } from '../../src/actors/asks/router.ts';
import type { WantedQueue } from '../../src/actors/deadletters/dead-letter-office.ts';
import { CheckpointSchedule } from '../../src/projections/checkpoints/checkpoint-schedule.ts';
import type { Database } from '../../src/projections/database-port.ts';
import type { GrowingLog } from '../../src/ports/log.ts';
import { systemClock, systemRandom } from '../../src/ports/system-ports.ts';
import type { DeadLetterRequest } from '../../src/deadletters/letter-commands.ts';
import { DeadLetterQueues, type DeadLetterQueuesOptions } from '../../src/start/dead-letter-queues.ts';
import { MetricsRegistry } from '../../src/observability/metrics/metrics.ts';
import { type Logger, silentLogger } from '../../src/observability/logger.ts';
import { clusterCodec } from '../../src/codec/cluster-codec.ts';
import { openSqlite } from '../../src/projections/sqlite/open-sqlite.ts';
import { openEmbeddedLog } from '../../src/topics/embedded/embedded-log.ts';
import { letterOf } from '../deadletters/letters.ts';
import { turns, until } from '../support/event-loop.ts';
import { FAR_AWAY_MS } from '../actors/far-away.ts';
import { jsonClaims } from '../actors/ledger.ts';

const wanted = (category: string): WantedQueue => ({ category, categoryId: 1, sourceCluster: 'active', targetCluster: 'active' });
/** Of a topic that somebody wants to be made. */
type Refusal = (topic: string) => boolean;

class Server {
  readonly log: GrowingLog;
  readonly database: Database;
  readonly router = new Router(systemClock);
  readonly metrics = new MetricsRegistry();
  readonly warnings: string[] = [];
  readonly errors: string[] = [];
  /** By their numbers: queues whose owners have begun. */
  readonly restored: number[] = [];
  readonly cluster: ClusterHost;
  readonly queues: DeadLetterQueues;
  readonly #options: DeadLetterQueuesOptions;

  static async start(file: string, refuses: Refusal, more: Partial<DeadLetterQueuesOptions>): Promise<Server> {
    const log = await openEmbeddedLog({ filename: file, topics: [{ name: 'perdure.cluster', partitions: 1 }] });
    const server = new Server(log, openSqlite({ filename: `${file}-state` }), refuses, more);
    await until(() => server.cluster.actor.status().state === 'active');
    return server;
  }

  /** Of another process, as it were: it wants the same queue, on the same log and database. */
  rival(): DeadLetterQueues {
    const router = new Router(systemClock);
    return new DeadLetterQueues({ ...this.#options, router, cluster: this.cluster, metrics: undefined });
  }

  private constructor(log: GrowingLog, database: Database, refuses: Refusal, more: Partial<DeadLetterQueuesOptions>) {
    this.log = log;
    this.database = database;
    const logger: Logger = {
      ...silentLogger,
      warn: (message) => void this.warnings.push(message),
      error: (message) => void this.errors.push(message),
      with: () => logger,
    };
    const common = { owner: 'test', claims: jsonClaims, clock: systemClock, random: systemRandom, logger };
    const { router } = this;
    this.cluster = new ClusterHost({
      ...common,
      log,
      topic: 'perdure.cluster',
      codec: clusterCodec,
      onStatus: () => {},
      sink: router.cluster.sink(CLUSTER_ACTOR),
    });
    router.cluster.attach(CLUSTER_ACTOR, this.cluster.actor);
    this.cluster.actor.start();
    const shard = router.history.sink(1);
    const submit = (askId: number): undefined => {
      queueMicrotask(() => shard.answer(askId, { kind: 'letterMarks', pending: [], ended: [] }));
    };
    router.history.attach(1, { submit, cancel: () => {} });
    const checkpoints = { schedule: new CheckpointSchedule({ clock: systemClock, logger }) };
    const forwarded: GrowingLog = {
      exclusive: false,
      attach: (...given) => log.attach(...given),
      read: (...given) => log.read(...given),
      bounds: (id) => log.bounds(id),
      end: (id) => log.end(id),
      truncate: (...given) => log.truncate(...given),
      close: () => log.close(),
      addTopic: async (topic) => {
        if (refuses(topic.name)) throw new Error('no rights');
        await log.addTopic(topic);
      },
    };
    this.#options = {
      ...common,
      historyShards: 1,
      node: 'host:7233',
      log: forwarded,
      prefix: 'perdure',
      clusterName: 'active',
      cluster: this.cluster,
      router,
      database: {
        ...database,
        restore: (journal) => {
          this.restored.push(journal.partition);
          return database.restore(journal);
        },
      },
      checkpoints,
      settings: () => ({
        emitsMetrics: true,
        emitsReplicationMetrics: true,
        maxGeneration: 5,
        undoWindowMs: 0,
        compactionMaxCarry: 10_000,
      }),
      metrics: this.metrics.of('history'),
      storeKind: 'embedded',
      revival: { pauseMs: 50 },
      ...more,
    };
    this.queues = new DeadLetterQueues(this.#options);
  }

  /** Their numbers, once they serve. */
  async open(...categories: readonly string[]): Promise<readonly number[]> {
    this.queues.open(categories.map(wanted));
    const numbers: number[] = [];
    for (const category of categories) {
      await until(() => this.numberOf(category) !== undefined);
      const number = this.numberOf(category) ?? 0;
      while ((await this.ask(number, { kind: 'countLetters' })).kind !== 'counted') await turns();
      numbers.push(number);
    }
    return numbers;
  }

  /** The very first start of a cluster. */
  async initialize(clusterId: string): Promise<void> {
    const identity = { clusterId, clusterName: 'active', tokenKey: new Uint8Array(32), historyShards: 1 };
    await new Promise((resolve) => {
      this.router.askCluster({ kind: 'initializeCluster', ...identity }, ownWork(FAR_AWAY_MS), resolve);
    });
  }

  numberOf(category: string): number | undefined {
    return this.cluster.view.deadLetterQueues.find((queue) => queue.category === category)?.number;
  }

  ask<Request extends DeadLetterRequest>(queue: number, request: Request): Promise<DeadLetterAnswer<Request>> {
    return new Promise((resolve) => void this.router.askDeadLetters(queue, request, ownWork(FAR_AWAY_MS), resolve));
  }

  /** What a scrape says: `perdure_dlq_messages transfer active open`, by name and values of tags. */
  scraped(prefix: string): Readonly<Record<string, number>> {
    const samples: [string, number][] = [];
    for (const [name, all] of this.metrics.scraped()) {
      for (const { tags, cell } of all) {
        const { service_name: _name, service_role: _role, ...own } = tags;
        if (name.startsWith(prefix) && 'value' in cell) samples.push([[name, ...Object.values(own)].join(' '), cell.value]);
      }
    }
    return Object.fromEntries(samples);
  }

  async stop(): Promise<void> {
    await this.queues.stop();
    await this.cluster.actor.drain();
    this.router.close();
    await this.database.close();
    await this.log.close();
  }
}

let folder: string;
let servers: Server[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-dead-letters-'));
  servers = [];
});
afterEach(async () => {
  for (const server of servers) await server.stop();
  rmSync(folder, { recursive: true });
});

async function start(refuses: Refusal = () => false, more: Partial<DeadLetterQueuesOptions> = {}): Promise<Server> {
  const server = await Server.start(join(folder, 'x.db'), refuses, more);
  servers.push(server);
  return server;
}

async function restart(): Promise<Server> {
  await servers.pop()?.stop();
  return await start();
}

describe('dead letter queues', () => {
  const handOver = { kind: 'acceptLetters', shard: 3, letters: [1, 2, 3].map((sequence) => letterOf(3, sequence)) } as const;
  const count = { kind: 'countLetters' } as const;

  test('come to a cluster that was made without them, and are the same after a restart: number, dead letters, what was handed over', async () => {
    await start();
    const first = await restart();
    expect(await first.open('transfer', 'timer')).toEqual([1, 2]);
    expect(await first.ask(1, handOver)).toEqual({ kind: 'accepted', ids: [0, 1, 2] });
    await first.ask(1, { kind: 'claimLetters', jobId: 'job', ranges: [{ from: 0, to: 2 }] });
    const purge = { kind: 'purgeLetters', jobId: 'job', who: 'anna', why: '', letters: [{ messageId: 1, generation: 0 }] } as const;
    expect(await first.ask(1, purge)).toEqual({ kind: 'purged', ids: [1], gone: [], merged: [], executing: [] });
    expect(await first.ask(2, handOver)).toEqual({ kind: 'accepted', ids: [0, 1, 2] });

    const second = await restart();
    expect(await second.open('timer', 'transfer')).toEqual([2, 1]);
    expect(await second.ask(1, count)).toEqual({
      kind: 'counted',
      nextId: 3,
      lowestOpen: 0,
      open: 2,
      quarantined: 0,
      merged: 0,
      purged: 1,
      uncutPurges: 1,
      incarnation: expect.toSatisfy((incarnation) => incarnation >= 1),
      // Nothing came back in this life of its owner.
      comebacks: expect.stringMatching(/^\d+\/0$/),
    });
    expect(await second.ask(1, handOver)).toEqual({ kind: 'accepted', ids: [0, 1, 2] });
    expect(await second.ask(1, purge)).toMatchObject({ kind: 'rejected', rejection: { reason: 'not-claimed' } });
    expect(await second.ask(2, count)).toMatchObject({ open: 3, purged: 0 });
    expect(second.warnings).toEqual([]);
  });

  test('whose topic is gone is served again if its rows are gone too: that is logged, and shards continue to hand over', async () => {
    const first = await start();
    await first.open('transfer');
    await first.ask(1, handOver);
    const second = await restart();
    // A queue that the cluster knows, and whose topic is empty: as where somebody has deleted it.
    const asked = { kind: 'addDeadLetterQueue', category: 'timer', sourceCluster: 'active' } as const;
    await new Promise((resolve) => void second.router.askCluster(asked, ownWork(FAR_AWAY_MS), resolve));
    await second.open('timer');
    expect(second.errors).toEqual([expect.stringContaining('its dead letters are gone')]);
    const later = [7, 8].map((sequence) => letterOf(3, sequence));
    expect(await second.ask(2, { kind: 'acceptLetters', shard: 3, letters: later })).toEqual({ kind: 'accepted', ids: [0, 1] });
    expect(second.errors.slice(1)).toEqual([expect.stringContaining('dead letters are gone: a shard handed them over')]);
  });

  test('whose cluster was created again keep what is in them, and take what its shards hand over under the numbers of before', async () => {
    const first = await start();
    await first.initialize('8d2f');
    await first.open('timer', 'transfer');
    expect(await first.ask(2, handOver)).toEqual({ kind: 'accepted', ids: [0, 1, 2] });
    const many = Array.from({ length: 100 }, (_, index) => letterOf(4, 41 + index));
    await first.ask(2, { kind: 'acceptLetters', shard: 4, letters: many });
    await servers.pop()?.stop();
    // As where the topics of the prefix are deleted, and those of dead letters are not.
    const emptied = new DatabaseSync(join(folder, 'x.db'));
    const { id } = emptied.prepare("SELECT id FROM partitions WHERE topic = 'perdure.cluster'").get() ?? {};
    emptied.exec(`DELETE FROM journal_${String(id)}`);
    emptied.close();
    rmSync(join(folder, 'x.db-state'));

    const second = await start();
    await second.initialize('41ab');
    expect(await second.open('transfer')).toEqual([1]);
    expect(second.warnings).toEqual([expect.stringContaining('is older than this cluster')]);
    expect(await second.ask(1, handOver)).toEqual({ kind: 'accepted', ids: [103, 104, 105] });
    const later = [1, 2].map((sequence) => letterOf(4, sequence));
    expect(await second.ask(1, { kind: 'acceptLetters', shard: 4, letters: later })).toEqual({ kind: 'accepted', ids: [106, 107] });
    const third = await restart();
    await third.open('transfer');
    expect(await third.ask(1, handOver)).toEqual({ kind: 'accepted', ids: [103, 104, 105] });
    expect(await third.ask(1, count)).toMatchObject({ nextId: 108, open: 108 });
    expect([third.warnings, third.errors]).toEqual([[], []]);
  });

  test('are counted: dead letters, what became of them, what was done, and how long the oldest waits', async () => {
    const server = await start();
    await server.open('transfer');
    await server.ask(1, handOver);
    await server.ask(1, { kind: 'claimLetters', jobId: 'job', ranges: [{ from: 0, to: 2 }] });
    const purge = (...ids: readonly number[]) =>
      ({
        kind: 'purgeLetters',
        jobId: 'job',
        who: 'anna',
        why: '',
        letters: ids.map((messageId) => ({ messageId, generation: 0 })),
      }) as const;
    await server.ask(1, purge(2));
    await server.ask(1, { kind: 'listLetters', condition: undefined, afterMessageId: -1, max: 10, bytesMax: 1_000, withContent: false });
    expect(server.scraped('dlq_message_count')).toEqual({
      'dlq_message_count transfer': 2,
      'dlq_message_count timer': 0,
      'dlq_message_count visibility': 0,
      'dlq_message_count archival': 0,
    });
    expect(server.scraped('perdure_dlq_messages')).toEqual({
      'perdure_dlq_messages transfer active open': 2,
      'perdure_dlq_messages transfer active quarantined': 0,
    });
    expect(server.scraped('perdure_dlq_resolved')).toEqual({ 'perdure_dlq_resolved transfer purged': 1 });
    expect(server.scraped('persistence_requests')).toMatchObject({
      'persistence_requests PersistenceEnqueueMessageToDLQ embedded default': 3,
      'persistence_requests PersistenceDeleteMessageFromDLQ embedded _unknown_': 1,
      'persistence_requests PersistenceReadMessagesFromDLQ embedded _unknown_': 1,
    });

    const second = await restart();
    await second.open('transfer');
    const age = (): number => second.scraped('perdure_dlq_oldest')['perdure_dlq_oldest_age_seconds transfer active'] ?? 0;
    await until(() => age() > 0);
    expect(age()).toBeCloseTo((Date.now() - letterOf(3, 1).deadLetterTimeMs) / 1_000, -2);
    await second.ask(1, { kind: 'claimLetters', jobId: 'job', ranges: [{ from: 0, to: 2 }] });
    await second.ask(1, purge(0, 1));
    expect(second.scraped('persistence_requests')).toMatchObject({
      'persistence_requests PersistenceRangeDeleteMessagesFromDLQ embedded _unknown_': 1,
    });
    expect([age(), second.scraped('perdure_dlq_messages')['perdure_dlq_messages transfer active open']]).toEqual([0, 0]);
  });

  test('of replication tell how far they reach and how much of that is dealt with, unless an operator does not want it', async () => {
    let emitsReplicationMetrics = true;
    const settings = () => ({ emitsMetrics: true, emitsReplicationMetrics, maxGeneration: 5, undoWindowMs: 0, compactionMaxCarry: 10_000 });
    const server = await start(undefined, { settings });
    const [replication = 0, namespaces = 0] = await server.open('replication', 'namespace-replication');
    const levels = (): object => server.scraped('replication_dlq_');
    expect(levels()).toEqual({ 'replication_dlq_max_level active active': -1, 'replication_dlq_ack_level active active': -1 });
    await server.ask(replication, handOver);
    expect(levels()).toMatchObject({ 'replication_dlq_max_level active active': 2, 'replication_dlq_ack_level active active': -1 });
    await server.ask(replication, { kind: 'claimLetters', jobId: 'job', ranges: [{ from: 0, to: 2 }] });
    const who = { kind: 'purgeLetters', jobId: 'job', who: 'anna', why: '' } as const;
    await server.ask(replication, { ...who, letters: [0, 2].map((messageId) => ({ messageId, generation: 0 })) });
    expect(levels()).toMatchObject({ 'replication_dlq_max_level active active': 2, 'replication_dlq_ack_level active active': 0 });
    await server.ask(replication, { ...who, letters: [{ messageId: 1, generation: 0 }] });
    expect(levels()).toMatchObject({ 'replication_dlq_ack_level active active': 2 });

    await server.ask(namespaces, handOver);
    const type = letterOf(1, 1).task.taskType;
    const came = `namespace_replication_dlq_enqueue_requests default ${type}`;
    expect(server.scraped('namespace_replication_dlq')).toEqual({ [came]: 3 });
    emitsReplicationMetrics = false;
    expect(levels()).toEqual({});
  });

  test('whose topic lost its records while its rows are there fail, and are served by the next start once what health names is carried out', async () => {
    const first = await start();
    await first.open('transfer');
    await first.ask(1, handOver);
    await servers.pop()?.stop();
    const emptied = new DatabaseSync(join(folder, 'x.db'));
    const { id } = emptied.prepare("SELECT id FROM partitions WHERE topic LIKE 'dlq.%'").get() ?? {};
    emptied.exec(`DELETE FROM journal_${String(id)}`);
    emptied.close();
    const second = await start();
    second.queues.open([wanted('transfer')]);
    await until(() => second.queues.concerns.some(({ repair }) => repair !== undefined));
    const [concern] = second.queues.concerns;
    expect(concern?.message).toContain('it is failed');
    await servers.pop()?.stop();
    const state = new DatabaseSync(join(folder, 'x.db-state'));
    state.exec(concern?.repair ?? '');
    state.close();
    const third = await start();
    await third.open('transfer');
    expect(await third.ask(1, count)).toMatchObject({ nextId: 0, open: 0 });
    expect(third.queues.concerns).toEqual([]);
  });

  test('that are wanted twice have one owner each', async () => {
    const server = await start();
    server.queues.open([wanted('transfer'), wanted('transfer')]);
    server.queues.open([wanted('transfer'), wanted('timer')]);
    expect(await server.open('timer')).toEqual([2]);
    expect(await server.ask(1, handOver)).toMatchObject({ kind: 'accepted' });
    expect(server.cluster.view.deadLetterQueues).toHaveLength(2);
  });

  test('that a rival takes are taken back once he is gone, with all that he wrote', async () => {
    const server = await start();
    await server.open('transfer');
    await server.ask(1, handOver);
    const rival = server.rival();
    rival.open([wanted('transfer')]);
    expect(server.scraped('perdure_dlq_messages')).toMatchObject({ 'perdure_dlq_messages transfer active open': 3 });
    await until(() => server.queues.concerns.some(({ message }) => message.includes('it is unassigned (ownership lost')));
    expect(server.scraped('perdure_dlq'), 'whoever has it tells of it').toEqual({});
    await rival.stop();
    await until(() => server.queues.concerns.length === 0);
    while ((await server.ask(1, count)).kind !== 'counted') await turns();
    expect(await server.ask(1, handOver)).toEqual({ kind: 'accepted', ids: [0, 1, 2] });
    expect(await server.ask(1, count)).toMatchObject({ open: 3 });
  });

  test('of a log that began with the server start with the first ask, which is answered, and until then they are empty', async () => {
    const server = await start(undefined, { startsWithAsks: true });
    server.queues.open([wanted('transfer'), wanted('timer')]);
    await until(() => server.numberOf('timer') !== undefined);
    await turns(20);
    expect(server.restored).toEqual([]);
    expect(server.scraped('dlq_message_count')).toMatchObject({ 'dlq_message_count transfer': 0, 'dlq_message_count timer': 0 });
    expect(server.queues.concerns).toEqual([]);
    const asked = [server.ask(1, handOver), server.ask(1, count)];
    expect(await Promise.all(asked)).toMatchObject([
      { kind: 'accepted', ids: [0, 1, 2] },
      { kind: 'counted', open: 3 },
    ]);
    expect(server.restored).toEqual([1]);
    expect(server.scraped('dlq_message_count')).toMatchObject({ 'dlq_message_count transfer': 3, 'dlq_message_count timer': 0 });
  });

  test('whose topic cannot be made are tried again, the others are served, and operators are informed', async () => {
    let refuses = true;
    const server = await start((topic) => refuses && topic.includes('transfer'));
    server.queues.open([wanted('transfer'), wanted('timer')]);
    expect(await server.open('timer')).toEqual([1]);
    expect(server.warnings).toEqual(['a dead letter queue cannot be opened: tasks that fail for good wait in their shards']);
    expect(server.queues.concerns).toEqual([
      { subject: 'dlq.perdure.transfer.active', severity: 'warning', message: expect.stringContaining('no rights') as string },
    ]);
    expect(server.queues.whyNotOpen('dlq.perdure.transfer.active')).toContain('are not served');
    expect(server.queues.whyNotOpen('dlq.perdure.timer.active')).toBeUndefined();
    refuses = false;
    expect(await server.open('transfer')).toEqual([2]);
    expect(server.queues.concerns).toEqual([]);
  });
});
