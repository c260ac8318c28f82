/** Processes on one simulated log and one simulated database, what they say of themselves, and the network through which they are asked. */
import { SimDisk, type DatabasePlan } from './sim-database.ts';
import type { SimBroker } from './sim-log.ts';
import type { SimServer } from './sim-server.ts';
import type { World } from './world.ts';
import type { AskFailure } from '../../src/actors/asks/asks.ts';
import type { PartitionId } from '../../src/ports/log.ts';
import type { PartitionStatus } from '../../src/actors/ownership/partition-owner.ts';
import type { Logger } from '../../src/observability/logger.ts';

export abstract class SimCluster<Server extends SimServer> {
  readonly world: World;
  readonly broker: SimBroker;
  /** undefined: there is none, and every takeover folds the journal from its start. */
  readonly disk: SimDisk | undefined;
  abstract readonly servers: readonly Server[];
  /** What the actors wrote into their logs, by message: what a run came by. */
  said: (message: string) => void = () => {};
  readonly logger: Logger = listeningLogger((message) => this.said(message));
  onStatus: (server: Server, partition: number, status: PartitionStatus) => void = () => {};

  constructor(world: World, broker: SimBroker, database: DatabasePlan | undefined) {
    this.world = world;
    this.broker = broker;
    this.disk = database === undefined ? undefined : new SimDisk(world, database);
  }

  abstract readonly partitionIds: readonly PartitionId[];

  owners(partition: number): readonly Server[] {
    return this.servers.filter((server) => server.state(partition) === 'active');
  }

  /** Mostly one that believes it owns the partition, be it a zombie. */
  choose(partition: number, believerShare: number): Server {
    const { random } = this.world;
    const believers = this.owners(partition);
    return believers.length > 0 && random.chance(believerShare) ? random.pick(believers) : random.pick(this.servers);
  }

  /** Over a network that delays, of whoever seems to own the partition. Answered once. `ask`: by the process that was asked, when it hears it. */
  protected askOwner<Answer extends { readonly kind: string }>(
    partition: number,
    what: string,
    waitMs: number,
    ask: (server: Server, deadlineMs: number, onAnswer: (answer: Answer | AskFailure) => void) => void,
    onAnswer: (answer: Answer | AskFailure) => void,
  ): void {
    const { world } = this;
    const server = this.choose(partition, 0.9);
    let isOver = false;
    const over = (answer: Answer | AskFailure): void => {
      if (isOver) return;
      isOver = true;
      server.connections.delete(lost);
      patience.canceled = true;
      onAnswer(answer);
    };
    const lost = (): void => over(unavailable('the connection is lost'));
    // A process that is frozen answers nothing, not even that it is too late.
    const patience = world.at(waitMs * 1.2, () => over(unavailable('no answer')));
    if (!server.node.up) {
      world.at(this.broker.delayMs(), () => over(unavailable('connection refused')));
      return;
    }
    server.connections.add(lost);
    server.node.at(this.broker.delayMs(), () => {
      ask(server, server.node.clock.monoMs() + waitMs, (answer) => {
        world.trace(`${what} of ${server.node.name}: ${answer.kind}`);
        over(answer);
      });
    });
  }
}

export function unavailable(message: string): AskFailure {
  return { kind: 'unavailable', message };
}

export function listeningLogger(hear: (message: string) => void): Logger {
  const logger: Logger = { debug: hear, info: hear, warn: hear, error: hear, enabled: () => true, with: () => logger };
  return logger;
}
