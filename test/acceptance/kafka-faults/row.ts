/**
 * One row: a server under a small load of workflows, something is done to its Kafka, and then
 *
 *     no acknowledged start, signal or completion is lost or applied twice, every workflow comes to its end (test/crash/checker.ts);
 *     the same process serves on all shards again, unless the row says what becomes of it; it says what is wrong while it is wrong
 *
 * What is measured: the time to serve again, counted from the moment when the trouble is over, or from its beginning where a cluster has
 * to help itself; the longest time without an answer from one shard; how often a partition dropped its memory and replayed its journal.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { topicLength, withAdmin } from '../kafka-admin.ts';
import { check } from '../../crash/checker.ts';
import { CrashLoad } from '../../crash/crash-load.ts';
import { Prng } from '../../simulation/prng.ts';
import { healthOf } from '../../support/grpc-health.ts';
import { healthPageOf } from '../../support/health-page.ts';
import { kafkaServer, withFolder } from '../../support/servers.ts';
import { ShardProbe } from './shard-probe.ts';
import type { Site, SiteKind } from './sites.ts';
import type { Kafka } from 'kafkajs';
import type { Concern } from '../../../src/actors/ownership/census.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import type { KafkaServerSettings } from '../../support/servers.ts';

export type RowReport = {
  readonly row: string;
  readonly did: string;
  readonly outcome: Served | Loss;
  readonly replays: number;
  readonly workflows: number;
  readonly violations: readonly string[];
};

export type Served = {
  readonly againMs: number;
  readonly longestWaitMs: number;
  readonly callsAnswered: number;
  readonly callsUnanswered: number;
};

/** What becomes of it where it does not serve as before, and should not. */
export type Loss = 'says what is lost, does not serve' | 'says what is lost, does not start';

export type Scenario<S extends Site> = {
  readonly name: string;
  /** What was done, for the table. */
  readonly did: string;
  readonly replaysMax?: number;
  /** Records are lost: the server says this, is not healthy, and calls nothing absent that it cannot know. */
  readonly lossSays?: RegExp;
  /** Whole journals are lost: the last start is refused with these words, and leaves everything as it is. */
  readonly refusalSays?: RegExp;
  /** Of the server, where they are not those of the site. */
  readonly server?: (site: S) => Partial<KafkaServerSettings>;
  readonly act: (hands: Hands, site: S) => Promise<void>;
};

export type Row = {
  readonly name: string;
  readonly did: string;
  readonly site: string;
  run(sites: Sites, seed: number): Promise<RowReport>;
};

export function row<S extends Site>(kind: SiteKind<S>, scenario: Scenario<S>): Row {
  const { name, did } = scenario;
  return {
    name,
    did,
    site: kind.name,
    run: async (sites, seed) => await withFolder(async (folder) => await play(await sites.get(kind), scenario, seed, folder)),
  };
}

/** The one that the rows are at. Brokers that nobody asks cost a tenth of a processor each, so it is ended when another is asked for. */
export class Sites {
  #standing: { readonly name: string; readonly site: Site } | undefined;

  async get<S extends Site>(kind: SiteKind<S>): Promise<S> {
    if (this.#standing?.name !== kind.name) {
      await this.stop();
      this.#standing = { name: kind.name, site: await kind.start() };
    }
    return this.#standing.site as S;
  }

  async stop(): Promise<void> {
    const standing = this.#standing;
    this.#standing = undefined;
    await standing?.site.stop();
  }
}

const warmUpWorkflows = 15;
/** Some ten workflows a second: what is done takes its time, and the processors are for others meanwhile. */
const load = { clients: 3, pollers: 3, pauseMs: 200, pollTimeoutMs: 2_000 } as const;
const serveAgainTimeoutMs = 60_000;
const saidTimeoutMs = 30_000;
const quiescencePatienceMs = 30_000;

