/** One matching host that is killed and started again, over one log and one database; a history shard and a worker act on it. */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import assert from 'node:assert/strict';
import type { MatchingAnswer, Router } from '../../../src/actors/asks/router.ts';
import type { CheckpointLimits } from '../../../src/projections/checkpoints/checkpoint-limits.ts';
import type { Database, JournalId, MatchingTaskRow } from '../../../src/projections/database-port.ts';
import { MatchingHost } from '../../../src/actors/matching/matching-host.ts';
import { systemClock } from '../../../src/ports/system-ports.ts';
import type { HistoryRequest } from '../../../src/history/commands/history-commands.ts';
import type { HistoryReply } from '../../../src/history/run/history-replies.ts';
import type { MatchingLimits } from '../../../src/matching/matching-limits.ts';
import type { DescribeTaskQueue } from '../../../src/matching/matching-commands.ts';
import { MatchingCore } from '../../../src/matching/matching-core.ts';
import type { TaskQueuePartition } from '../../../src/kernel/task-queue.ts';
import { matchingCodec } from '../../../src/codec/matching-codec.ts';
import { matchingStateCodec } from '../../../src/codec/matching-state-codec.ts';
import { activities, add, poll, task, workflows } from '../../matching/fixtures.ts';
import { matchingQueuesOf } from '../../support/memory-database.ts';
import { turns } from '../../support/event-loop.ts';
import { CheckpointedPartition } from '../checkpointed-partition.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { jsonClaims } from '../ledger.ts';

const topic = 'test.matching';
const journal: JournalId = { kind: 'matching', partition: 0 };

export const QUEUES = 3;

function queueOf(queue: number): TaskQueuePartition {
  return { ...(queue % 2 === 0 ? activities : workflows), name: `orders-${queue}` };
}

export type HostOptions = {
  readonly limits?: Partial<CheckpointLimits>;
  readonly journalRetentionMs?: number;
  readonly journalRetentionBytes?: number;
  readonly windows?: Partial<MatchingLimits>;
};

export class CheckpointedHost extends CheckpointedPartition<MatchingHost> {
  readonly #options: HostOptions;
  /** Tasks that history need not offer again, by name. */
  readonly taken = new Set<string>();
  /** Tasks whose start history has recorded. */
  readonly started = new Set<string>();
  /** That a database has handed out, of its queues and of their tasks. */
  rowsRead = 0;
  #polls = 0;

  constructor(options: HostOptions = {}) {
    super({ topic, journal });
    this.#options = options;
  }

  get matching(): MatchingCore<unknown> {
    const { memory } = this.host.actor;
    assert(memory !== undefined, 'it was started');
    return memory.matching;
  }

  get unwrittenBytes(): number {
    return this.host.actor.memory?.checkpointer?.unwrittenBytes ?? 0;
  }

  get rows(): Map<number, MatchingTaskRow> {
    return this.tables.journal(journal).matchingTasks;
  }

