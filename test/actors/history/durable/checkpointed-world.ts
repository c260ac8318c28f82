/** One history shard that is killed and started again, over one log and one database; a client and a worker act on it. */
import { ownWork } from '../../../../src/actors/asks/asks.ts';
import assert from 'node:assert/strict';
import { canonicalText } from '../../../../src/history/run/canonical.ts';
import type { RunKey } from '../../../../src/kernel/run-key.ts';
import type { HistoryRequest, StartWorkflow } from '../../../../src/history/commands/history-commands.ts';
import { type RunSummary, summaryOf } from '../../../../src/history/run/summary.ts';
import type { RunRow } from '../../../../src/history/shard/rows.ts';
import type { StartedActivityTask } from '../../../../src/history/run/history-replies.ts';
import { evolve } from '../../../../src/history/evolve/evolve.ts';
import { HistoryCore } from '../../../../src/history/history-core.ts';
import { defaultHistoryLimits } from '../../../../src/history/run/history-limits.ts';
import { Shard } from '../../../../src/history/shard/shard.ts';
import type { TransferTask } from '../../../../src/history/run/tasks.ts';
import type { TimerWindowLimits } from '../../../../src/history/residency/timer-window.ts';
import type { TransferWindowLimits } from '../../../../src/history/residency/transfer-window.ts';
import type { WorkflowCommand } from '../../../../src/history/commands/workflow-commands.ts';
import type { CheckpointLimits } from '../../../../src/projections/checkpoints/checkpoint-limits.ts';
import type { CheckpointScheduleLimits } from '../../../../src/projections/checkpoints/checkpoint-schedule.ts';
import { type Database, DatabaseError, type JournalId, type LoadKey, type TimerRow } from '../../../../src/projections/database-port.ts';
import type { HistoryMemory, Registry } from '../../../../src/actors/history/history-memory.ts';
import type { SideRunners } from '../../../../src/actors/history/side-tasks/side-tasks.ts';
import { HotState } from '../../../../src/actors/history/durable/hot-state.ts';
import { HistoryShard } from '../../../../src/actors/history/history-shard.ts';
import { ProcessVisibility } from '../../../../src/projections/list/process-visibility.ts';
import type { HistoryAnswer, Router } from '../../../../src/actors/asks/router.ts';
import { systemClock } from '../../../../src/ports/system-ports.ts';
import { systemSearchAttributes } from '../../../../src/cluster/search-attributes.ts';
import type { VisibilityPage } from '../../../../src/projections/visibility/row.ts';
import { historyCodec } from '../../../../src/codec/history-codec.ts';
import { historyWire } from '../../../../src/codec/history-wire.ts';
import { stateCodecBesideHistory } from '../../../../src/codec/state-codec.ts';
import { thereIs, withoutLetters } from '../../../support/simple-cluster.ts';
import { turns } from '../../../support/event-loop.ts';
import { type DatabaseFaults, MemoryDatabase, type MemoryTables, type ReadName } from '../../../support/memory-database.ts';
import { loadAll, shardRows, tasksLeave } from '../../../support/shard-rows.ts';
import { completion } from '../../../history/completion.ts';
import { activityRef, signalAttributes, startAttributes } from '../../../history/shard-under-test.ts';
import { CheckpointedPartition } from '../../checkpointed-partition.ts';
import { FAR_AWAY_MS } from '../../far-away.ts';
import { jsonClaims } from '../../ledger.ts';

const topic = 'test.history';
const journal: JournalId = { kind: 'history', partition: 0 };
const namespaceId = '00000000-0000-4000-8000-0000000000aa';
const layout = { historyShards: 1, matchingPartitions: 1, taskQueuePartitions: 1 };

/** Hardly any timer is in memory that need not be. */
const tinyWindow = { aheadMsMax: 10_000, timersMax: 4, timersLeft: 2, timersNearMax: 6, pageRows: 2, overdueMsMax: 1_000 };
/** Nor any task for a worker. */
const tinyRoom = { tasksMax: 4, tasksLeft: 2, pageRows: 2 };

