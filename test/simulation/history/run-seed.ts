/**
 * One seed of history shards: clients and workers, one to three processes that contend for the same shards, a log and a database that
 * misbehave, checkpoints of a few records; then calm, in which every workflow must end; then the checks.
 */
import { forbidGlobals } from '../forbid-globals.ts';
import { Nemesis } from '../nemesis.ts';
import { check, Violation } from '../oracle.ts';
import { Prng } from '../prng.ts';
import { planWithDatabase, type Plan } from '../run-seed.ts';
import { SimBroker } from '../sim-log.ts';
import type { SimDisk } from '../sim-database.ts';
import { World } from '../world.ts';
import { HistoryCluster, historyPartition, type HistoryClusterOptions, type HistoryServer } from './cluster.ts';
import { Load } from './load.ts';
import { checkListed, checkMemory, checkNotAhead, checkRows, checkTold, Journal, type RunInJournal } from './oracle.ts';
import { journalOf } from '../../../src/actors/history/history-memory.ts';
import type { PartitionStatus } from '../../../src/actors/ownership/partition-owner.ts';
import type { JournalId } from '../../../src/actors/database.ts';

export type HistoryPlan = Pick<Plan, 'seed' | 'clients' | 'exclusive' | 'faultMs' | 'nemesisMs' | 'rates' | 'nodeFaults' | 'timeoutMs'> &
  Pick<Plan, 'delayMsMax'> &
  HistoryClusterOptions;

export type HistoryOutcome = {
  readonly plan: HistoryPlan;
  readonly traceHash: string;
  readonly steps: number;
  readonly told: number;
  readonly unanswered: number;
  readonly checkpoints: number;
  readonly injected: ReadonlyMap<string, number>;
  readonly reached: ReadonlySet<string>;
  readonly violation: Violation | undefined;
  readonly lastTrace: readonly string[];
};

const CALM_MS_MAX = 60_000;
/** Of the checkpoints of a run so many are compared with the journal at once; later ones now and then, and the last. */
const CHECKED_AT_FIRST = 12;
const CHECKED_ONE_IN = 8;
const CHECKED_FLUSH_IN = 2;
/** Of the journal, where backups are restored: they are younger. */
const BACKUP_RETENTION_MS = 60_000;

/** As for ledgers, with what history shards need beside that. */
export function historyPlanOf(seed: number): HistoryPlan {
  const base = planWithDatabase(seed);
  const random = new Prng(seed * 2 ** 20 + 3);
  const backups = random.chance(0.3);
  return {
    ...base,
    clients: random.int(1, 3),
    shards: random.pick([1, 1, 2]),
    cacheBytesMax: random.pick([0, 3_000, 1_000_000]),
    retentionMs: random.pick([300, 2_000, 60_000]),
    recordsMax: random.pick([1, 5, 20, 50]),
    journalRetentionMs: backups ? BACKUP_RETENTION_MS : [0, 0, 500, undefined][random.int(0, 3)],
    ...(base.database === undefined ? {} : { database: { ...base.database, backups } }),
  };
}

export function historyPlanWithoutDatabase(seed: number): HistoryPlan {
  const { database: _none, ...plan } = historyPlanOf(seed);
  return plan;
}

export async function runHistorySeed(seed: number, planOf = historyPlanOf): Promise<HistoryOutcome> {
  const restore = forbidGlobals();
  try {
    return await new HistoryRun(planOf(seed)).run();
  } finally {
    restore();
  }
}

class HistoryRun {
  readonly #plan: HistoryPlan;
  readonly #world: World;
  readonly #broker: SimBroker;
  readonly #cluster: HistoryCluster;
  readonly #nemesis: Nemesis;
  readonly #load: Load;
  readonly #journals: readonly Journal[];
  readonly #reached = new Set<string>();
  /** Servers whose memory of a shard was folded, and has not served yet: by name. */
  readonly #folded = new Set<string>();
  #checkpoints = 0;
  #flushes = 0;
  #violation: Violation | undefined;

