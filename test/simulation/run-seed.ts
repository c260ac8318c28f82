/**
 * One seed: clients, two or three owners that contend for the same partitions, and whatever can go wrong; then calm, in which all must
 * come right; then the checks.
 */
import { Cluster, partitionId } from './cluster.ts';
import { forbidGlobals } from './forbid-globals.ts';
import { nodeFaults } from './nemesis.ts';
import { check, checkJournal, checkMemory, checkObservations, checkRefusals, checkRows, entriesThatCount, type Tries } from './oracle.ts';
import { Prng } from './prng.ts';
import { databaseFates, type DatabasePlan } from './sim-database.ts';
import { appendFates, readFaults } from './sim-log.ts';
import { SimRun, type SimOutcome, type SimPlan } from './sim-run.ts';
import { ledgerJournal } from '../actors/ledger-checkpoints.ts';
import type { LedgerCommand } from '../actors/ledger.ts';
import type { Answer, Server } from './cluster.ts';
import type { LogFault } from './sim-log.ts';

export type Plan = SimPlan & {
  readonly servers: number;
  readonly partitions: number;
  readonly clients: number;
  readonly readShare: number;
  readonly coldShare: number;
  /** Answers, effects and commits that leave a server in a turn; undefined: as many as in a real one. */
  readonly releasesMax: number | undefined;
  readonly cancelShare: number;
  /** Absent: there is none, and every takeover folds the journal from its start. */
  readonly database?: DatabasePlan;
};

export type Outcome = SimOutcome & { readonly plan: Plan };

const failures: ReadonlySet<Answer['kind']> = new Set(['unavailable', 'notHere', 'deadline', 'busy']);
const CALM_MS_MAX = 20_000;
/** Longer than any run. */
const WAIT_TIMEOUT_MS = 3_600_000;

export function planOf(seed: number): Plan {
  const random = new Prng(seed);
  const servers = random.pick([1, 2, 2, 2, 3, 3]);
  const exclusive = servers === 1 && random.chance(0.5);
  const possible = exclusive ? (['replyLost', 'dropped', 'refused', 'readFails', 'readLags'] as const) : [...appendFates, ...readFaults];
  const rates: Partial<Record<LogFault, number>> = {};
  const often = random.pick([0.02, 0.05, 0.1, 0.25]);
  for (const fault of random.subset<LogFault>(possible, 0.5)) rates[fault] = often * (0.5 + random.fraction());
  const lifeFaults = random.subset(nodeFaults, 0.6).filter((fault) => !exclusive || ['crash', 'clockJump', 'drain'].includes(fault));
  return {
    seed,
    servers,
    partitions: random.pick([1, 1, 2]),
    clients: random.int(1, 5),
    exclusive,
    faultMs: random.int(500, 3_000),
    nemesisMs: random.int(40, 400),
    rates,
    nodeFaults: lifeFaults,
    readShare: random.pick([0.1, 0.3, 0.6]),
    timeoutMs: random.int(30, 120),
    delayMsMax: random.pick([2, 5, 20]),
    coldShare: random.pick([0, 0, 0.05, 0.3]),
    cancelShare: random.pick([0, 0, 0.1]),
    releasesMax: seed % 3 === 0 ? 2 : undefined,
  };
}

/** The same, with a database: what is drawn for it comes from a stream of its own. */
export function planWithDatabase(seed: number): Plan {
  const random = new Prng(seed * 2 ** 20 + 2);
  const rates: DatabasePlan['rates'] = {};
  const often = random.pick([0.02, 0.1, 0.3]);
  for (const fate of random.subset(databaseFates, 0.6)) rates[fate] = often * (0.5 + random.fraction());
  const database = {
    rates,
    writeMsMax: random.pick([10, 60, 300]),
    trimShare: random.pick([0, 0.5, 1]),
    delayMsMax: random.pick([2, 10, 40]),
    lateMsMax: random.pick([50, 800]),
  };
  return { ...planOf(seed), database };
}

export async function runSeed(seed: number, plan: (seed: number) => Plan = planOf): Promise<Outcome> {
  const restore = forbidGlobals();
  try {
    return await new Run(plan(seed)).run();
  } finally {
    restore();
  }
}

class Run extends SimRun<Plan, Server, Cluster> {
  #lastId = 0;
  #busyClients = 0;
  protected answered = 0;
  protected failed = 0;
  #openWaits = 0;

  constructor(plan: Plan) {
    super(plan, 1, (world, broker) => new Cluster(world, broker, plan));
  }

  protected async story(): Promise<void> {
    this.beginFaults(() => {
      for (let client = 0; client < this.plan.clients; client++) this.#think();
    });
    this.#project();
    await this.faultsPass();
    await this.#calm();
    this.#check();
  }