const backlogFull = { kind: 'rejected', rejection: { reason: 'backlog-full', message: 'the backlog is full' } } as const;

export type WorldOptions = {
  readonly limits?: Partial<CheckpointLimits>;
  readonly scheduleLimits?: Partial<CheckpointScheduleLimits>;
  readonly cacheBytesMax?: number;
  readonly hotStateBytesMax?: number;
  readonly evictionsPerCheck?: number;
  readonly journalRetentionMs?: number;
  readonly journalRetentionBytes?: number;
  readonly timerWindow?: Partial<TimerWindowLimits>;
  readonly transferWindow?: Partial<TransferWindowLimits>;
  readonly sideRunners?: SideRunners;
  /** Of the database, where it is not the twin. */
  readonly database?: () => Database;
};

export class World extends CheckpointedPartition<HistoryShard> {
  readonly #options: WorldOptions;
  /** What befalls loads from now on; `hangs` until it is mended, `slow` for some turns of the event loop. */
  loadFault: 'hangs' | 'fails' | 'slow' | undefined;
  /** Keys of each load that was asked for. */
  readonly loads: number[] = [];
  /** What else, and they, as it was asked. */
  readonly asked: ReadName[] = [];
  /** How many runs have left memory. */
  evicted = 0;
  #loadsMended: (() => void)[] = [];
  /** Ids of the tasks that matching was offered. */
  readonly offers: number[] = [];
  /** Whether matching refuses this one. */
  refuses: (taskQueue: string) => boolean = () => false;
  /** Matching stores what it takes, and says so. */
  stores = false;
  /** Pages of tasks for workers cannot be read. */
  transfersFail = false;
  /** Windows of timers cannot be read. */
  timersFail = false;
  #visibility: ProcessVisibility | undefined;
  registry: Registry = {
    isFolded: true,
    view: { position: 0, registeredNameOf: () => undefined, namespaceById: thereIs, systemSearchAttributes },
  };
  override readonly onRead = async (what: ReadName): Promise<void> => {
    this.asked.push(what);
    if (what === 'transferTasks' && this.transfersFail) throw new DatabaseError('unavailable', 'connection refused');
    if (what === 'timers' && this.timersFail) throw new DatabaseError('unavailable', 'connection refused');
    if (what !== 'load' && what !== 'dueRuns') return;
    if (this.loadFault === 'fails') throw new DatabaseError('unavailable', 'connection refused');
    if (this.loadFault === 'hangs') await new Promise<void>((resolve) => this.#loadsMended.push(resolve));
    if (this.loadFault === 'slow') await turns(3);
  };

  constructor(options: WorldOptions = {}) {
    const { database, scheduleLimits } = options;
    super({
      topic,
      journal,
      ...(database === undefined ? {} : { database }),
      ...(scheduleLimits === undefined ? {} : { scheduleLimits }),
    });
    this.#options = options;
  }

  get memory(): HistoryMemory {
    const { memory } = this.host.actor;
    assert(memory !== undefined, 'it was started');
    return memory;
  }

  get visibility(): ProcessVisibility {
    assert(this.#visibility !== undefined, 'it was started');
    return this.#visibility;
  }

  /** Again, by the same process. */
  async served(): Promise<void> {
    for (let tries = 0; this.host.actor.status().state !== 'active'; tries++) {
      assert(tries < 1_000, `it serves again, and is ${JSON.stringify(this.host.actor.status())}`);
      await this.pass(100);
    }
  }

  execution(workflowId: string): { readonly namespaceId: string; readonly workflowId: string } {
    return { namespaceId, workflowId };
  }

  row(workflowId: string): RunRow {
    const row = [...this.tables.journal(journal).runs.values()].find((each) => each.workflowId === workflowId);
    assert(row !== undefined, `${workflowId} has a row`);
    return row;
  }

  damageHistory(workflowId: string): void {
    const { runId } = this.row(workflowId);
    const { history } = this.tables.journal(journal);
    for (const [key, row] of history) if (row.runId === runId) history.set(key, { ...row, events: row.events.slice(1) });
  }

  timerRows(): readonly TimerRow[] {
    return [...this.tables.journal(journal).timers.values()];
  }

  setTimerRow(row: TimerRow): void {
    this.tables.journal(journal).timers.set(row.taskId, row);
  }

  /** Its row is no longer what was written. Once more: it is. */
  damage(workflowId: string): void {
    const { runs } = this.tables.journal(journal);
    for (const row of runs.values()) {
      if (row.workflowId === workflowId) runs.set(row.runId, { ...row, state: damaged(row.state) });
    }
  }

  /** It has no row any more. */
  lose(workflowId: string): void {
    const { runs } = this.tables.journal(journal);
    for (const row of runs.values()) if (row.workflowId === workflowId) runs.delete(row.runId);
  }

  protected override mendReads(): void {
    this.loadFault = undefined;
    for (const mended of this.#loadsMended.splice(0)) mended();
  }

  // ── What must be true ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Memory over its rows is what the journal says, from its first record on. What was not in memory leaves it again. */
  checkMemory(): void {
    const { core } = this.memory;
    const resident = new Set(core.shard.runs.keys());
    assert.equal(core.shard.runCount - core.shard.runs.size, this.folded().runs.size - resident.size, 'what is not in memory is counted');
    assert(loadAll(core, this.tables, journal));
    this.#checkWhole();
    for (const runId of [...core.shard.runs.keys()]) if (!resident.has(runId)) core.evict(runId);
    tasksLeave(core, this.clock.wallMs());
  }

  /** Whatever may leave memory leaves it. */
  evict(): void {
    for (const runId of [...this.memory.core.shard.runs.keys()]) if (this.memory.core.evict(runId)) this.evicted++;
  }

  #checkWhole(): void {
    assert.equal(this.memory.core.canonicalState(), canonicalText(this.folded()), 'memory is the journal, folded from 0');
  }

  /** The rows are what the journal says up to their position. */
  checkRows(): void {
    const { position } = this.tables.journal(journal);
    if (position === undefined) return;
    const core = new HistoryCore({ wire: historyWire, stateWire: stateCodecBesideHistory });
    core.install(shardRows(this.tables, journal), position);
    assert.equal(
      core.canonicalState(),
      canonicalText(this.folded(position.lastOffset)),
      'rows are the journal, folded up to their position',
    );
    assert.equal(core.shard.runCount - core.shard.runs.size, 0, 'and as many runs as they say');
  }

  /** A List shows every run as the journal says, and no other. */
  async checkList(): Promise<void> {
    const summaries = [...this.folded().runs.values()].flatMap((run) => summaryOf(run) ?? []);
    const expected = summaries.map(shown);
    assert.deepEqual((await this.listed()).map(shown).toSorted(), expected.toSorted(), 'a List shows what the journal says');
  }

  /** Rejects as a List does. */
  async listed(): Promise<VisibilityPage['rows']> {
    let answer: Promise<VisibilityPage> | undefined;
    const asked = this.visibility.list({ namespaceId, condition: undefined, after: undefined, max: 10_000 });
    const settled = (): void => void (answer = asked);
    asked.then(settled, settled);
    for (let waited = 0; answer === undefined; waited++) {
      assert(waited < 1_000, 'a List is answered in the end');
      await this.pass(10, 10);
    }
    return (await answer).rows;
  }

  /** Every run's history is served whole, event for event, in pages. */
  async checkHistories(eventsMax = 3): Promise<void> {
    const events = new Map<string, Uint8Array[]>();
    for (const stored of this.records()) {
      for (const change of historyCodec.decode(stored.value, stored.schema).runs)
        events.set(change.runId, [...(events.get(change.runId) ?? []), ...change.events.map(({ bytes }) => bytes)]);
    }
    for (const { key } of this.folded().runs.values()) {
      const expected = events.get(key.runId) ?? [];
      const served: Uint8Array[] = [];
      while (served.length < expected.length) {
        const range = { firstEventId: served.length + 1, lastEventId: expected.length, eventsMax, bytesMax: 1_000 };
        const reply = await this.ask({ kind: 'readHistory', key, ...range });
        assert(
          reply.kind === 'historyPage' && reply.events.length > 0,
          `a page of events, not ${JSON.stringify(reply)}: ${this.lines.join()}`,
        );
        served.push(...reply.events);
      }
      assert.deepEqual(served.map(hex), expected.map(hex), 'a history is served whole');
    }
  }

  folded(lastOffset = Infinity): Shard {
    const shard = new Shard();
    for (const { offset, value, schema } of this.records()) {
      if (offset <= lastOffset) evolve(shard, historyCodec.decode(value, schema), historyWire);
    }
    return shard;
  }

  // ── Client and worker ──────────────────────────────────────────────────────────────────────────────────────────────────────

  ask<Command extends HistoryRequest>(command: Command): Promise<HistoryAnswer<Command>> {
    return new Promise((resolve) => void this.router.askHistory(1, command, ownWork(FAR_AWAY_MS), resolve));
  }

  /** Whether it is answered or not: it may be refused, or the shard be killed. */
  async try(command: HistoryRequest): Promise<void> {
    void this.ask(command);
    await turns(4);
  }

  async startWorkflow(workflowId: string, retentionMs = 3_000): Promise<void> {
    await this.try(this.startCommand(workflowId, retentionMs));
  }

  startCommand(workflowId: string, retentionMs = 3_000): StartWorkflow {
    return {
      kind: 'startWorkflow',
      key: { namespaceId, workflowId, runId: '' },
      namespace: 'ns',
      newRunId: this.random.nonce(),
      requestId: this.random.nonce(),
      policies: { reusePolicy: 1, conflictPolicy: 1 },
      parent: undefined,
      onConflict: undefined,
      start: startAttributes(),
      retentionMs,
    };
  }

  async signal(workflowId: string): Promise<void> {
    const signal = signalAttributes({ requestId: this.random.nonce() });
    await this.try({ kind: 'signalWorkflow', key: { namespaceId, workflowId, runId: '' }, signal, childOf: undefined });
  }

  /** A worker takes the nth task that is pending, and answers it. */
  async work(nth: number, commands: readonly WorkflowCommand[]): Promise<void> {
    const tasks = [...this.folded().transfers.values()].filter(({ kind }) => kind === 'workflowTask' || kind === 'activityTask');
    const task = tasks[nth % Math.max(1, tasks.length)];
    if (task !== undefined) await Promise.race([this.#work(task, commands), turns(12)]);
  }

  /** A worker takes all activities of all workflows. */
  async startedActivities(): Promise<readonly StartedActivityTask[]> {
    const started: StartedActivityTask[] = [];
    for (const { key, activities } of this.folded().runs.values()) {
      for (const { scheduledEventId, stamp } of activities.values()) {
        const poll = { pollRequestId: this.random.nonce(), identity: 'worker', workerVersion: undefined };
        const reply = await this.ask({ kind: 'startActivityTask', key, scheduledEventId, stamp, ...poll });
        if (reply.kind === 'activityTask') started.push(reply);
      }
    }
    return started;
  }

  async #work(task: TransferTask, commands: readonly WorkflowCommand[]): Promise<void> {
    const poll = { pollRequestId: this.random.nonce(), identity: 'worker' };
    if (task.kind === 'workflowTask') {
      const { key, scheduledEventId, stamp, taskQueue } = task;
      const started = await this.ask({ kind: 'startWorkflowTask', key, scheduledEventId, stamp, taskQueue, ...poll });
      if (started.kind === 'workflowTask') await this.ask({ ...completion(started, commands), newRunId: this.random.nonce() });
    } else if (task.kind === 'activityTask') {
      const { key, scheduledEventId, stamp } = task;
      const started = await this.ask({ kind: 'startActivityTask', key, scheduledEventId, stamp, workerVersion: undefined, ...poll });
      if (started.kind !== 'activityTask') return;
      await this.ask({ kind: 'completeActivityTask', activity: activityRef(started), result: Uint8Array.of(1), identity: 'worker' });
    }
  }

  // ── What it stands on ──────────────────────────────────────────────────────────────────────────────────────────────────────

  protected override twin(faults: DatabaseFaults): Database {
    return new CountingDatabase(this.loads, this.tables, faults);
  }

  protected open(router: Router, database: Database): HistoryShard {
    const { clock, logger } = this;
    const visibility = new ProcessVisibility({ database, clock, logger });
    this.#visibility = visibility;
    const matching = router.matching.sink(0);
    router.matching.attach(0, {
      submit: (askId, request) => {
        const isTask = request.kind === 'addWorkflowTask' || request.kind === 'addActivityTask';
        const isRefused = isTask && this.refuses(request.queue.name);
        if (isTask) this.offers.push(request.task.taskId);
        systemClock.soon(() => matching.answer(askId, isRefused ? backlogFull : { kind: this.stores ? 'stored' : 'done' }));
        return undefined;
      },
      cancel: () => {},
    });
    const shard = new HistoryShard({
      shard: 1,
      topic,
      owner: 'test',
      log: this.log,
      codec: historyCodec,
      claims: jsonClaims,
      wire: historyWire,
      limits: { ...defaultHistoryLimits, retentionMsDefault: 3_000, retentionRecheckMs: 1_000 },
      registry: this.registry,
      cacheBytesMax: this.#options.cacheBytesMax ?? 1_000_000,
      layout,
      router,
      sink: router.history.sink(1),
      clock,
      random: this.random,
      logger,
      visibility,
      onStatus: () => {},
      capture: withoutLetters,
      isArchiving: false,
      sideRunners: this.#options.sideRunners ?? {},
      checkpoints: {
        database,
        hotState: new HotState(this.clock, this.#options.hotStateBytesMax ?? Infinity),
        stateWire: stateCodecBesideHistory,
        timerWindow: { ...tinyWindow, ...this.#options.timerWindow },
        transferWindow: { ...tinyRoom, ...this.#options.transferWindow },
        schedule: this.schedule,
        ...(this.#options.evictionsPerCheck === undefined ? {} : { evictionsPerCheck: this.#options.evictionsPerCheck }),
        ...(this.#options.journalRetentionMs === undefined ? {} : { journalRetentionMs: this.#options.journalRetentionMs }),
        ...(this.#options.journalRetentionBytes === undefined ? {} : { journalRetentionBytes: this.#options.journalRetentionBytes }),
        ...(this.#options.limits === undefined ? {} : { limits: this.#options.limits }),
      },
    });
    router.history.attach(1, shard);
    return shard;
  }
}

class CountingDatabase extends MemoryDatabase {
  readonly #loads: number[];

  constructor(loads: number[], tables: MemoryTables, faults: DatabaseFaults) {
    super(tables, faults);
    this.#loads = loads;
  }

  override load(of: JournalId, keys: readonly LoadKey[]): ReturnType<Database['load']> {
    this.#loads.push(keys.length);
    return super.load(of, keys);
  }
}

type Shown = Pick<RunSummary, 'status' | 'closeTimeMs'> & { readonly historyLength: number | undefined };

function shown(run: Shown & ({ readonly key: RunKey } | RunKey)): string {
  const { workflowId, runId } = 'key' in run ? run.key : run;
  const { status, closeTimeMs, historyLength } = run;
  return `${workflowId} ${runId} ${status} ${closeTimeMs === undefined ? 'open' : `${closeTimeMs} ${historyLength}`}`;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** Of what is damaged: what it was. */
function damaged(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte));
}
