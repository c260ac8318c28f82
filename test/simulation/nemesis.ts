/** Whatever goes wrong with processes, the broker and the database, at random moments; and at the end all of it heals. */
import type { PartitionId } from '../../src/ports/log.ts';
import type { SimDisk } from './sim-database.ts';
import type { LogFault, SimBroker } from './sim-log.ts';
import type { SimActor, SimServer } from './sim-server.ts';
import type { World } from './world.ts';

export const nodeFaults = ['pause', 'crash', 'takeover', 'brokerDown', 'clockJump', 'drain', 'reconnect', 'stranger', 'claimAnew'] as const;
export type NodeFault = (typeof nodeFaults)[number];

export type NemesisOptions = {
  readonly world: World;
  readonly broker: SimBroker;
  /** Absent: there is no database. */
  readonly disk: SimDisk | undefined;
  readonly servers: readonly SimServer[];
  readonly partitions: readonly PartitionId[];
  readonly plan: { readonly nemesisMs: number; readonly nodeFaults: readonly NodeFault[] };
};

export class Nemesis {
  readonly #options: NemesisOptions;
  readonly #world: World;
  readonly counts = new Map<string, number>();
  #faulty = true;

  constructor(options: NemesisOptions) {
    this.#options = options;
    this.#world = options.world;
  }

  /** Until calm. */
  get faulty(): boolean {
    return this.#faulty;
  }

  strikeServers(): void {
    const { random } = this.#world;
    const { plan, servers } = this.#options;
    this.#world.at(random.int(1, plan.nemesisMs * 2), () => {
      if (!this.#faulty) return;
      if (plan.nodeFaults.length > 0) this.#strike(random.pick(plan.nodeFaults), random.pick(servers));
      this.strikeServers();
    });
  }

  /** It is away for a while; or the broker has forgotten how far it was trimmed; or a backup of it is put in its place. */
  strikeDatabase(): void {
    const { disk, partitions, broker, plan } = this.#options;
    if (disk === undefined) return;
    const { random } = this.#world;
    this.#world.at(random.int(1, plan.nemesisMs * 3), () => {
      if (!this.#faulty) return;
      if (disk.takesBackups && random.chance(0.3)) this.#backUp(disk);
      else if (random.chance(0.5)) {
        disk.downUntilMs = this.#world.nowMs + random.int(10, 400);
        disk.count('databaseDown');
      } else {
        const id = random.pick(partitions);
        const start = broker.start(id);
        if (start > 0) disk.count('trimUndone');
        broker.startAt(id, random.int(0, start));
      }
      this.strikeDatabase();
    });
  }

  takeOver(server: SimServer, delayMs: number): void {
    for (const actor of this.#options.partitions.keys()) server.node.at(delayMs, () => server.start(actor));
  }

  /** A fenced process would exit; here a new one takes the partition over later, so that they go on contending. */
  wasFenced(server: SimServer, partition: number): void {
    if (!this.#faulty || !this.#world.random.chance(0.7)) return;
    server.node.at(this.#world.random.int(20, 800), () => {
      if (this.#faulty) server.start(partition);
    });
  }

  /** Everything heals, and all processes run. */
  calm(): void {
    const { broker, disk, servers } = this.#options;
    this.#faulty = false;
    for (const fault of Object.keys(broker.faults.rates)) delete broker.faults.rates[fault as LogFault];
    broker.downUntilMs = 0;
    disk?.heal();
    for (const server of servers) {
      server.node.resume();
      if (!server.node.up) this.restart(server);
    }
    this.#world.trace('calm');
  }

  #backUp(disk: SimDisk): void {
    const { partitions, broker } = this.#options;
    if (this.#world.random.chance(0.6)) return disk.backUp();
    disk.restoreBackup((journal, lastOffset) => broker.start(partitions[journal]!) <= lastOffset);
  }

  #strike(fault: NodeFault, server: SimServer): void {
    const { random } = this.#world;
    const { broker } = this.#options;
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
    switch (fault) {
      case 'pause':
        server.node.pause();
        this.#world.at(random.int(20, 1_200), () => server.node.resume());
        return;
      case 'crash':
        if (!server.node.up) return;
        server.crash();
        this.#world.at(random.int(1, 400), () => this.restart(server));
        return;
      case 'takeover':
        return this.takeOver(server, 0);
      case 'brokerDown':
        broker.downUntilMs = this.#world.nowMs + random.int(10, 250);
        return;
      case 'drain':
        for (const actor of server.node.up ? server.actors : []) void this.#drain(server, actor);
        return;
      case 'reconnect':
        if (server.node.up && !server.node.paused) server.reconnect();
        return;
      case 'stranger':
        return this.#writeAsStranger();
      case 'claimAnew':
        for (const actor of server.node.up && !server.node.paused ? server.actors : []) actor.claimAnew(() => {});
        return;
      case 'clockJump':
        server.node.wallOffsetMs = random.int(-5_000, 5_000);
        return;
    }
  }

  /** Somebody who is not Perdure writes into a journal: what no reader may take for a record or a claim. */
  #writeAsStranger(): void {
    const { random } = this.#world;
    const id = random.pick(this.#options.partitions);
    const epoch = random.pick([0, 0, 1, 2, 3, 20, 2_000_000, 2 ** 53 - 1]);
    const key = random.pick(['@claim', 'theirs']);
    const record = { key, schema: 0, type: '', namespace: '', workflowId: 'theirs', runId: '', timeMs: 0, value: new Uint8Array([123]) };
    // A stamp that could be the owner's next is forgery, and no slip.
    const stamp = key === '@claim' ? { epoch, sequence: 0 } : { epoch: epoch > 1_000_000 ? epoch : 0, sequence: random.int(0, 9) };
    this.#options.broker.append(id, [{ ...record, ...stamp }], 'a stranger');
  }

  /** Lets go as a clean shutdown does, then takes over again. */
  async #drain(server: SimServer, actor: SimActor): Promise<void> {
    if (server.node.paused || actor.status().state !== 'active') return;
    await actor.drain();
    this.takeOver(server, this.#world.random.int(0, 200));
  }

  restart(server: SimServer): void {
    if (server.node.up) return;
    server.restart();
    this.takeOver(server, this.#world.random.int(0, 100));
  }
}