  constructor(plan: HistoryPlan) {
    this.#plan = plan;
    this.#world = new World(new Prng(plan.seed * 2 ** 20 + 4));
    const { rates, timeoutMs, delayMsMax, exclusive } = plan;
    this.#broker = new SimBroker(this.#world, { rates: { ...rates }, timeoutMs, delayMsMax, lateMsMax: 800 }, exclusive);
    this.#cluster = new HistoryCluster(this.#world, this.#broker, plan);
    this.#load = new Load(this.#cluster);
    this.#load.onBug = (message) => this.#broken(new Violation('I17 internal error', message));
    const partitions = Array.from({ length: plan.shards }, (_, index) => historyPartition(index + 1));
    this.#journals = partitions.map((id) => new Journal(this.#broker.records(id)));
    const { servers, disk } = this.#cluster;
    this.#nemesis = new Nemesis({ world: this.#world, broker: this.#broker, disk, servers, partitions, plan });
    this.#cluster.said = (message) => void this.#reached.add(message);
    this.#cluster.onStatus = (server, shard, status) => this.#status(server, shard, status);
    if (disk === undefined) return;
    disk.onWritten = (id) => this.#written(id);
    disk.onFlushed = () => this.#flushed(disk);
  }

  async run(): Promise<HistoryOutcome> {
    try {
      await this.#faults();
      await this.#calm();
      await this.#check();
      await this.#comesBack();
    } catch (error) {
      this.#broken(
        error instanceof Violation
          ? error
          : new Violation('I17 crash', error instanceof Error ? (error.stack ?? error.message) : String(error)),
      );
    }
    const injected = new Map([...this.#broker.injected, ...this.#nemesis.counts, ...(this.#cluster.disk?.injected ?? [])]);
    return {
      plan: this.#plan,
      traceHash: this.#world.traceHash,
      steps: this.#world.steps,
      told: this.#load.told.length,
      unanswered: this.#load.unanswered,
      checkpoints: this.#checkpoints,
      injected,
      reached: this.#reached,
      violation: this.#violation,
      lastTrace: this.#world.lastTrace,
    };
  }

  #broken(violation: Violation): void {
    this.#violation ??= violation;
  }

  // ── What is watched while it runs ──────────────────────────────────────────────────────────────────────────────────────────

  #status(server: HistoryServer, shard: number, { state, offset, reason, rival }: PartitionStatus): void {
    const name = `${server.node.name}/${shard}`;
    this.#reached.add(state);
    if (state === 'failed') this.#broken(new Violation('I17 failed without cause', `${name}: ${reason}`));
    if (state === 'replaying') this.#folded.add(name);
    if (state === 'active' && this.#folded.delete(name)) this.#checkMemory(server, shard, offset);
    if (rival !== undefined && state === 'unassigned') this.#nemesis.wasFenced(server, shard - 1);
  }

