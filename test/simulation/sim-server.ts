/** A process of the simulation, with an actor for each partition: a crash ends them, a restart makes new ones. */
import { SimLog, type SimBroker } from './sim-log.ts';
import { SimNode } from './sim-node.ts';
import type { PartitionStatus } from '../../src/actors/ownership/partition-owner.ts';
import type { World } from './world.ts';

export type SimActor = {
  start(): void;
  drain(): Promise<void>;
  status(): PartitionStatus;
  claimAnew(claimed: (offset: number) => void): void;
};

export abstract class SimServer {
  readonly node: SimNode;
  readonly #broker: SimBroker;
  log: SimLog;
  /** Whoever waits for an answer of this process: called when it loses the connection. */
  readonly connections = new Set<() => void>();

  constructor(world: World, broker: SimBroker, name: string) {
    this.node = new SimNode(world, name);
    this.#broker = broker;
    this.log = new SimLog(broker, this.node);
  }

  /** By partition. */
  abstract readonly actors: readonly SimActor[];

  /** New actors on `log`, which is new. */
  protected abstract boot(): void;

  crash(): void {
    this.node.crash();
    const lost = [...this.connections];
    this.connections.clear();
    for (const close of lost) close();
  }

  restart(): void {
    this.node.restart();
    this.log = new SimLog(this.#broker, this.node);
    this.boot();
  }

  /** The state as anyone outside sees it: a dead process owns nothing. */
  state(partition: number): PartitionStatus['state'] | 'down' {
    return this.node.up ? this.#actor(partition).status().state : 'down';
  }

  /** Takes the partition over, if it neither has it nor is about to. */
  start(partition: number): void {
    if (!this.node.up || this.node.paused) return;
    const { state } = this.#actor(partition).status();
    if (state === 'unassigned' || state === 'released') this.#actor(partition).start();
  }

  /** Its connections to the broker are new, or lead to another one. */
  reconnect(): void {
    this.log.reconnect();
  }

  #actor(partition: number): SimActor {
    const actor = this.actors[partition];
    if (actor === undefined) throw new Error(`no partition ${partition}`);
    return actor;
  }
}