  /** Two projectors of one table, each slow in its own way. */
  #project(): void {
    const { random } = this.world;
    this.world.at(random.int(20, 300), () => {
      const write = random.pick(this.cluster.projections).read(random.int(1, 40));
      this.world.at(random.int(1, 400), write);
      if (this.nemesis.faulty) this.#project();
    });
  }

  // ── Clients ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #think(): void {
    this.world.at(this.world.random.int(1, 40), () => {
      if (!this.nemesis.faulty) return;
      this.#busyClients += 1;
      const partition = this.world.random.int(0, this.cluster.partitions - 1);
      this.#attempt(partition, this.#command(), this.cluster.choose(partition, 0.8), 1);
    });
  }

  #command(): LedgerCommand {
    const { random } = this.world;
    if (random.chance(this.plan.readShare)) return { kind: random.pick(['read', 'read', 'refuse', 'await']) };
    if (random.chance(0.02)) return { kind: random.pick(['throw', 'unwritable']) };
    this.#lastId += 1;
    // More than `simLimits.recordBytesMax` now and then: refused, and whoever waits goes on waiting.
    const size = random.chance(0.04) ? 5_000 : random.pick([0, 0, 0, 1_500]);
    return { kind: 'add', id: `e${this.#lastId}`, size };
  }

  /** Tries until it is answered; the id makes trying again safe. Gives up reads early, additions late: then the outcome is open. */
  #attempt(partition: number, command: LedgerCommand, server: Server, attempt: number): void {
    const { random } = this.world;
    let over = false;
    const next = (answer: Answer | undefined): void => {
      if (over) return;
      over = true;
      if (patience !== undefined) patience.canceled = true;
      if (command.kind === 'await') this.#openWaits -= 1;
      const failed = answer === undefined || failures.has(answer.kind);
      if (failed) this.failed += 1;
      else this.answered += 1;
      const again = failed && command.kind !== 'await' && (attempt < 8 || !this.nemesis.faulty);
      if (!again) {
        this.#busyClients -= 1;
        if (this.nemesis.faulty) this.#think();
        return;
      }
      this.world.at(random.int(1, 60), () => this.#attempt(partition, command, this.cluster.choose(partition, 0.8), attempt + 1));
    };
    // No run lasts until the deadline of a wait: it must be answered or fail, also when its owner was fenced and nobody speaks to it any more.
    const waits = command.kind === 'await';
    if (waits) this.#openWaits += 1;
    const patience = waits ? undefined : this.world.at(random.int(100, 600), () => next(undefined));
    const cancelAfterMs = random.chance(this.plan.cancelShare) ? random.int(1, 100) : Infinity;
    this.cluster.ask(server, partition, command, waits ? WAIT_TIMEOUT_MS : 500, next, cancelAfterMs);
  }

  // ── Calm: everything heals, all must come right ────────────────────────────────────────────────────────────────────────────

  async #calm(): Promise<void> {
    this.nemesis.calm();
    this.cluster.loadsFail = false;
    // Takeovers that had begun end, late batches land, idle owners look at the log.
    await this.until(this.cluster.disk === undefined ? 2_500 : 15_000, () => false);
    for (let partition = 0; partition < this.cluster.partitions; partition++) await this.#comesRight(partition);
    await this.comesTrue(
      'I7 stuck',
      () => this.#busyClients === 0 && this.#openWaits === 0,
      () => `${this.#busyClients} clients still wait in calm`,
    );
  }

  async #comesRight(partition: number): Promise<void> {
    const owner = await this.isServed(partition);
    if (owner === undefined) return;
    const answers: Answer[] = [];
    this.cluster.ask(owner, partition, { kind: 'add', id: `last-${partition}` }, CALM_MS_MAX, (answer) => answers.push(answer));
    this.cluster.ask(owner, partition, { kind: 'read' }, CALM_MS_MAX, (answer) => answers.push(answer));
    await this.until(CALM_MS_MAX, () => answers.length === 2);
    const kinds = answers.map((answer) => answer.kind).toSorted();
    check(kinds.join() === 'added,entries', 'I7 no service', () => `in calm the answers were ${kinds.join() || 'none'}`);
  }

  // ── Checks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #check(): void {
    if (this.isBroken) return;
    const { cluster } = this;
    for (let partition = 0; partition < cluster.partitions; partition++) {
      const records = this.broker.records(partitionId(partition));
      const entries = entriesThatCount(records);
      checkJournal(entries);
      for (const memory of cluster.memories[partition] ?? []) checkMemory(memory, entries);
      if (cluster.disk !== undefined) checkRows(cluster.disk.tables.journal(ledgerJournal(partition)), entries);
      checkObservations(cluster.observations[partition] ?? [], entries, cluster.firstInvoked[partition] ?? new Map<string, number>());
      checkRefusals(cluster.tries[partition] ?? new Map<string, Tries>(), entries);
      const [owner] = cluster.owners(partition);
      const projection = cluster.projections[partition];
      projection?.read(Infinity)();
      const projected = projection?.rows.join();
      check(projected === entries.map(({ id }) => id).join(), 'I12 projection differs', () => `of ${partition}: ${projected}`);
      if ((projection?.refused ?? 0) > 0) this.reached.add('a projector was refused');
      const live = owner?.core(partition).entries.join();
      check(
        live === entries.map(({ id }) => id).join(),
        'I3 replay differs from live',
        () => `${owner?.node.name}/${partition} has ${live}`,
      );
      this.world.trace(`journal ${partition}: ${entries.length} of ${records.length}`);
    }
  }
}
