/**
 * One seed of matching hosts: history and workers, one to three processes that contend for the same partitions, a log and a database that
 * misbehave, checkpoints of a few records; then calm, in which every task must be delivered; then the checks, and a backlog that is given out
 * in its order by hosts that were made of rows.
 */
import type { JournalId } from '../../../src/projections/database-port.ts';
import type { PartitionStatus } from '../../../src/actors/ownership/partition-owner.ts';
import { taskIdentity } from '../../../src/matching/matching-tasks.ts';
import { forbidGlobals } from '../forbid-globals.ts';
import { check, Violation } from '../oracle.ts';
import { Prng } from '../prng.ts';
import { planWithDatabase, type Plan } from '../run-seed.ts';
import { SimRun, type SimOutcome, type SimPlan } from '../sim-run.ts';
import { journalOf, MatchingCluster, type MatchingClusterOptions, type MatchingServer } from './cluster.ts';
import { HistoryModel } from './history.ts';
import { MatchingLoad, type LoadPlan } from './load.ts';
import { checkMemory, checkRows, MatchingJournal } from './oracle.ts';

export type MatchingPlan = SimPlan &
  Pick<Plan, 'clients'> &
  MatchingClusterOptions &
  LoadPlan & { readonly workers: number; readonly historyFaultShare: number };

export type MatchingOutcome = SimOutcome & { readonly plan: MatchingPlan; readonly checkpoints: number };

/** Of the checkpoints of a run so many are compared with the journal at once; later ones now and then, and the last. */
const CHECKED_AT_FIRST = 30;
const CHECKED_ONE_IN = 5;
/** Of the journal, where backups are restored: they are younger. */
const BACKUP_RETENTION_MS = 60_000;
/** Of each queue, given out in order at the end. */
const IN_ORDER = 7;

/** As for ledgers, with what matching hosts need beside that. */
export function matchingPlanOf(seed: number): MatchingPlan {
  const base = planWithDatabase(seed);
  const random = new Prng(seed * 2 ** 20 + 5);
  const backups = random.chance(0.3);
  return {
    ...base,
    clients: random.int(1, 3),
    workers: random.pick([0, 1, 2, 4]),
    matchingPartitions: random.pick([1, 1, 2]),
    queueNames: random.pick([1, 2, 3]),
    queuePartitions: random.pick([1, 1, 3]),
    expiringShare: random.pick([0, 0, 0.2]),
    historyFaultShare: random.pick([0, 0.05, 0.3]),
    recordsMax: random.pick([1, 5, 20, 50]),
    journalRetentionMs: backups ? BACKUP_RETENTION_MS : [0, 0, 500, undefined][random.int(0, 3)],
    limits: random.pick([tinyWindows(1), tinyWindows(2), tinyWindows(5), {}]),
    ...(base.database === undefined ? {} : { database: { ...base.database, backups } }),
  };
}

/** So small that most of a backlog is rows alone. */
function tinyWindows(tasks: number): MatchingPlan['limits'] {
  return {
    windowTasksPerLaneMax: tasks,
    windowTasksPerHostMax: tasks * 2,
    windowTasksPerLaneMin: 1,
    // More than are offered at the parent.
    heldTasksPerQueueMax: 12,
    shedTasksPerTurnMax: 3,
    storedTasksPerTurnMax: tasks,
  };
}

/** Half of the tasks or all of them have priorities and fairness keys: each lane has a window and rows of its own. */
export function keyedPlan(seed: number): MatchingPlan {
  const random = new Prng(seed * 2 ** 20 + 12);
  return { ...matchingPlanOf(seed), keyedShare: random.pick([0.5, 1]) };
}

export function matchingPlanWithoutDatabase(seed: number): MatchingPlan {
  const { database: _none, ...plan } = matchingPlanOf(seed);
  return plan;
}

export async function runMatchingSeed(seed: number, planOf = matchingPlanOf): Promise<MatchingOutcome> {
  const restore = forbidGlobals();
  try {
    const run = new MatchingRun(planOf(seed));
    return { ...(await run.run()), checkpoints: run.checkpoints };
  } finally {
    restore();
  }
}

