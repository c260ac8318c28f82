/** Three brokers of our own, each also a controller: for what only replicas show. */
import { findKafkaLibs } from './kafka-libs.ts';
import { freePorts, LocalBroker } from './local-broker.ts';

const nodeIds = [1, 2, 3] as const;

export class LocalCluster {
  readonly nodes: readonly LocalBroker[];

  static async start(): Promise<LocalCluster> {
    const libs = await findKafkaLibs();
    if ('missing' in libs) throw new Error(libs.missing);
    const ports = await freePorts(2 * nodeIds.length);
    const portsOf = (node: number): readonly [number, number] => [ports[2 * node - 2] ?? 0, ports[2 * node - 1] ?? 0];
    const voters = nodeIds.map((node) => `${node}@127.0.0.1:${portsOf(node)[1]}`).join(',');
    const start = (node: number): Promise<LocalBroker> => {
      const settings = { ...replicated, 'node.id': String(node), 'controller.quorum.voters': voters };
      return LocalBroker.start({ libs: libs.folder, ports: portsOf(node), settings });
    };
    // Together: one alone has no quorum, and waits for it.
    return new LocalCluster(await Promise.all(nodeIds.map(start)));
  }

  private constructor(nodes: readonly LocalBroker[]) {
    this.nodes = nodes;
  }

  get brokers(): readonly string[] {
    return this.nodes.flatMap(({ brokers }) => brokers);
  }

  /** The node that listens on this port. */
  node(port: number): LocalBroker {
    const found = this.nodes.find(({ brokers }) => brokers.some((address) => address.endsWith(`:${port}`)));
    if (found === undefined) throw new Error(`no broker of this cluster listens on ${port}`);
    return found;
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) node.resume();
    await Promise.all(this.nodes.map((node) => node.stop()));
  }
}

/** Short timeouts: a dead broker is noticed after two seconds. */
const replicated = {
  'default.replication.factor': '3',
  'min.insync.replicas': '2',
  'offsets.topic.replication.factor': '3',
  'transaction.state.log.replication.factor': '3',
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '300',
  'controller.quorum.election.timeout.ms': '500',
  'controller.quorum.fetch.timeout.ms': '1000',
  'controller.quorum.election.backoff.max.ms': '300',
  'replica.lag.time.max.ms': '3000',
  'replica.fetch.wait.max.ms': '100',
} as const;
