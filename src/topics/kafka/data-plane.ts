/**
 * Connections to the brokers that lead our partitions, and who leads what.
 *
 * kafkajs opens, authenticates and re-authenticates the connections; the requests on them are our own (`requests.ts`), past its retry
 * layer, which may send a batch twice or lose it silently. Each broker has two connections: one for Produce alone, one for all else, so
 * that a read never waits behind an append.
 */
import { LogError } from '../../actors/log.ts';
import { assert } from '../../kernel/assert.ts';
import { clientConfig } from './client-options.ts';
import { startFailure } from './kafka-failure.ts';
import { loadKafkajs } from './load-kafkajs.ts';
import { metadataRequest, metadataResponse } from './requests.ts';
import type { Assigner, Broker, Cluster } from 'kafkajs';
import type { Socket } from 'node:net';
import type { PartitionId } from '../../actors/log.ts';
import type { ClientSettings } from './client-options.ts';
import type { WireRequest } from './requests.ts';

export type Channel = 'append' | 'read';

export type DataPlaneOptions = Omit<ClientSettings, 'onSocket'> & { readonly topics: readonly string[] };

/** What we use of kafkajs beyond its types (2.2.4, pinned). */
type Connection = {
  readonly connectionStatus: 'connected' | 'disconnecting' | 'disconnected';
  connect(): Promise<unknown>;
  send(call: {
    readonly request: { readonly apiKey: number; readonly apiVersion: number; readonly apiName: string; encode(): Promise<unknown> };
    readonly response: { decode(payload: Buffer): Promise<Answer>; parse(answer: Answer): Promise<Answer> };
    readonly logResponseError: boolean;
  }): Promise<Answer>;
};
type Answer = { readonly payload: Buffer };
type InnerBroker = Broker & {
  readonly connectionPool: { readonly host: string; readonly port: number; readonly pool: readonly Connection[] };
};

/** By address: the sockets that are open, and how many there ever were. */
type Sockets = Map<string, { readonly open: Set<Socket>; opened: number }>;

export class DataPlane {
  readonly #cluster: Cluster;
  readonly #topics: readonly string[];
  readonly #sockets: Sockets;
  readonly #connections = new Map<string, Connection>();
  readonly #connecting = new Map<string, Promise<Connection>>();
  readonly #addresses = new Map<number, string>();
  #leaders: ReadonlyMap<string, number> = new Map();
  #refreshing: Promise<void> | undefined;

  static async connect(options: DataPlaneOptions): Promise<DataPlane> {
    const sockets: Sockets = new Map();
    const config = clientConfig({ ...options, onSocket: (socket, host, port) => keep(sockets, `${host}:${port}`, socket) });
    const cluster = captureCluster(config);
    const plane = new DataPlane(cluster, options.topics, sockets);
    try {
      await cluster.connect();
      await cluster.addMultipleTargetTopics([...options.topics]);
      await plane.refresh();
      return plane;
    } catch (error) {
      await plane.close();
      throw startFailure(error, `connecting to Kafka at ${options.kafka.brokers.join(', ')}`);
    }
  }

  private constructor(cluster: Cluster, topics: readonly string[], sockets: Sockets) {
    this.#cluster = cluster;
    this.#topics = topics;
    this.#sockets = sockets;
  }

  /** The broker that led this partition when last asked; undefined when that is known to be stale. */
  leader(id: PartitionId): number | undefined {
    return this.#leaders.get(keyOf(id));
  }