class MatchingRun extends SimRun<MatchingPlan, MatchingServer, MatchingCluster> {
  readonly #history: HistoryModel;
  readonly #load: MatchingLoad;
  readonly #journals: readonly MatchingJournal[];
  /** Servers whose memory of a partition was folded, and has not served yet: by name. */
  readonly #folded = new Set<string>();
  /** What the present memory of each partition of each server may offer: what it found, and what it was given since. */
  readonly #known = new Map<string, Set<string>>();
  /** Starts that were asked for, by queue, once that is of interest. */
  #startsOf: Map<string, string[]> | undefined;
  checkpoints = 0;

  constructor(plan: MatchingPlan) {
    super(plan, 6, (world, broker) => new MatchingCluster(world, broker, new HistoryModel(world), plan));
    this.#history = this.cluster.history;
    this.#load = new MatchingLoad(this.cluster, plan);
    this.#load.onBug = (violation) => this.broken(violation);
    this.#journals = this.cluster.partitionIds.map((id) => new MatchingJournal(this.broker.records(id)));
    this.cluster.onAdd = ({ server, partition }, task) => this.#knownTo(server, partition).add(taskIdentity(task));
    this.cluster.onStart = ({ server, partition }, { key, stamp, scheduledEventId }) => {
      const identity = `${key.runId}/${scheduledEventId}/${stamp}/${key.workflowId}`;
      this.#startAsked(server, partition, key.workflowId, identity);
    };
    const { disk } = this.cluster;
    if (disk !== undefined) disk.onWritten = (id) => this.#written(id);
  }

  protected async story(): Promise<void> {
    this.#history.faultShare = this.plan.historyFaultShare;
    this.beginFaults(() => {
      for (let client = 0; client < this.plan.clients; client++) this.#load.client();
      for (let worker = 0; worker < this.plan.workers; worker++) this.#load.worker();
    });
    await this.faultsPass();
    await this.#calm();
    this.#check();
    await this.#givesOutInOrder();
  }

  protected get answered(): number {
    return this.#load.answered;
  }

  protected get failed(): number {
    return this.#load.failed;
  }

  // ── What is watched while it runs ──────────────────────────────────────────────────────────────────────────────────────────

  protected override statusChanged(server: MatchingServer, partition: number, { state, offset }: PartitionStatus): void {
    const name = `${server.node.name}/${partition}`;
    if (state === 'replaying') this.#folded.add(name);
    if (state !== 'active' || !this.#folded.delete(name)) return;
    this.watched(() => this.#compareMemory(server, partition, offset - 1));
    this.#known.set(name, new Set(this.#journals[partition]!.identities(offset - 1)));
  }

  #compareMemory(server: MatchingServer, partition: number, lastOffset: number): void {
    const memory = server.hosts[partition]?.actor.memory;
    if (memory === undefined) return;
    const tables = this.cluster.disk?.tables.journal(journalOf(partition));
    const { storedTasks, tasksInMemory } = memory.matching.counts();
    if (storedTasks > tasksInMemory) this.reached.add('tasks are rows alone');
    checkMemory(`${server.node.name}/${partition}`, memory, tables, this.#journals[partition]!, lastOffset);
  }

  #knownTo({ node }: MatchingServer, partition: number): Set<string> {
    const name = `${node.name}/${partition}`;
    const known = this.#known.get(name) ?? new Set<string>();
    this.#known.set(name, known);
    return known;
  }

  /** I5: what the journal said was over when a memory was made is offered to nobody by it. */
  #startAsked(server: MatchingServer, partition: number, name: string, identity: string): void {
    const mayBeOffered = this.#knownTo(server, partition).has(identity);
    if (!mayBeOffered) this.broken(new Violation('I5 given out again', `${identity} by ${server.node.name}/${partition}`));
    const { queue } = this.#history.tasks.get(name)!;
    this.#startsOf?.get(queue.name)?.push(name);
  }

  async #written(id: JournalId): Promise<void> {
    this.checkpoints += 1;
    if (this.checkpoints <= CHECKED_AT_FIRST || this.checkpoints % CHECKED_ONE_IN === 0) this.watched(() => this.#checkRows(id));
  }

