/**
 * What all random runs have in common: processes that contend for the same partitions, and whatever can go wrong; then calm, in which all
 * must come right; then the checks.
 */
import { Nemesis, type NodeFault } from './nemesis.ts';
import { check, Violation } from './oracle.ts';
import { Prng } from './prng.ts';
import { SimBroker, type LogFault } from './sim-log.ts';
import type { SimCluster } from './sim-cluster.ts';
import type { SimServer } from './sim-server.ts';
import { World } from './world.ts';
import type { PartitionStatus } from '../../src/actors/ownership/partition-owner.ts';

/** Drawn from the seed and printed with a failure. */
export type SimPlan = {
  readonly seed: number;
  readonly exclusive: boolean;
  readonly faultMs: number;
  readonly nemesisMs: number;
  readonly rates: Readonly<Partial<Record<LogFault, number>>>;
  readonly nodeFaults: readonly NodeFault[];
  readonly timeoutMs: number;
  readonly delayMsMax: number;
  /** Processes die there, one death after the other; absent: by chance alone. */
  readonly deaths?: readonly Death[];
};

/** `nth` of those that are called so (`any`: of all), from 1, since the death before. */
export type Death = { readonly point: string; readonly nth: number };

export type SimOutcome = {
  readonly plan: SimPlan;
  readonly traceHash: string;
  readonly steps: number;
  readonly answered: number;
  readonly failed: number;
  readonly injected: ReadonlyMap<string, number>;
  readonly reached: ReadonlySet<string>;
  readonly points: ReadonlyMap<string, number>;
  readonly violation: Violation | undefined;
  readonly lastTrace: readonly string[];
};

export const CALM_MS_MAX = 60_000;
const DEAD_MS = 30;
/** Before all that happens at that time. */
const FIRST = -2;

/** No run loses what was acknowledged. */
const falseAlarms = ['have vanished', 'stored tasks are missing', 'a task queue met an error'];

export abstract class SimRun<Plan extends SimPlan, Server extends SimServer, Cluster extends SimCluster<Server>> {
  protected readonly plan: Plan;
  protected readonly world: World;
  protected readonly broker: SimBroker;
  protected readonly cluster: Cluster;
  protected readonly nemesis: Nemesis;
  protected readonly reached = new Set<string>();
  /** How often each was come by. */
  protected readonly points = new Map<string, number>();
  /** How many of the plan's deaths it has died. */
  protected deathsMet = 0;
  /** Of the next death: how many of its points. */
  #met = 0;
  #violation: Violation | undefined;

  /** `stream`: of random numbers, another one for each kind of run; drawing the plan in another way would not change the run. */
  constructor(plan: Plan, stream: number, clusterOf: (world: World, broker: SimBroker) => Cluster) {
    this.plan = plan;
    this.world = new World(new Prng(plan.seed * 2 ** 20 + stream));
    const { rates, timeoutMs, delayMsMax, exclusive } = plan;
    this.broker = new SimBroker(this.world, { rates: { ...rates }, timeoutMs, delayMsMax, lateMsMax: 800 }, exclusive);
    this.cluster = clusterOf(this.world, this.broker);
    const { servers, disk, partitionIds } = this.cluster;
    this.nemesis = new Nemesis({ world: this.world, broker: this.broker, disk, servers, partitions: partitionIds, plan });
    const deaths = [...(plan.deaths ?? [])];
    for (const server of servers) server.node.diesAt = (point) => this.#diesAt(server, point, deaths);
    this.cluster.said = (message) => this.#said(message);
    this.cluster.onStatus = (server, partition, status) => this.#status(server, partition, status);
  }

  /** Faults, calm and checks. Throws a Violation. */
  protected abstract story(): Promise<void>;
  protected abstract readonly answered: number;
  protected abstract readonly failed: number;
  /** Beside what every run makes of it. */
  protected statusChanged(_server: Server, _partition: number, _status: PartitionStatus): void {}

  async run(): Promise<SimOutcome & { readonly plan: Plan }> {
    try {
      await this.story();
    } catch (error) {
      const text = (): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
      this.broken(error instanceof Violation ? error : new Violation('I17 crash', text()));
    }
    return {
      plan: this.plan,
      traceHash: this.world.traceHash,
      steps: this.world.steps,
      answered: this.answered,
      failed: this.failed,
      injected: new Map([...this.broker.injected, ...this.nemesis.counts, ...(this.cluster.disk?.injected ?? [])]),
      reached: this.reached,
      points: this.points,
      violation: this.#violation,
      lastTrace: this.world.lastTrace,
    };
  }

