/**
 * Connections to the brokers that lead our partitions, and who leads what.
 *
 * Each broker has two connections: one for Produce alone, one for all else, so that a read never waits behind an append.
 *
 * Who leads what is asked of a broker that answers: first of those that are connected, last of those that owe us an answer. A broker that
 * owes one for a second is looked after: once the others no longer count it among the living (it is frozen, or cut off), nothing waits
 * for it any more, however long a request may take.
 */
import { isIP } from 'node:net';
import { LogError, partitionName, type PartitionId } from '../../ports/log.ts';
import { assert } from '../../kernel/assert.ts';
import { BrokerLine, type InnerBroker } from './broker-line.ts';
import { clientConfig, type ClientSettings } from './client-options.ts';
import { errorName } from './error-codes.ts';
import { firstAnswer } from './first-answer.ts';
import { kafkaFailure } from './kafka-failure.ts';
import { loadKafkajs } from './load-kafkajs.ts';
import { startFailure } from './start-failure.ts';
import { metadataRequest, metadataResponse, type WireRequest } from './requests.ts';
import type { Assigner, Cluster } from 'kafkajs';
import { reportIntervalMs } from '../../observability/outage-report.ts';
import type { Logger } from '../../observability/logger.ts';

export type Channel = 'append' | 'read';

type Lines = { readonly [Name in Channel]: BrokerLine };

export type DataPlaneOptions = ClientSettings & {
  readonly topics: readonly string[];
  /** Who leads what is asked at least this often, also while everything works. */
  readonly metadataAgeMsMax?: number;
};

/** What we use of kafkajs beyond its types (2.2.4, pinned). */
type InnerCluster = Cluster & {
  readonly connectionPoolBuilder: { build(address: { readonly host: string; readonly port: number }): Promise<unknown> };
  readonly brokerPool: {
    readonly rootLogger: unknown;
    createBroker(options: { readonly connectionPool: unknown; readonly logger: unknown }): InnerBroker;
  };
};

/** A broker that owes an answer for this long is asked about. */
const brokerSilenceMsMax = 1_000;
/** The limit for connecting, login and request together, in request timeouts: kafkajs does not limit a login. */
const requestTimeoutsMax = 2;
/** Who has told so often in a row is asked again only when nobody else can be. */
const tellsInARowMax = 3;
/** Who is asked first, by how it stands with us. */
const askedInOrder = ['connected', 'told last', 'not connected', 'told too often', 'silent'] as const;
const tickMs = 500;
/** The same as in Kafka's own clients (metadata.max.age.ms). */
const metadataAgeMsMaxDefault = 5 * 60_000;

export class DataPlane {
  readonly #cluster: InnerCluster;
  readonly #options: DataPlaneOptions;
  readonly #lines = new Map<string, Lines>();
  /** Addresses that let us wait in vain the last time. */
  readonly #mute = new Set<string>();
  readonly #throttles: ThrottleReport;
  readonly #timer: NodeJS.Timeout;
  /** The advertised addresses of the brokers that are alive, by node id, and which of them told us. */
  #brokers: ReadonlyMap<number, string> = new Map();
  #topics: readonly string[];
  #toldBy = '';
  #tellsInARow = 0;
  #leaders: ReadonlyMap<string, number> = new Map();
  #refusedTopics: ReadonlyMap<string, number> = new Map();
  #refreshing: Promise<void> | undefined;
  #askedMs = 0;
  #closed = false;

  static async connect(options: DataPlaneOptions): Promise<DataPlane> {
    const plane = new DataPlane(options);
    try {
      await plane.refresh();
      return plane;
    } catch (error) {
      await plane.close();
      const first = error instanceof LogError && error.cause !== undefined ? error.cause : error;
      throw await startFailure(first, options.kafka, `connecting to Kafka at ${options.kafka.brokers.join(', ')}`);
    }
  }

  private constructor(options: DataPlaneOptions) {
    this.#options = options;
    this.#topics = options.topics;
    this.#cluster = captureCluster(clientConfig(options)) as InnerCluster;
    this.#throttles = new ThrottleReport(options.logger, () => performance.now());
    this.#timer = setInterval(() => this.#tick(), tickMs).unref();
  }

  /** The broker that led this partition when last asked; undefined when that is known to be stale. */
  leader(id: PartitionId): number | undefined {
    return this.#leaders.get(partitionName(id));
  }

  /** Why `leader` knows none. */
  whyLeaderless({ topic }: PartitionId): string {
    const refused = this.#refusedTopics.get(topic);
    return refused === undefined ? 'it has no leader' : errorName(refused);
  }