  #checkRows(id: JournalId): void {
    const { disk } = this.cluster;
    if (disk === undefined || this.isBroken) return;
    try {
      checkRows(disk.tables, id, this.#journals[id.partition]!);
    } catch (error) {
      throw error instanceof Violation ? error : new Violation('T12 rows cannot be read', String(error));
    }
  }

  // ── Calm, and checks ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async #calm(): Promise<void> {
    this.nemesis.calm();
    this.#load.calm();
    this.#history.faultShare = 0;
    // Takeovers that had begun end, late batches land, idle owners look at the log.
    await this.until(15_000, () => false);
    for (const { partition } of this.cluster.partitionIds) await this.isServed(partition);
    const stopWorking = this.#workInCalm();
    await this.comesTrue(
      'I7 stuck',
      () => !this.#load.isBusy && this.#history.open.length === 0 && this.#stored === 0,
      () =>
        `${JSON.stringify(this.#history.open)} are not delivered, ${this.#stored} are stored${this.#load.isBusy ? ', and somebody waits' : ''}`,
    );
    stopWorking();
    await this.#isWritten();
  }

  /** Polls at each queue's partitions in turn, with pauses in which nobody waits. */
  #workInCalm(): () => void {
    const { queues } = this.#load;
    let isOver = false;
    const round = (at: number): void => {
      if (isOver || this.isBroken) return;
      const queue = queues[at % queues.length]!;
      this.#load.poll(queue, 60, () => void this.world.at(1, () => round(at + 1)));
    };
    const begin = (): void => {
      if (!isOver) round(0);
    };
    begin();
    return () => (isOver = true);
  }

  get #stored(): number {
    return this.#journals.reduce((sum, journal) => sum + journal.folded().byId.size, 0);
  }

  async #isWritten(): Promise<void> {
    const { disk } = this.cluster;
    if (disk === undefined) return;
    const position = (partition: number): number => disk.tables.journal(journalOf(partition)).position?.lastOffset ?? -1;
    const isWritten = (): boolean => this.#journals.every(({ lastOffset }, partition) => position(partition) >= lastOffset);
    const ends = (): string => this.#journals.map(({ lastOffset }, partition) => `${position(partition)} of ${lastOffset}`).join();
    await this.comesTrue('I7 never written', isWritten, ends, 10_000);
  }

  #check(): void {
    if (this.isBroken) return;
    for (const { partition } of this.cluster.partitionIds) {
      const [owner] = this.cluster.owners(partition);
      if (owner !== undefined) this.#compareMemory(owner, partition, Infinity);
      this.#checkRows(journalOf(partition));
    }
    this.world.trace(`${this.#history.tasks.size} tasks, ${this.#history.delivered} delivered`);
  }

  /** A backlog that nobody polled for; all is killed; each queue gives it out in the order in which it came. */
  async #givesOutInOrder(): Promise<void> {
    if (this.isBroken) return;
    const deathsBefore = this.deathsMet;
    const roots = this.#load.queues.filter(({ partition }) => partition === 0);
    for (const queue of roots) await this.#load.addInOrder(queue, IN_ORDER);
    await this.#isWritten();
    await this.comesBack();
    if (this.isBroken) return;
    const wanted = roots.map((queue) => [queue.name, this.#journals.flatMap((journal) => journal.namesIn(queue))] as const);
    const starts = new Map<string, string[]>(roots.map(({ name }) => [name, []]));
    this.#startsOf = starts;
    const stopWorking = this.#workInCalm();
    await this.comesTrue(
      'I7 stuck',
      () => !this.#load.isBusy && this.#history.open.length === 0,
      () => `${JSON.stringify(this.#history.open)} are not delivered after the last restart`,
    );
    stopWorking();
    // Who dies on the way is given again, and gives out again, what is not known to have come.
    const once = (names: readonly string[]): readonly string[] => (this.deathsMet > deathsBefore ? [...new Set(names)] : names);
    for (const [name, all] of wanted) {
      const stored = once(all);
      check(stored.length === IN_ORDER, 'I7 not stored', () => `${stored.join()} of ${name}`);
      const given = once(starts.get(name) ?? []);
      check(given.join() === stored.join(), 'I13 out of order', () => `${name} gave out ${given.join()}, and had ${stored.join()}`);
    }
  }
}