async function play<S extends Site>(site: S, scenario: Scenario<S>, seed: number, folder: string): Promise<RowReport> {
  const { lossSays, refusalSays } = scenario;
  const hands = await Hands.start(() => ({ ...site, ...scenario.server?.(site) }), seed, folder);
  try {
    const beganMs = Date.now();
    await scenario.act(hands, site);
    if (refusalSays !== undefined) return await hands.judgeRefusal(scenario, refusalSays, site.kafka);
    if (lossSays !== undefined) return await hands.judgeLoss(scenario, lossSays);
    await hands.servesAgain(beganMs);
    const report = await hands.judge(scenario, beganMs);
    assert.deepEqual(report.violations, [], `${scenario.name}: ${hands.server.output.slice(-6_000)}`);
    if (scenario.replaysMax !== undefined) assert.ok(report.replays <= scenario.replaysMax, `${report.replays} replays`);
    return report;
  } finally {
    await hands.stop();
  }
}

/** What a row has at hand. */
export class Hands {
  readonly topicPrefix: string;
  server: ServerProcess;
  readonly load: CrashLoad;
  readonly probe: ShardProbe;
  readonly random: () => number;
  /** For a start: with the login of now. */
  readonly #settings: () => KafkaServerSettings;
  readonly #folder: string;
  #earlierOutput = '';
  #countedFromMs: number | undefined;

  static async start(ofServer: () => Omit<KafkaServerSettings, 'topicPrefix'>, seed: number, folder: string): Promise<Hands> {
    const topicPrefix = `hands-${crypto.randomUUID()}`;
    const settings = (): KafkaServerSettings => ({ ...ofServer(), topicPrefix, logLevel: 'info' });
    const server = await kafkaServer(folder, settings());
    await server.start();
    const hands = new Hands(settings, topicPrefix, server, seed, folder);
    try {
      await hands.probe.start();
      hands.load.run();
      await hands.moreWorkflows(warmUpWorkflows);
      return hands;
    } catch (error) {
      await hands.stop();
      throw error;
    }
  }

  private constructor(settings: () => KafkaServerSettings, topicPrefix: string, server: ServerProcess, seed: number, folder: string) {
    this.#settings = settings;
    this.#folder = folder;
    this.topicPrefix = topicPrefix;
    this.server = server;
    const prng = new Prng(seed);
    this.random = () => prng.fraction();
    this.probe = new ShardProbe(server.address);
    const addresses = [server.address];
    this.load = new CrashLoad({ ...load, addresses, namespace: 'default', random: this.random });
  }

  topic(name: 'history' | 'matching' | 'cluster'): string {
    return `${this.topicPrefix}.${name}`;
  }

  /** The trouble is over, or begins where a cluster has to help itself: what follows is the time to serve again. */
  countFromNow(): void {
    this.#countedFromMs = Date.now();
  }

  async moreWorkflows(count: number): Promise<void> {
    const wanted = this.load.startedCount + count;
    await this.#until(() => this.load.startedCount >= wanted, serveAgainTimeoutMs, `${count} more workflows`);
  }

  /** The server wrote such a line. */
  async said(pattern: RegExp): Promise<void> {
    await this.#until(() => pattern.test(this.output), saidTimeoutMs, `a line like ${pattern}`);
  }

  get output(): string {
    return this.#earlierOutput + this.server.output;
  }

  /** `GET /health` says this of a topic. */
  async concern(subject: string, severity: Concern['severity']): Promise<Concern> {
    const deadlineMs = Date.now() + saidTimeoutMs;
    for (;;) {
      const [status, { concerns = [] }] = await healthPageOf(this.server.address);
      const found = concerns.find((concern) => concern.subject === subject && concern.severity === severity);
      if (found !== undefined) {
        assert.equal(status, severity === 'lost' ? 503 : 200, found.message);
        return found;
      }
      if (Date.now() > deadlineMs) throw new Error(`no concern about ${subject} within ${saidTimeoutMs} ms: ${JSON.stringify(concerns)}`);
      await delay(50);
    }
  }

  /** As an operator does it. */
  async stopServer(): Promise<void> {
    await this.server.stop();
    assert.equal(await this.server.exitCode(0), 0, this.server.output.slice(-3_000));
  }

