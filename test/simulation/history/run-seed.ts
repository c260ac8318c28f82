/**
 * One seed of history shards: clients and workers, one to three processes that contend for the same shards, a log and a database that
 * misbehave, checkpoints of a few records; then calm, in which every workflow must end; then the checks.
 */
import { forbidGlobals } from '../forbid-globals.ts';
import { check, Violation } from '../oracle.ts';
import { Prng } from '../prng.ts';
import { planWithDatabase, type Plan } from '../run-seed.ts';
import type { SimDisk } from '../sim-database.ts';
import { CALM_MS_MAX, SimRun, type SimOutcome, type SimPlan } from '../sim-run.ts';
import { DeadLetters } from '../deadletters/dead-letters.ts';
import { HistoryCluster, type HistoryClusterOptions, type HistoryServer } from './cluster.ts';
import { checkRunChains } from './chain-oracle.ts';
import { checkLives } from './life-oracle.ts';
import { Lives, livesPlan } from './lives.ts';
import { Load } from './load.ts';
import { Batches, batchesPlan } from './batches.ts';
import { Schedules, type SchedulesPlan, schedulesPlan } from './schedules.ts';
import {
  checkListed,
  checkMemory,
  checkNotAhead,
  checkRows,
  checkTold,
  Journal,
  parentsOfSilenced,
  type RunInJournal,
  Unlisted,
} from './oracle.ts';
import type { HistoryMemory } from '../../../src/actors/history/history-memory.ts';
import { journalOf } from '../../../src/actors/history/history-memory.ts';
import type { PartitionStatus } from '../../../src/actors/ownership/partition-owner.ts';
import type { JournalId } from '../../../src/projections/database-port.ts';

export type HistoryPlan = SimPlan &
  Pick<Plan, 'clients'> &
  HistoryClusterOptions & {
    /** Absent: there are none. */
    readonly schedules?: SchedulesPlan;
    /** Rows of List are set back to what they were, and built again: so often. Absent: never. */
    readonly listSetBackMs?: number;
  };

export type HistoryOutcome = SimOutcome & {
  readonly plan: HistoryPlan;
  readonly checkpoints: number;
  readonly actions: number;
  readonly jobs: number;
};

/** Of the checkpoints of a run so many are compared with the journal at once; later ones now and then, and the last. */
const CHECKED_AT_FIRST = 12;
const CHECKED_ONE_IN = 8;
const CHECKED_FLUSH_IN = 2;
/** Of the journal, where backups are restored: they are younger. */
const BACKUP_RETENTION_MS = 60_000;
const REBUILD_ANSWER_MS = 6_000;

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
    ...(base.database === undefined ? {} : { database: { ...base.database, backups, damagedShare: random.pick([0, 0.6]) } }),
    ...listPlanOf(seed),
  };
}

/** From a stream of its own: a seed in which nothing befalls List is what it was without this. */
function listPlanOf(seed: number): Pick<HistoryPlan, 'listSetBackMs'> {
  const random = new Prng(seed * 2 ** 20 + 7);
  return random.chance(0.3) ? { listSetBackMs: random.pick([100, 300, 1_000]) } : {};
}

export function historyPlanWithoutDatabase(seed: number): HistoryPlan {
  const { database: _none, listSetBackMs: _never, ...plan } = historyPlanOf(seed);
  return plan;
}

/** List is set back now and then, and the database fails while it is built again: what is built must be right, nobody asks twice. */
export function listPlan(seed: number): HistoryPlan {
  const random = new Prng(seed * 2 ** 20 + 8);
  const often = random.pick([0.05, 0.2]);
  const rates = { databaseFails: often, answerLost: often / 2, commitLost: often / 2 };
  return {
    ...historyPlanOf(seed),
    faultMs: random.int(2_000, 4_000),
    nemesisMs: random.pick([400, 1_500]),
    listSetBackMs: random.pick([150, 500, 1_200]),
    database: { rates, writeMsMax: random.pick([10, 60, 300]), trimShare: 0, delayMsMax: random.pick([2, 10]), lateMsMax: 50 },
  };
}

/** Schedules act each second, and clients ask things of them; without damaged rows, which may silence what a schedule waits for. */
export function planWithSchedules(seed: number): HistoryPlan {
  const random = new Prng(seed * 2 ** 20 + 10);
  const { database, listSetBackMs: _never, ...base } = historyPlanOf(seed);
  return {
    ...base,
    clients: 1,
    faultMs: random.int(2_500, 6_000),
    schedules: schedulesPlan(random),
    ...(database === undefined ? {} : { database: { ...database, backups: false, damagedShare: 0 } }),
  };
}

