/** Queues of dead letters beside a cluster that serves: made, numbered, and the same after a restart, on the embedded log. */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ClusterHost } from '../../../src/actors/cluster/cluster-host.ts';
import { CLUSTER_ACTOR, type DeadLetterAnswer, Router } from '../../../src/actors/asks/router.ts';
import { DeadLetterOffice, type WantedQueue } from '../../../src/actors/deadletters/dead-letter-office.ts';
import { CheckpointSchedule } from '../../../src/actors/checkpoint/checkpoint-schedule.ts';
import { QueueHost } from '../../../src/actors/deadletters/queue-host.ts';
import type { Database } from '../../../src/actors/database.ts';
import type { GrowingLog, TopicSpec } from '../../../src/actors/log.ts';
import { systemClock, systemRandom } from '../../../src/actors/system-ports.ts';
import type { DeadLetterRequest } from '../../../src/deadletters/commands.ts';
import type { DeadLetterQueue } from '../../../src/deadletters/letter.ts';
import { type Logger, silentLogger } from '../../../src/observability/logger.ts';
import { deadLetterTopic } from '../../../src/topics/catalogue.ts';
import { clusterCodec } from '../../../src/topics/codec/cluster-codec.ts';
import { deadLetterCodec } from '../../../src/topics/codec/dead-letter-codec.ts';
import { deadLetterStateCodec } from '../../../src/topics/codec/dead-letter-state-codec.ts';
import { openSqlite } from '../../../src/database/sqlite/open-sqlite.ts';
import { openEmbeddedLog } from '../../../src/topics/embedded/embedded-log.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { until } from '../../support/event-loop.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { jsonClaims } from '../ledger.ts';

const wanted = (category: string): WantedQueue => ({ category, categoryId: 1, sourceCluster: 'active', targetCluster: 'active' });
const topicOf = ({ category, sourceCluster }: WantedQueue): TopicSpec => ({
  name: deadLetterTopic('perdure', category, sourceCluster),
  partitions: 1,
  purpose: 'dead letters',
});

/** Of a topic that somebody wants to be made. */
type Refusal = (topic: string) => boolean;

class Server {
  readonly log: GrowingLog;
  readonly database: Database;
  readonly router = new Router(systemClock);
  readonly warnings: string[] = [];
  readonly queues: DeadLetterQueue[] = [];
  readonly cluster: ClusterHost;
  readonly office: DeadLetterOffice;
  readonly hosts: QueueHost[] = [];

  static async start(filename: string, databaseFile: string, refuses: Refusal): Promise<Server> {
    const log = await openEmbeddedLog({ filename, topics: [{ name: 'perdure.cluster', partitions: 1 }] });
    const server = new Server(log, openSqlite({ filename: databaseFile }), refuses);
    await until(() => server.cluster.actor.status().state === 'active');
    return server;
  }

  private constructor(log: GrowingLog, database: Database, refuses: Refusal) {
    this.log = log;
    this.database = database;
    const logger: Logger = { ...silentLogger, warn: (message) => void this.warnings.push(message), with: () => logger };
    const common = { owner: 'test', log, claims: jsonClaims, clock: systemClock, random: systemRandom, logger, onStatus: () => {} };
    const { router } = this;
    const schedule = new CheckpointSchedule({ clock: systemClock, logger });
    this.cluster = new ClusterHost({
      ...common,
      topic: 'perdure.cluster',
      codec: clusterCodec,
      sink: router.cluster.sink(CLUSTER_ACTOR),
    });
    router.cluster.attach(CLUSTER_ACTOR, this.cluster.actor);
    this.cluster.actor.start();
    this.office = new DeadLetterOffice({
      log: {
        addTopic: async (topic) => {
          if (refuses(topic.name)) throw new Error('no rights');
          await log.addTopic(topic);
        },
        end: (id) => log.end(id),
      },
      cluster: this.cluster,
      asker: router,
      topicOf,
      serve: (queue, topic) => {
        this.queues.push(queue);
        const sink = router.deadLetters.sink(queue.number);
        const codec = deadLetterCodec(queue, 'perdure');
        const checkpoints = { database, stateWire: deadLetterStateCodec, schedule };
        const host = new QueueHost({ ...common, queue, topic: topic.name, codec, sink, checkpoints });
        this.hosts.push(host);
        router.deadLetters.attach(queue.number, host);
        host.actor.start();
      },
      clock: systemClock,
      logger,
    });
  }

  async open(...categories: readonly string[]): Promise<readonly number[]> {
    this.office.open(categories.map(wanted));
    await until(() => this.hosts.length === categories.length && this.hosts.every(({ actor }) => actor.status().state === 'active'));
    return this.queues.map(({ number }) => number);
  }

  ask<Request extends DeadLetterRequest>(queue: number, request: Request): Promise<DeadLetterAnswer<Request>> {
    return new Promise((resolve) => void this.router.askDeadLetters(queue, request, FAR_AWAY_MS, resolve));
  }

  async stop(): Promise<void> {
    this.office.close();
    await Promise.all([this.cluster, ...this.hosts].map(({ actor }) => actor.drain()));
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

async function start(refuses: Refusal = () => false): Promise<Server> {
  const server = await Server.start(join(folder, 'x.db'), join(folder, 'x.db-state'), refuses);
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

  test('come to a cluster that was made without them, and are the same after a restart: number, letters, what was handed over', async () => {
    await start();
    const first = await restart();
    expect(await first.open('transfer', 'timer')).toEqual([1, 2]);
    expect(await first.ask(1, handOver)).toEqual({ kind: 'accepted', ids: [0, 1, 2] });
    await first.ask(1, { kind: 'claimLetters', jobId: 'job', ranges: [{ from: 0, to: 2 }] });
    const purge = { kind: 'purgeLetters', jobId: 'job', who: 'anna', why: '', letters: [{ messageId: 1, generation: 0 }] } as const;
    expect(await first.ask(1, purge)).toEqual({ kind: 'purged', ids: [1], gone: [] });
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
    });
    expect(await second.ask(1, handOver)).toEqual({ kind: 'accepted', ids: [0, 1, 2] });
    expect(await second.ask(1, purge)).toMatchObject({ kind: 'rejected', rejection: { reason: 'not-claimed' } });
    expect(await second.ask(2, count)).toMatchObject({ open: 3, purged: 0 });
    expect(second.warnings).toEqual([]);
  });

  test('that are wanted twice have one owner each', async () => {
    const server = await start();
    server.office.open([wanted('transfer'), wanted('transfer')]);
    server.office.open([wanted('transfer'), wanted('timer')]);
    await until(() => server.hosts.some(({ actor }) => actor.status().partition.topic.includes('timer')));
    await until(() => server.hosts.every(({ actor }) => actor.status().state === 'active'));
    expect(server.queues.map(({ category }) => category)).toEqual(['transfer', 'timer']);
  });

  test('whose topic cannot be made are tried again, the others are served, and people are told', async () => {
    let refusals = 2;
    const server = await start((topic) => topic.includes('transfer') && refusals-- > 0);
    expect(await server.open('transfer', 'timer')).toEqual([1, 2]);
    expect(server.queues.map(({ category }) => category)).toEqual(['timer', 'transfer']);
    expect(server.warnings).toEqual(['a dead letter queue cannot be opened: tasks that fail for good wait where they are']);
  });
});