  #checkMemory(server: HistoryServer, shard: number, offset: number): void {
    this.#checked(() => this.#compareMemory(server, shard, offset));
  }

  #compareMemory(server: HistoryServer, shard: number, offset: number): void {
    const memory = server.shards[shard - 1]?.actor.memory;
    if (memory === undefined) return;
    const { disk } = this.#cluster;
    const rows = disk === undefined ? undefined : { tables: disk.tables, id: journalOf(shard) };
    checkMemory(`${server.node.name}/${shard}`, memory, rows, this.#journal(shard), offset - 1);
  }

  async #written(id: JournalId): Promise<void> {
    this.#checkpoints += 1;
    if (this.#checkpoints > CHECKED_AT_FIRST && this.#checkpoints % CHECKED_ONE_IN > 0) return;
    await this.#checkRows(id);
  }

  #flushed({ tables }: SimDisk): void {
    this.#flushes += 1;
    if (this.#flushes % CHECKED_FLUSH_IN > 0) return;
    this.#checked(() => checkNotAhead(tables, this.#journals));
  }

  #checked(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#broken(error);
    }
  }

  async #checkRows(id: JournalId): Promise<void> {
    const { disk } = this.#cluster;
    if (disk === undefined || this.#violation !== undefined) return;
    try {
      await checkRows(disk.tables, id, this.#journal(id.partition + 1));
    } catch (error) {
      this.#broken(error instanceof Violation ? error : new Violation('T12 rows cannot be read', String(error)));
    }
  }

  #journal(shard: number): Journal {
    return this.#journals[shard - 1]!;
  }

  // ── Faults, then calm ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async #faults(): Promise<void> {
    for (const server of this.#cluster.servers) this.#nemesis.takeOver(server, this.#world.random.int(0, 300));
    for (let client = 0; client < this.#plan.clients; client++) this.#load.client();
    this.#nemesis.strikeServers();
    this.#nemesis.strikeDatabase();
    await this.#world.run(this.#plan.faultMs, () => this.#violation !== undefined);
  }

  async #calm(): Promise<void> {
    this.#nemesis.calm();
    this.#load.calm();
    // Takeovers that had begun end, late batches land, idle owners look at the log.
    await this.#until(15_000, () => false);
    for (let shard = 1; shard <= this.#plan.shards; shard++) await this.#isServed(shard);
    const ended = await this.#until(CALM_MS_MAX, () => !this.#load.isBusy && !this.#journals.some(({ hasOpenRuns }) => hasOpenRuns));
    const open = (): readonly string[] => this.#journals.flatMap((journal) => journal.openRuns());
    const why = (): string => `${open().join('; ')} in calm${this.#load.isBusy ? ', and somebody waits' : ''}`;
    check(ended || this.#violation !== undefined, 'I7 stuck', why);
    if (this.#cluster.disk === undefined) return;
    const written = await this.#until(10_000, () => this.#journals.every((_, index) => this.#isWritten(index + 1)));
    check(written || this.#violation !== undefined, 'I7 never written', () => this.#positions().join());
  }

  async #isServed(shard: number): Promise<void> {
    if (this.#violation !== undefined) return;
    const owners = this.#cluster.servers.filter((server) => server.state(shard - 1) === 'active');
    check(owners.length <= 1, 'I10 two owners in calm', () => owners.map((owner) => owner.node.name).join(', '));
    const [server] = this.#cluster.servers;
    const owner = owners[0] ?? server!;
    if (owners.length === 0) owner.start(shard - 1);
    const active = await this.#until(CALM_MS_MAX, () => owner.state(shard - 1) === 'active');
    check(active, 'I7 no owner', () => `${owner.node.name}/${shard} is ${owner.state(shard - 1)} in calm`);
  }

  #isWritten(shard: number): boolean {
    const position = this.#cluster.disk?.tables.journal(journalOf(shard)).position;
    return (position?.lastOffset ?? -1) >= this.#journal(shard).lastOffset;
  }

  #positions(): readonly string[] {
    return this.#journals.map((journal, index) => {
      const position = this.#cluster.disk?.tables.journal(journalOf(index + 1)).position;
      return `of shard ${index + 1} the database has ${position?.lastOffset}, the journal ${journal.lastOffset}`;
    });
  }

  async #until(waitMs: number, done: () => boolean): Promise<boolean> {
    return await this.#world.run(this.#world.nowMs + waitMs, () => this.#violation !== undefined || done());
  }

  // ── Checks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #check(): Promise<void> {
    if (this.#violation !== undefined) return;
    const runs = new Map<string, RunInJournal>();
    for (let shard = 1; shard <= this.#plan.shards; shard++) {
      const journal = this.#journal(shard);
      for (const [runId, run] of journal.checkedRuns()) runs.set(runId, run);
      const owner = this.#cluster.owner(shard);
      if (owner !== undefined) await this.#checkAtRest(owner, shard);
      await this.#checkRows(journalOf(shard));
    }
    checkTold(this.#load.told, runs);
    if (this.#cluster.disk !== undefined) checkListed(this.#cluster.disk.tables, this.#journals);
    this.#world.trace(`${runs.size} runs, ${this.#load.told.length} answers`);
  }

  /** Memory may be ahead of the log: an end of retention that is looked at again is a record like any other. It is not so for long. */
  async #checkAtRest(owner: HistoryServer, shard: number): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return this.#compareMemory(owner, shard, Infinity);
      } catch (error) {
        if (!(error instanceof Violation) || tries === 10) throw error;
        await this.#until(37, () => false);
      }
    }
  }

  /** All is killed once more: what comes back is what was there. */
  async #comesBack(): Promise<void> {
    if (this.#violation !== undefined) return;
    const [survivor, ...others] = this.#cluster.servers;
    for (const server of this.#cluster.servers) server.crash();
    for (const server of others) server.node.up = false;
    survivor!.restart();
    for (let shard = 1; shard <= this.#plan.shards; shard++) {
      survivor!.start(shard - 1);
      const active = await this.#until(CALM_MS_MAX, () => survivor!.state(shard - 1) === 'active');
      check(active || this.#violation !== undefined, 'I7 no owner', () => `${survivor!.state(shard - 1)} after the last restart`);
    }
  }
}