/** Operators reset workflows and pause them, and starts take their first task along; without damaged rows, which may silence a child. */
export function planWithLives(seed: number): HistoryPlan {
  const random = new Prng(seed * 2 ** 20 + 11);
  const { database, listSetBackMs: _never, ...base } = historyPlanOf(seed);
  return {
    ...base,
    clients: random.int(1, 2),
    // A request that resets is known for as long as its run is.
    retentionMs: 60_000,
    lives: livesPlan(random),
    ...(database === undefined ? {} : { database: { ...database, backups: false, damagedShare: 0 } }),
  };
}

/** Batch jobs go through what List has and through ids, while clients look at them and stop some; without damaged rows, which may silence a child. */
export function planWithBatches(seed: number): HistoryPlan {
  const random = new Prng(seed * 2 ** 20 + 12);
  const { database, listSetBackMs: _never, ...base } = historyPlanOf(seed);
  return {
    ...base,
    clients: random.int(1, 2),
    faultMs: random.int(2_500, 5_000),
    // What a job counts is to be found in whole journals, and its operations in runs that are known.
    retentionMs: 60_000,
    batches: batchesPlan(random),
    ...(database === undefined ? {} : { database: { ...database, backups: false, damagedShare: 0 } }),
  };
}

export async function runHistorySeed(seed: number, planOf = historyPlanOf): Promise<HistoryOutcome> {
  const restore = forbidGlobals();
  try {
    const run = new HistoryRun(planOf(seed));
    return { ...(await run.run()), checkpoints: run.checkpoints, actions: run.actions, jobs: run.jobs };
  } finally {
    restore();
  }
}

class HistoryRun extends SimRun<HistoryPlan, HistoryServer, HistoryCluster> {
  readonly #load: Load;
  readonly #journals: readonly Journal[];
  /** Servers whose memory of a shard was folded, and has not served yet: by name. */
  readonly #folded = new Set<string>();
  checkpoints = 0;
  /** Workflows that schedules have begun. */
  actions = 0;
  /** Batch jobs that have completed. */
  jobs = 0;
  #flushes = 0;
  /** Runs that were deleted, and whose rows of List are gone. */
  readonly #unlisted = new Unlisted();
  /** Shards whose rows of List were set back. */
  readonly #setBack = new Set<number>();
  #rebuildsAsked = 0;
  readonly #letters: DeadLetters | undefined;
  #schedules: Schedules | undefined;
  #lives: Lives | undefined;
  #batches: Batches | undefined;

  constructor(plan: HistoryPlan) {
    super(plan, 4, (world, broker) => new HistoryCluster(world, broker, plan));
    this.#load = new Load(this.cluster);
    this.cluster.onBug = (invariant, message) => this.broken(new Violation(invariant, message));
    this.#load.onBug = (message) => this.broken(new Violation('I17 internal error', message));
    this.#journals = this.cluster.partitionIds.slice(0, plan.shards).map((id) => new Journal(this.broker.records(id)));
    if (plan.letters !== undefined) this.#letters = new DeadLetters(this.cluster, plan.letters, this.#journals);
    const { disk } = this.cluster;
    if (disk === undefined) return;
    disk.onWritten = (id) => this.#written(id);
    disk.onFlushed = () => this.#flushed(disk);
  }

  protected async story(): Promise<void> {
    this.beginFaults(() => {
      for (let client = 0; client < this.plan.clients; client++) this.#load.client();
      const { batches, listSetBackMs, lives, schedules } = this.plan;
      if (batches !== undefined) this.#batches = new Batches(this.#load, this.cluster, batches);
      if (lives !== undefined) this.#lives = new Lives(this.#load, this.world, lives);
      if (schedules !== undefined) this.#schedules = new Schedules(this.#load, this.world, schedules);
      if (listSetBackMs !== undefined) this.#strikeList(listSetBackMs);
      this.#letters?.operate();
    });
    await this.faultsPass();
    await this.#calm();
    await this.#check();
    await this.comesBack();
  }

  protected get answered(): number {
    return this.#load.told.length;
  }

  protected get failed(): number {
    return this.#load.unanswered;
  }

  // ── What is watched while it runs ──────────────────────────────────────────────────────────────────────────────────────────