  /** Its leader is not what we thought: it has none until the next refresh. */
  forget(id: PartitionId): void {
    const leaders = new Map(this.#leaders);
    leaders.delete(keyOf(id));
    this.#leaders = leaders;
  }

  /** Asks a broker who leads what. Callers at the same time share one refresh. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    // Learns brokers and addresses. It fails for all topics while one partition has no leader; then those known so far must do.
    const known = await this.#cluster.refreshMetadata().then(
      () => undefined,
      (error: unknown) => error,
    );
    let last: unknown = known ?? new LogError('unavailable', 'Kafka named no brokers');
    for (const nodeId of this.#cluster.getNodeIds().map(Number)) {
      try {
        const payload = await this.request(nodeId, 'read', metadataRequest(this.#topics));
        const found = metadataResponse(payload).filter(({ leader }) => leader >= 0);
        this.#leaders = new Map(found.map((partition) => [keyOf(partition), partition.leader]));
        return;
      } catch (error) {
        last = error;
      }
    }
    throw last;
  }

  connected(nodeId: number, channel: Channel): boolean {
    return this.#connections.get(`${nodeId}:${channel}`)?.connectionStatus === 'connected';
  }

  /** Grows with every connection to that broker: whoever sees another number than before has lost one. */
  connectionNumber(nodeId: number): number {
    return this.#sockets.get(this.#addresses.get(nodeId) ?? '')?.opened ?? 0;
  }

  /** Opens the connection if there is none; callers at the same time share one attempt. */
  async open(nodeId: number, channel: Channel): Promise<void> {
    await this.#connection(nodeId, channel);
  }

  /** The raw answer. An error means that the outcome is not known, unless the connection could not be opened. */
  async request(nodeId: number, channel: Channel, { apiKey, apiVersion, apiName, body }: WireRequest): Promise<Buffer> {
    const name = `${nodeId}:${channel}`;
    const cached = this.#connections.get(name);
    const connection = cached?.connectionStatus === 'connected' ? cached : await this.#connection(nodeId, channel);
    const answer = await connection.send({
      // kafkajs takes for an encoder what has these two.
      request: { apiKey, apiVersion, apiName, encode: async () => ({ buf: body, buffer: body }) },
      response: { decode: async (payload) => ({ payload }), parse: async (decoded) => decoded },
      logResponseError: false,
    });
    return answer.payload;
  }

  /** Closes what goes to this broker, with all that waits on it: a half-open connection would time out again and again. */
  drop(nodeId: number): void {
    const address = this.#addresses.get(nodeId);
    if (address !== undefined) destroyAll(this.#sockets.get(address)?.open, 'no answer in time');
  }

  async close(): Promise<void> {
    for (const { open } of this.#sockets.values()) destroyAll(open, 'the log is closed');
    await this.#cluster.disconnect().catch(() => {});
  }

  #connection(nodeId: number, channel: Channel): Promise<Connection> {
    const name = `${nodeId}:${channel}`;
    const running = this.#connecting.get(name);
    if (running !== undefined) return running;
    const started = this.#open(nodeId, channel).finally(() => this.#connecting.delete(name));
    this.#connecting.set(name, started);
    return started;
  }

  async #open(nodeId: number, channel: Channel): Promise<Connection> {
    const broker = (await this.#cluster.findBroker({ nodeId: String(nodeId) })) as InnerBroker;
    const { host, port, pool } = broker.connectionPool;
    this.#addresses.set(nodeId, `${host}:${port}`);
    const connection = pool[channel === 'append' ? 0 : 1];
    assert(connection !== undefined, 'kafkajs keeps two connections per broker');
    if (connection.connectionStatus !== 'connected') await connection.connect();
    this.#connections.set(`${nodeId}:${channel}`, connection);
    return connection;
  }
}

/** The cluster object is handed to partition assigners alone: a consumer that never joins its group gives it away. */
function captureCluster(config: ReturnType<typeof clientConfig>): Cluster {
  const { Kafka } = loadKafkajs();
  let captured: Cluster | undefined;
  const assigner: Assigner = {
    name: 'none',
    version: 0,
    assign: async () => [],
    protocol: () => ({ name: 'none', metadata: Buffer.alloc(0) }),
  };
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

function keep(sockets: Sockets, address: string, socket: Socket): void {
  const kept = sockets.get(address) ?? { open: new Set(), opened: 0 };
  sockets.set(address, kept);
  kept.open.add(socket);
  kept.opened += 1;
  socket.once('close', () => kept.open.delete(socket));
}

function destroyAll(sockets: ReadonlySet<Socket> | undefined, why: string): void {
  for (const socket of sockets ?? []) socket.destroy(new Error(why));
}

function keyOf({ topic, partition }: PartitionId): string {
  return `${topic}/${partition}`;
}