  get #sortedRows(): readonly MatchingTaskRow[] {
    return [...this.rows.values()].toSorted((one, other) => one.taskId - other.taskId);
  }

  get inMemory(): number {
    return this.matching.counts().tasksInMemory;
  }

  // ── History and a worker ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether it is answered or not: the host may be killed before. */
  async add(name: string, queue = 0): Promise<void> {
    this.router.askMatching(0, add(task(name), { queue: queueOf(queue) }), ownWork(FAR_AWAY_MS), (answer) => {
      if (answer.kind === 'done' || answer.kind === 'stored') this.taken.add(name);
    });
    await turns(4);
  }

  /** A worker takes what is in the queue. */
  async work(queue = 0): Promise<void> {
    const request = poll(`p${this.#polls++}`, { queue: queueOf(queue), deadlineMs: this.clock.wallMs() + 50 });
    this.router.askMatching(0, request, ownWork(FAR_AWAY_MS), () => {});
    await turns(6);
  }

  async describe(queue = 0): Promise<MatchingAnswer<DescribeTaskQueue>> {
    const answers: MatchingAnswer<DescribeTaskQueue>[] = [];
    const request = { kind: 'describeTaskQueue', queue: queueOf(queue) } as const;
    this.router.askMatching(0, request, ownWork(FAR_AWAY_MS), (answer) => answers.push(answer));
    await turns(6);
    assert(answers[0] !== undefined, 'it is answered');
    return answers[0];
  }

  /** The namespace of all its queues, or another. */
  async forget(namespaceId = queueOf(0).namespaceId): Promise<void> {
    const kinds: string[] = [];
    this.router.askMatching(0, { kind: 'forgetNamespace', namespaceId }, ownWork(FAR_AWAY_MS), ({ kind }) => kinds.push(kind));
    await turns(6);
    assert.deepEqual(kinds, ['done']);
  }

  // ── What must be true ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Memory is what the journal says, from its first record on. */
  checkMemory(): void {
    assert.equal(this.matching.canonicalState(this.#sortedRows), this.folded().canonicalState(), 'memory is the journal, folded from 0');
  }

  /** The rows are what the journal says up to their position. */
  checkRows(): void {
    const { position } = this.tables.journal(journal);
    if (position === undefined) return;
    const core = new MatchingCore<never>({ firstCorrelation: 0, backlogWire: matchingStateCodec });
    core.install(matchingQueuesOf(this.#sortedRows));
    core.installed(position);
    assert.equal(
      core.canonicalState(),
      this.folded(position.lastOffset).canonicalState(),
      'rows are the journal, folded up to their position',
    );
  }

  /** Whatever the host took is started in the end. */
  async checkNothingLost(): Promise<void> {
    for (let tries = 0; tries < 500 && this.host.actor.memory?.matching.counts()?.storedTasks !== 0; tries++) {
      await this.work(tries % QUEUES);
      await this.pass(500);
    }
    const lost = [...this.taken].filter((name) => !this.started.has(name));
    assert.deepEqual(lost, [], 'every task that the host took was started');
  }

  folded(lastOffset = Infinity): MatchingCore<never> {
    const core = new MatchingCore<never>({ firstCorrelation: 0 });
    for (const { offset, value, schema } of this.records()) if (offset <= lastOffset) core.evolve(matchingCodec.decode(value, schema));
    return core;
  }

  // ── What it stands on ──────────────────────────────────────────────────────────────────────────────────────────────────────

  protected open(router: Router, connected: Database): MatchingHost {
    const database = this.#counted(connected);
    const history = router.history.sink(1);
    router.history.attach(1, {
      submit: (askId, command) => {
        const reply = this.#startOf(command);
        systemClock.soon(() => history.answer(askId, reply));
        return undefined;
      },
      cancel: () => {},
    });
    const host = new MatchingHost({
      partition: 0,
      topic,
      owner: 'test',
      log: this.log,
      codec: matchingCodec,
      claims: jsonClaims,
      matchingPartitions: 1,
      taskQueuePartitions: 1,
      router,
      sink: router.matching.sink(0),
      clock: this.clock,
      random: this.random,
      logger: this.logger,
      onStatus: () => {},
      ...(this.#options.windows === undefined ? {} : { limits: this.#options.windows }),
      checkpoints: { database, stateWire: matchingStateCodec, schedule: this.schedule, ...this.#options },
    });
    router.matching.attach(0, host.actor);
    return host;
  }

  #counted(database: Database): Database {
    const matchingQueues = database.matchingQueues.bind(database);
    const matchingTasks = database.matchingTasks.bind(database);
    return Object.assign(database, {
      matchingQueues: async (...given: Parameters<Database['matchingQueues']>) => {
        const found = await matchingQueues(...given);
        this.rowsRead += found.rows.reduce((sum, { tasks }) => sum + 1 + tasks.length, 0);
        return found;
      },
      matchingTasks: async (...given: Parameters<Database['matchingTasks']>) => {
        const found = await matchingTasks(...given);
        this.rowsRead += found.rows.length;
        return found;
      },
    });
  }

  /** A task is started once, for one poll. What the worker is given does not matter here. */
  #startOf(command: HistoryRequest): HistoryReply {
    if (command.kind !== 'startActivityTask' && command.kind !== 'startWorkflowTask') return { kind: 'done' };
    this.started.add(command.key.workflowId);
    return { kind: 'rejected', rejection: { reason: 'task-not-found', message: 'a worker has it' } };
  }
}