  /** Anew, at the same address. */
  async startServer(): Promise<void> {
    this.#earlierOutput += this.server.output;
    const port = Number(this.server.address.split(':')[1]);
    this.server = await kafkaServer(this.#folder, this.#settings(), port);
    await this.server.start();
  }

  async restartServer(): Promise<void> {
    await this.stopServer();
    await this.startServer();
  }

  /** What it said before it gave up. */
  async refusedStart(): Promise<string> {
    await assert.rejects(() => this.startServer(), 'the start is refused');
    assert.equal(await this.server.exitCode(0), 1, this.server.output.slice(-3_000));
    return this.server.output;
  }

  /** Of a server that lost others: these partitions of .history. */
  async servesStill(partitions: readonly number[]): Promise<void> {
    const sinceMs = Date.now();
    await this.#until(
      () => this.probe.servesSince(sinceMs, partitions),
      serveAgainTimeoutMs,
      `an answer of partitions ${partitions.join()}`,
    );
  }

  async servesAgain(beganMs: number): Promise<void> {
    const sinceMs = this.#countedFromMs ?? beganMs;
    await this.#until(() => this.probe.servesSince(sinceMs), serveAgainTimeoutMs, 'an answer of every shard');
    await this.moreWorkflows(warmUpWorkflows);
  }

  async judge({ name, did }: Scenario<never>, beganMs: number): Promise<RowReport> {
    await this.probe.stop();
    const finalRuns = await this.load.finish(quiescencePatienceMs);
    const { entries } = this.load.recorder;
    const count = (type: string): number => entries.filter((entry) => entry.type === type).length;
    const violations = check({ entries, finalRuns }).map(({ invariant, message }) => `${invariant}: ${message}`);
    if ((await healthOf(this.server.address)) !== 'SERVING') violations.push('health: NOT_SERVING at the end');
    return {
      row: name,
      did,
      outcome: {
        againMs: this.probe.serveAgainMs(this.#countedFromMs ?? beganMs),
        longestWaitMs: this.probe.longestWaitMs(beganMs),
        callsAnswered: count('ok') + count('fail'),
        callsUnanswered: count('info'),
      },
      replays: this.#replays,
      workflows: finalRuns.length,
      violations,
    };
  }

  async judgeLoss({ name, did }: Scenario<never>, says: RegExp): Promise<RowReport> {
    await this.said(says);
    assert.equal(await healthOf(this.server.address), 'NOT_SERVING');
    const workflows = this.load.startedCount;
    assert.deepEqual(await this.load.absent(), [], 'no workflow is called absent');
    return { row: name, did, outcome: 'says what is lost, does not serve', replays: this.#replays, workflows, violations: [] };
  }

  async judgeRefusal({ name, did }: Scenario<never>, says: RegExp, kafka: Kafka): Promise<RowReport> {
    const before = await recordsByTopic(kafka, this.topicPrefix);
    assert.match(await this.refusedStart(), says);
    assert.deepEqual(await recordsByTopic(kafka, this.topicPrefix), before, 'nothing was created, and nothing written');
    const workflows = this.load.startedCount;
    return { row: name, did, outcome: 'says what is lost, does not start', replays: this.#replays, workflows, violations: [] };
  }

  get #replays(): number {
    return this.output.match(/memory is replayed from the log/g)?.length ?? 0;
  }

  async stop(): Promise<void> {
    await Promise.all([this.probe.stop(), this.load.abandon()]);
    await this.server.stop();
  }

  async #until(reached: () => boolean, timeoutMs: number, what: string): Promise<void> {
    const deadlineMs = Date.now() + timeoutMs;
    while (!reached()) {
      const code = await this.server.exitCode(0);
      if (code !== undefined && this.server.pid !== undefined)
        throw new Error(`the server ended with ${code}:\n${this.output.slice(-4_000)}`);
      if (Date.now() > deadlineMs) throw new Error(`no ${what} within ${timeoutMs} ms; the server wrote:\n${this.output.slice(-6_000)}`);
      await delay(20);
    }
  }
}

async function recordsByTopic(kafka: Kafka, topicPrefix: string): Promise<ReadonlyMap<string, number>> {
  return await withAdmin(kafka, async (admin) => {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(topicPrefix)).toSorted();
    const records = new Map<string, number>();
    for (const topic of topics) records.set(topic, await topicLength(admin, topic));
    return records;
  });
}