  protected override statusChanged(server: HistoryServer, partition: number, { state, offset }: PartitionStatus): void {
    const name = `${server.node.name}/${partition}`;
    if (state === 'replaying') this.#folded.add(name);
    if (state === 'active' && this.#folded.delete(name) && partition < this.plan.shards)
      this.watched(() => this.#compareMemory(server, partition + 1, offset));
  }

  #compareMemory(server: HistoryServer, shard: number, offset: number): void {
    const memory = server.shards[shard - 1]?.actor.memory;
    if (memory === undefined) return;
    if (!memory.core.keepsAll && memory.core.residency.behind.values().length > 0)
      return this.cluster.said('runs were behind when their shard began to serve');
    const { disk } = this.cluster;
    const rows = disk === undefined ? undefined : { disk, id: journalOf(shard) };
    checkMemory(`${server.node.name}/${shard}`, memory, rows, this.#journal(shard), offset - 1);
  }

  async #written(id: JournalId): Promise<void> {
    this.checkpoints += 1;
    if (id.kind === 'deadLetters') return this.watched(() => this.#letters?.checkIndex(id));
    const { disk } = this.cluster;
    // What it had captured when its run was deleted comes back with it, and goes once more.
    if (disk !== undefined) this.#unlisted.look(disk, this.#journals);
    if (this.checkpoints > CHECKED_AT_FIRST && this.checkpoints % CHECKED_ONE_IN > 0) return;
    await this.#checkRows(id);
  }

  #flushed(disk: SimDisk): void {
    const { tables } = disk;
    this.watched(() => this.#unlisted.check(disk, this.#journals));
    this.#flushes += 1;
    if (this.#flushes % CHECKED_FLUSH_IN > 0) return;
    this.watched(() => checkNotAhead(tables, this.#journals));
  }

  async #checkRows(id: JournalId): Promise<void> {
    const { disk } = this.cluster;
    if (disk === undefined || this.isBroken) return;
    try {
      await checkRows(disk, id, this.#journal(id.partition + 1));
    } catch (error) {
      this.broken(error instanceof Violation ? error : new Violation('T12 rows cannot be read', String(error)));
    }
  }

  #journal(shard: number): Journal {
    return this.#journals[shard - 1]!;
  }

  // ── List ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #strikeList(everyMs: number): void {
    const { random } = this.world;
    this.world.at(random.int(1, everyMs * 2), () => {
      const { disk } = this.cluster;
      if (!this.nemesis.faulty || disk === undefined) return;
      if (random.chance(0.4)) disk.copyList();
      else {
        const shard = random.int(1, this.plan.shards);
        disk.setListBack(shard);
        this.#setBack.add(shard);
        this.#rebuildList(shard);
      }
      this.#strikeList(everyMs);
    });
  }

  /** Whoever wants it asks until somebody says that it is noted. */
  #rebuildList(shard: number): void {
    this.#rebuildsAsked += 1;
    this.cluster.ask(shard, { kind: 'rebuildList' }, REBUILD_ANSWER_MS, ({ kind }) => {
      this.#rebuildsAsked -= 1;
      if (kind === 'done') return;
      this.#rebuildsAsked += 1;
      this.world.at(this.world.random.int(20, 200), () => {
        this.#rebuildsAsked -= 1;
        this.#rebuildList(shard);
      });
    });
  }

  async #listIsBuilt({ tables, injected }: SimDisk): Promise<void> {
    const isDue = (): boolean => this.#journals.some((_, index) => tables.journal(journalOf(index + 1)).isRebuildDue);
    const isBuilt = (): Promise<void> =>
      this.comesTrue(
        'I7 List never built',
        () => this.#rebuildsAsked === 0 && !isDue(),
        () => `${this.#rebuildsAsked} wait for an answer, and a rebuild is ${isDue() ? '' : 'not '}due in calm`,
      );
    await isBuilt();
    // Nobody has noted it in the backup; and of a run that cannot be read the row stays as it is.
    if (!injected.has('backupRestored') && !injected.has('rowDamaged')) return;
    for (const shard of this.#setBack) this.#rebuildList(shard);
    await isBuilt();
  }

  // ── Calm, and checks ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async #calm(): Promise<void> {
    this.nemesis.calm();
    this.#load.calm();
    // Takeovers that had begun end, late batches land, idle owners look at the log.
    await this.until(15_000, () => false);
    for (const partition of this.cluster.partitionIds.keys()) await this.isServed(partition);
    if (this.#letters !== undefined) await this.#lettersGo(this.#letters);
    if (this.#schedules !== undefined) await this.#schedulesEnd(this.#schedules);
    if (this.#batches !== undefined) await this.#batchesEnd(this.#batches);
    if (this.#lives !== undefined) await this.#livesGoOn(this.#lives);
    await this.#allEnds();
    if (this.cluster.disk === undefined) return;
    const isWritten = (): boolean => this.#journals.every((_, index) => this.#isWritten(index + 1));
    for (const { core } of this.#memories()) {
      for (const { key } of core.residency.behind.values()) this.#load.describe(key);
    }
    await this.comesTrue(
      'I7 still behind',
      () => !this.#load.isBusy && this.#memories().every(({ core }) => core.residency.behind.values().length === 0),
      () => 'runs whose rows are whole again are behind in calm',
    );
    await this.comesTrue('I7 never written', isWritten, () => this.#positions().join(), 10_000);
    if (this.#setBack.size > 0) await this.#listIsBuilt(this.cluster.disk);
  }

  async #allEnds(): Promise<void> {
    const isOver = await this.until(CALM_MS_MAX, () => !this.#load.isBusy && !this.#journals.some(({ hasOpenRuns }) => hasOpenRuns));
    if (isOver || this.isBroken) return;
    const { isBusy } = this.#load;
    const { disk } = this.cluster;
    const mayWait = disk === undefined ? new Set<string>() : parentsOfSilenced(this.#journals, disk);
    const open = this.#journals.flatMap((journal) => journal.openRuns(mayWait));
    check(open.length === 0 && !isBusy, 'I7 stuck', () => `${open.join('; ')} in calm${isBusy ? ', and somebody waits' : ''}`);
  }

  /** Every letter is merged; and whoever waits for one that was purged is terminated. */
  async #lettersGo(letters: DeadLetters): Promise<void> {
    letters.calm();
    const isOver = (): boolean => letters.isEmpty && !this.#load.isBusy && !this.#journals.some(({ hasOpenRuns }) => hasOpenRuns);
    for (let tries = 1; tries <= 10 && !(await this.until(6_000, isOver)) && !this.isBroken; tries++) {
      if (letters.hasPurged) this.#load.terminateAll(this.#journals.flatMap((journal) => journal.openKeys));
    }
    await this.comesTrue(
      'I7 letters stay',
      () => letters.isEmpty,
      () => letters.report,
    );
    this.watched(() => letters.check(true));
  }

  async #schedulesEnd(schedules: Schedules): Promise<void> {
    await this.comesTrue(
      'I7 schedules stay',
      () => schedules.areGone,
      () => this.#journals.flatMap((journal) => journal.openRuns(new Set())).join('; '),
    );
  }

  async #batchesEnd(batches: Batches): Promise<void> {
    await this.comesTrue(
      'I7 batch jobs stay',
      () => batches.areOver,
      () => this.#journals.flatMap((journal) => journal.openRuns(new Set())).join('; '),
    );
  }

  async #livesGoOn(lives: Lives): Promise<void> {
    await this.comesTrue(
      'I7 operators wait',
      () => lives.areIdle,
      () => 'an operator waits for an answer in calm',
    );
    lives.unpause(this.#journals.flatMap(({ pausedKeys }) => pausedKeys));
    if (lives.resets > 0) this.reached.add('a workflow was reset');
    if (lives.resetsInParts > 0) this.reached.add('a workflow was reset in parts');
    if (lives.pauses > 0) this.reached.add('a workflow was paused');
  }

  #memories(): readonly HistoryMemory[] {
    return this.#journals.flatMap((_, partition) => {
      const [owner] = this.cluster.owners(partition);
      return owner?.shards[partition]?.actor.memory ?? [];
    });
  }

  #isWritten(shard: number): boolean {
    const position = this.cluster.disk?.tables.journal(journalOf(shard)).position;
    return (position?.lastOffset ?? -1) >= this.#journal(shard).lastOffset;
  }

  #positions(): readonly string[] {
    return this.#journals.map((journal, index) => {
      const position = this.cluster.disk?.tables.journal(journalOf(index + 1)).position;
      return `of shard ${index + 1} the database has ${position?.lastOffset}, the journal ${journal.lastOffset}`;
    });
  }

  async #check(): Promise<void> {
    if (this.isBroken) return;
    const runs = new Map<string, RunInJournal>();
    for (let shard = 1; shard <= this.plan.shards; shard++) {
      const journal = this.#journal(shard);
      for (const [runId, run] of journal.checkedRuns()) runs.set(runId, run);
      const [owner] = this.cluster.owners(shard - 1);
      if (owner !== undefined) await this.#checkAtRest(owner, shard);
      await this.#checkRows(journalOf(shard));
    }
    this.#letters?.check(true);
    if (this.#schedules !== undefined) this.actions = this.#schedules.check(this.#journals.flatMap(({ records }) => records));
    if (this.#batches !== undefined) this.jobs = this.#batches.check(this.#journals.flatMap(({ records }) => records));
    for (const { records } of this.#journals) if (checkRunChains(records) > 0) this.reached.add('a run followed another');
    for (const { records } of this.#lives === undefined ? [] : this.#journals) checkLives(records);
    checkTold(this.#load.told, runs, this.cluster.disk?.everDamaged ?? new Set());
    if (this.cluster.disk !== undefined) checkListed(this.cluster.disk.tables, this.#journals);
    this.world.trace(`${runs.size} runs, ${this.#load.told.length} answers`);
  }

  /** Memory may be ahead of the log: an end of retention that is looked at again is a record like any other. It is not so for long. */
  async #checkAtRest(owner: HistoryServer, shard: number): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return this.#compareMemory(owner, shard, Infinity);
      } catch (error) {
        if (!(error instanceof Violation) || tries === 10) throw error;
        await this.until(37, () => false);
      }
    }
  }
}