  protected get isBroken(): boolean {
    return this.#violation !== undefined;
  }

  protected broken(violation: Violation): void {
    this.#violation ??= violation;
  }

  /** Of what is looked at while others go on. */
  protected watched(look: () => void): void {
    try {
      look();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.broken(error);
    }
  }

  /** It dies before anything else happens, and comes back a little later. */
  #diesAt(server: Server, point: string, deaths: Death[]): boolean {
    this.points.set(point, (this.points.get(point) ?? 0) + 1);
    const [next] = deaths;
    if (next === undefined || !server.node.up || (next.point !== point && next.point !== 'any')) return false;
    this.#met += 1;
    if (this.#met < next.nth) return false;
    deaths.shift();
    this.#met = 0;
    this.deathsMet += 1;
    this.reached.add(`died at ${point}`);
    this.world.at(
      0,
      () => {
        server.crash();
        this.world.at(DEAD_MS, () => this.nemesis.restart(server));
      },
      FIRST,
    );
    return true;
  }

  #said(message: string): void {
    this.reached.add(message);
    if (falseAlarms.some((alarm) => message.includes(alarm))) this.broken(new Violation('I18 false alarm', message));
  }

  #status(server: Server, partition: number, status: PartitionStatus): void {
    const { state, reason, rival } = status;
    this.reached.add(state);
    if (state === 'failed') this.broken(new Violation('I17 failed without cause', `${server.node.name}/${partition}: ${reason}`));
    this.statusChanged(server, partition, status);
    if (rival === undefined || state !== 'unassigned') return;
    this.reached.add('fenced');
    this.nemesis.wasFenced(server, partition);
  }

  // ── Faults, then calm ──────────────────────────────────────────────────────────────────────────────────────────────────────

  protected beginFaults(clients: () => void): void {
    for (const server of this.cluster.servers) this.nemesis.takeOver(server, this.world.random.int(0, 300));
    clients();
    this.nemesis.strikeServers();
    this.nemesis.strikeDatabase();
  }

  protected async faultsPass(): Promise<void> {
    await this.world.run(this.plan.faultMs, () => this.isBroken);
  }

  /** False: it is not done. A run that is broken waits for nothing. */
  protected async until(waitMs: number, done: () => boolean): Promise<boolean> {
    return await this.world.run(this.world.nowMs + waitMs, () => this.isBroken || done());
  }

  /** It must be done within the calm. */
  protected async comesTrue(invariant: string, done: () => boolean, what: () => string, waitMs = CALM_MS_MAX): Promise<void> {
    const isDone = await this.until(waitMs, done);
    check(isDone || this.isBroken, invariant, what);
  }

  /** Has one owner, which serves. undefined: the run is broken. */
  protected async isServed(partition: number): Promise<Server | undefined> {
    if (this.isBroken) return undefined;
    const { servers } = this.cluster;
    const owners = this.cluster.owners(partition);
    check(owners.length <= 1, 'I10 two owners in calm', () => owners.map((owner) => owner.node.name).join(', '));
    const owner = owners[0] ?? servers.find((server) => server.state(partition) !== 'failed') ?? servers[0]!;
    if (owners.length === 0) owner.start(partition);
    // Or another, whose takeover was under way, and which knows it by now.
    await this.comesTrue(
      'I7 no owner',
      () => this.cluster.owners(partition).length === 1,
      () => `${owner.node.name}/${partition} is ${owner.state(partition)} in calm`,
    );
    return this.isBroken ? undefined : this.cluster.owners(partition)[0];
  }

  /** All is killed once more: what comes back is what was there. */
  protected async comesBack(): Promise<void> {
    if (this.isBroken) return;
    const [survivor, ...others] = this.cluster.servers;
    for (const server of this.cluster.servers) server.crash();
    for (const server of others) server.node.up = false;
    survivor!.restart();
    for (const partition of this.cluster.partitionIds.keys()) {
      survivor!.start(partition);
      await this.comesTrue(
        'I7 no owner',
        () => survivor!.state(partition) === 'active',
        () => `${survivor!.state(partition)} after the last restart`,
      );
    }
  }
}