  /** Its leader is not what we thought: it has none until the next refresh. */
  forget(id: PartitionId): void {
    const leaders = new Map(this.#leaders);
    leaders.delete(partitionName(id));
    this.#leaders = leaders;
  }

  /** Who leads these too is asked from now on. */
  async addTopic(topic: string): Promise<void> {
    if (!this.#topics.includes(topic)) this.#topics = [...this.#topics, topic];
    // What is under way asks for the others alone.
    await this.#refreshing?.catch(() => {});
    await this.refresh();
  }

  /** Asks a broker who leads what. Callers at the same time share one refresh. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  connected(nodeId: number, channel: Channel): boolean {
    const address = this.#brokers.get(nodeId);
    return address !== undefined && this.#line(address, channel).connected;
  }

  /** Changes with every connection for appends to that broker. */
  connectionName(nodeId: number): string {
    const address = this.#brokers.get(nodeId);
    return address === undefined ? `${nodeId}` : `${nodeId} at ${address} #${this.#line(address, 'append').connectionNumber}`;
  }

  /** How long the broker wants to hear nothing more on this channel. */
  throttledForMs(nodeId: number, channel: Channel): number {
    const address = this.#brokers.get(nodeId);
    return address === undefined ? 0 : this.#line(address, channel).throttledForMs();
  }

  /** Opens the connection if there is none; callers at the same time share one attempt. */
  async open(nodeId: number, channel: Channel): Promise<void> {
    await this.#line(this.#addressOf(nodeId), channel).open();
  }

  /** The raw answer. An error means that the outcome is not known, unless the connection could not be opened. */
  request(nodeId: number, channel: Channel, request: WireRequest): Promise<Buffer> {
    return this.#line(this.#addressOf(nodeId), channel).send(request);
  }

  /** The brokers as they advertise themselves, for log lines. */
  describeBrokers(): string {
    return [...this.#brokers].map(([nodeId, address]) => `${nodeId} at ${address}`).join(', ');
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const address of this.#lines.keys()) this.#close(address, 'the log is closed');
    await this.#cluster.disconnect().catch(() => {});
  }

  async #refresh(): Promise<void> {
    this.#askedMs = performance.now();
    const request = metadataRequest(this.#topics);
    const ask = async (address: string): Promise<readonly [string, Buffer]> => [address, await this.#line(address, 'read').send(request)];
    let answer: readonly [string, Buffer];
    try {
      answer = await firstAnswer(this.#whoToAsk(), ask, brokerSilenceMsMax);
    } catch (error) {
      throw error instanceof AggregateError ? noBroker(error.errors) : error;
    }
    const [toldBy, payload] = answer;
    const { brokers, partitions, refusedTopics } = metadataResponse(payload);
    this.#tellsInARow = toldBy === this.#toldBy ? this.#tellsInARow + 1 : 1;
    this.#toldBy = toldBy;
    this.#brokers = new Map(brokers.map(({ nodeId, host, port }) => [nodeId, addressOf(host, port)]));
    const led = partitions.filter(({ leader }) => leader >= 0);
    this.#leaders = new Map(led.map((partition) => [partitionName(partition), partition.leader]));
    this.#refusedTopics = refusedTopics;
    this.#leaveTheDead();
  }

  /** Those that answer first, in turn; those that owe an answer last. One that is cut off still says that it leads what others lead. */
  #whoToAsk(): readonly string[] {
    const addresses = new Set([...this.#brokers.values(), ...this.#options.kafka.brokers]);
    const rank = (address: string): number => {
      if (this.#mute.has(address) || this.#waitingMs(address) > brokerSilenceMsMax) return askedInOrder.indexOf('silent');
      if (address === this.#toldBy) return askedInOrder.indexOf(this.#tellsInARow < tellsInARowMax ? 'told last' : 'told too often');
      return askedInOrder.indexOf(this.#line(address, 'read').connected ? 'connected' : 'not connected');
    };
    return [...addresses].toSorted((a, b) => rank(a) - rank(b));
  }

  #waitingMs(address: string): number {
    return Math.max(this.#line(address, 'append').waitingMs(), this.#line(address, 'read').waitingMs());
  }

  /** A broker that is silent and no longer named by the cluster is not waited for. Nobody needs a connection to one that was replaced. */
  #leaveTheDead(): void {
    const isDead = `${this.#toldBy} no longer counts it among the brokers that are alive`;
    const alive = new Set(this.#brokers.values());
    const known = new Set([...alive, ...this.#options.kafka.brokers]);
    for (const [address, { append, read }] of this.#lines) {
      if (!alive.has(address) && this.#waitingMs(address) > brokerSilenceMsMax) {
        this.#drop(address, `no answer for ${brokerSilenceMsMax} ms, and ${isDead}`);
      } else if (!known.has(address) && append.idle && read.idle) {
        this.#close(address, isDead);
        this.#lines.delete(address);
        this.#mute.delete(address);
      }
    }
  }

  #tick(): void {
    this.#throttles.tick();
    const { metadataAgeMsMax = metadataAgeMsMaxDefault } = this.#options;
    // A partition whose appends and reads succeed never asks, though a leader that gave it up may still serve it reads.
    if (performance.now() - this.#askedMs > metadataAgeMsMax) this.refresh().catch(() => {});
    const silent = [...this.#lines.keys()].filter((address) => this.#waitingMs(address) > brokerSilenceMsMax);
    if (silent.length === 0) return;
    const limitMs = requestTimeoutsMax * this.#options.requestTimeoutMs;
    for (const address of silent) if (this.#waitingMs(address) > limitMs) this.#drop(address, `no answer for ${limitMs} ms`);
    // Whether it is still alive; when nobody else can be asked, the request timeout decides.
    if (this.#whoToAsk().length > silent.length) this.refresh().catch(() => {});
  }

  #drop(address: string, why: string): void {
    this.#mute.add(address);
    this.#close(address, why);
  }

  #close(address: string, why: string): void {
    const { append, read } = this.#linesTo(address);
    append.close(why);
    read.close(why);
  }

  #addressOf(nodeId: number): string {
    const address = this.#brokers.get(nodeId);
    if (address === undefined)
      throw new LogError('unavailable', `broker ${nodeId} is not among the brokers that are alive: ${this.describeBrokers()}`);
    return address;
  }

  #line(address: string, channel: Channel): BrokerLine {
    return this.#linesTo(address)[channel];
  }

  #linesTo(address: string): Lines {
    const existing = this.#lines.get(address);
    if (existing !== undefined) return existing;
    const lines = { append: this.#newLine(address), read: this.#newLine(address) };
    this.#lines.set(address, lines);
    return lines;
  }

  #newLine(address: string): BrokerLine {
    return new BrokerLine({
      create: () => this.#createBroker(address),
      describe: () => this.#describe(address),
      heard: () => this.#mute.delete(address),
      timedOut: () => this.#drop(address, 'no answer in time'),
      throttled: (throttledMs) => this.#throttles.throttled(address, throttledMs),
    });
  }

  async #createBroker(address: string): Promise<InnerBroker> {
    if (this.#closed) throw new LogError('closed', 'the log is closed');
    const { connectionPoolBuilder, brokerPool } = this.#cluster;
    const connectionPool = await connectionPoolBuilder.build(hostAndPort(address));
    return brokerPool.createBroker({ connectionPool, logger: brokerPool.rootLogger });
  }

  /** An address that nobody configured is what a broker advertises: half of all first connections fail there. */
  #describe(address: string): string {
    const nodeId = [...this.#brokers].find(([, known]) => known === address)?.[0];
    if (nodeId === undefined) return `the broker at ${address}`;
    if (this.#options.kafka.brokers.includes(address) || this.#toldBy === address) return `broker ${nodeId} at ${address}`;
    return `broker ${nodeId} at ${address}, the listener that it advertises (reported by ${this.#toldBy})`;
  }
}

function noBroker(refusals: readonly unknown[]): LogError {
  const reasons = refusals.map((error) => kafkaFailure(error, 'Kafka').message);
  return new LogError('unavailable', `no broker answers: ${reasons.join('; ')}`, { cause: refusals.at(-1) });
}

/** The cluster object is handed to partition assigners alone: a consumer that never joins its group gives it away. */
function captureCluster(config: ReturnType<typeof clientConfig>): Cluster {
  const { Kafka } = loadKafkajs();
  let captured: Cluster | undefined;
  const protocol = () => ({ name: 'none', metadata: Buffer.alloc(0) });
  const assigner: Assigner = { name: 'none', version: 0, assign: async () => [], protocol };
  new Kafka({ ...config, retry: { retries: 0 } }).consumer({
    groupId: 'perdure-never-joined',
    allowAutoTopicCreation: false,
    partitionAssigners: [
      ({ cluster }) => {
        captured = cluster;
        return assigner;
      },
    ],
  });
  assert(captured !== undefined, 'kafkajs builds its assigners with the consumer');
  return captured;
}

function addressOf(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[(.+)\]$/, '$1'), port: Number(address.slice(colon + 1)) };
}

/** Logs that Kafka throttles us: an operator would look for the cause everywhere else first. At most one line in ten seconds. */
export class ThrottleReport {
  readonly #logger: Logger;
  readonly #nowMs: () => number;
  readonly #brokers = new Set<string>();
  #answers = 0;
  #throttledMs = 0;
  #saidMs: number | undefined;

  constructor(logger: Logger, nowMs: () => number) {
    this.#logger = logger;
    this.#nowMs = nowMs;
  }

  throttled(broker: string, throttledMs: number): void {
    this.#brokers.add(broker);
    this.#answers += 1;
    this.#throttledMs += throttledMs;
    this.tick();
  }

  tick(): void {
    const nowMs = this.#nowMs();
    if (this.#saidMs !== undefined && nowMs - this.#saidMs < reportIntervalMs) return;
    if (this.#answers === 0) {
      if (this.#saidMs !== undefined) this.#logger.info('Kafka no longer throttles this client');
      this.#saidMs = undefined;
      return;
    }
    this.#saidMs = nowMs;
    this.#logger.warn('Kafka throttles this client: a quota of its user or of client id "perdure" is used up', {
      brokers: [...this.#brokers].join(', '),
      answers: this.#answers,
      throttledMs: this.#throttledMs,
    });
    this.#brokers.clear();
    this.#answers = 0;
    this.#throttledMs = 0;
  }
}
