/**
 * A matching host: the actor around MatchingCore, owner of one partition of the matching topic.
 *
 *     router ─▶ PartitionActor ▶ MatchingCore ─▶ record ─▶ committed ─┬─▶ MatchingShell   answers, asks of history and of parents
 *                   ▲                                                  │     │
 *                   │                                                  └─▶ Checkpointer    rows of a database, from which it is made again
 *                   └────── tick, taskStartAnswered, forwarded…Answered ◀────┘
 */
import { assert } from '../../kernel/assert.ts';
import type { CommandIds } from '../../kernel/handled.ts';
import { commandBytes } from '../../matching/command-bytes.ts';
import type { MatchingLimits } from '../../matching/limits.ts';
import { MatchingCore } from '../../matching/matching-core.ts';
import type { MatchingRecord } from '../../matching/records.ts';
import type { QueueWithTasks } from '../../matching/task-queue.ts';
import type { Checkpointer } from '../checkpoint/checkpointer.ts';
import { JournalStart } from '../checkpoint/journal-start.ts';
import { checkpointerOf } from '../checkpoint/partition-checkpoints.ts';
import type { JournalId, Restored } from '../database.ts';
import { partitionReport } from '../checkpoint/partition-report.ts';
import { ColdTasks } from './cold-tasks.ts';
import { installBacklog, MatchingCheckpoints, type MatchingCheckpointOptions, recordBytes } from './matching-checkpoints.ts';
import type { MatchingReport } from './matching-report.ts';
import { MatchingShell, type HostCommand, type HostEffect, type HostHandled, type HostReply } from './matching-shell.ts';
import { PartitionActor, type ActorOptions } from '../partition/partition-actor.ts';
import type { CommitSubscriber, PartitionCore, PartitionMemory } from '../partition/partition-core.ts';
import type { Clock } from '../ports.ts';
import type { Asker, StartedTask } from '../asks/router.ts';
import type { Tenure } from '../partition/tenure.ts';

export type MatchingHostOptions = ActorOptions<HostReply, MatchingRecord> & {
  /** From 0. */
  readonly partition: number;
  /** Partitions of the matching topic. */
  readonly matchingPartitions: number;
  /** Of each task queue. */
  readonly taskQueuePartitions: number;
  readonly router: Asker;
  /** The backlog is written to a database, and taken from there; absent: it lives in memory and in the journal. */
  readonly checkpoints?: MatchingCheckpointOptions;
  readonly limits?: Partial<MatchingLimits>;
};

/** Each memory counts its correlations from a start of its own. */
const CORRELATIONS_PER_MEMORY = 2 ** 40;

export class MatchingHost {
  readonly actor: PartitionActor<HostCommand, HostReply, MatchingRecord, HostEffect, MatchingMemory>;
  readonly #options: MatchingHostOptions;
  readonly #journalStart = new JournalStart();
  #memories = 0;

  constructor(options: MatchingHostOptions) {
    const { checkpoints, partition } = options;
    this.#options = options;
    this.actor = new PartitionActor<HostCommand, HostReply, MatchingRecord, HostEffect, MatchingMemory>(options, {
      partition: options.partition,
      logFields: { 'matching-partition': options.partition },
      create: (tenure) => {
        const core = new MatchingCore<StartedTask>({
          firstCorrelation: this.#memories++ * CORRELATIONS_PER_MEMORY,
          taskQueuePartitions: options.taskQueuePartitions,
          ...(options.limits === undefined ? {} : { limits: options.limits }),
          ...(checkpoints === undefined ? {} : { backlogWire: checkpoints.stateWire }),
        });
        return new MatchingMemory(options, core, tenure);
      },
      scale: {
        bytesOf: commandBytes,
        namespaceOf: (command) =>
          'queue' in command ? command.queue.namespaceId : command.kind === 'forgetNamespace' ? command.namespaceId : '',
        finishesWork: (command) => command.kind === 'answerQuery' || command.kind === 'shutdownWorker',
      },
      // What was started or dropped is journaled, so that the next owner does not offer it again.
      lastCommand: { kind: 'flushRemovals' },
      ...(checkpoints === undefined ? {} : { checkpoints: { restore: () => checkpoints.database.restore(journalOf(partition)) } }),
      drained: async (memory) => await memory.checkpointer?.finish(),
    });
  }

  /** Open polls end: empty, or with the task that is being started for them. */
  endPolls(): void {
    this.actor.submitOwn({ kind: 'endPolls' });
  }

  /** Task queues of some namespaces that have stored tasks. undefined: they are not served here now, so nobody knows. */
  queuesOf(isWanted: (namespaceId: string) => boolean): readonly QueueWithTasks[] | undefined {
    const { memory } = this.actor;
    return memory?.active === true ? memory.matching.storedQueues(isWanted) : undefined;
  }

  get journalStartMax(): number {
    return this.#options.checkpoints === undefined ? 0 : this.#journalStart.max(this.actor.memory?.checkpointer);
  }

  report(): MatchingReport {
    const { clock, partition } = this.#options;
    const { memory } = this.actor;
    const status = partitionReport(this.actor.status(), memory?.checkpointer, clock);
    return { partition, ...status, storedTasks: memory?.matching.storedTasks ?? 0 };
  }

  counts(): ReturnType<MatchingCore<StartedTask>['counts']> | undefined {
    return this.actor.memory?.matching.counts();
  }
}

function journalOf(partition: number): JournalId {
  return { kind: 'matching', partition };
}

/** One memory of the host, from replay to the loss of ownership. Nothing but checkpoints is built from its records beside the core. */
class MatchingMemory implements PartitionMemory<HostCommand, HostReply, MatchingRecord, HostEffect> {
  readonly matching: MatchingCore<StartedTask>;
  readonly core: WallClockCore;
  readonly shell: MatchingShell;
  readonly subscribers: readonly CommitSubscriber<MatchingRecord>[];
  /** undefined: there is no database. */
  readonly checkpointer: Checkpointer | undefined;
  readonly #options: MatchingHostOptions;
  readonly #tenure: Tenure<HostCommand>;

  constructor(options: MatchingHostOptions, matching: MatchingCore<StartedTask>, tenure: Tenure<HostCommand>) {
    const { checkpoints, partition, logger } = options;
    const checkpointer =
      checkpoints === undefined
        ? undefined
        : checkpointerOf({
            ...options,
            checkpoints,
            logger: logger.with({ 'matching-partition': partition }),
            journal: journalOf(partition),
            state: new MatchingCheckpoints(matching),
            onDurable: () => {
              if (matching.hasToTick) tenure.submit({ kind: 'tick' });
            },
            onFenced: () => tenure.fenced(),
          });
    this.#options = options;
    this.#tenure = tenure;
    this.matching = matching;
    this.checkpointer = checkpointer;
    this.core = new WallClockCore(matching, options.clock);
    const coldTasks =
      checkpoints === undefined || checkpointer === undefined
        ? undefined
        : new ColdTasks({ database: checkpoints.database, journal: journalOf(partition), checkpointer, logger });
    this.shell = new MatchingShell({ ...options, core: matching, tenure, checkpointer, coldTasks });
    this.subscribers =
      checkpointer === undefined
        ? []
        : [{ committed: (record, position, replayed) => checkpointer.committed(recordBytes(record), position, replayed) }];
  }

  get active(): boolean {
    return this.#tenure.active;
  }

  async install(restored: Restored): Promise<void> {
    const { checkpoints, partition, logger } = this.#options;
    assert(checkpoints !== undefined && this.checkpointer !== undefined, 'a memory is installed from its database');
    const told = logger.with({ 'matching-partition': partition });
    await installBacklog(this.matching, checkpoints.database, journalOf(partition), restored, told);
    this.checkpointer.installed(restored);
  }
}

/**
 * The core by the wall clock alone, as the deadlines that callers give. The journal's time never goes back: where an earlier owner's clock
 * was an hour ahead, every poll would be over before it came, for an hour.
 */
class WallClockCore implements PartitionCore<HostCommand, HostReply, MatchingRecord, HostEffect> {
  readonly #core: MatchingCore<StartedTask>;
  readonly #clock: Clock;

  constructor(core: MatchingCore<StartedTask>, clock: Clock) {
    this.#core = core;
    this.#clock = clock;
  }

  handle(command: HostCommand, _journalTimeMs: number, askId: number): HostHandled {
    return this.#core.handle(command, this.#clock.wallMs(), askId);
  }

  /** A task that history could hold is no larger than what a record holds: this is refused, and history keeps it. */
  tooLarge(): undefined {
    return undefined;
  }

  idsOf(command: HostCommand): CommandIds {
    const queue = 'queue' in command ? command.queue : undefined;
    return { command: command.kind, namespaceId: queue?.namespaceId, taskQueue: queue?.name };
  }

  accept(handled: HostHandled): void {
    if (handled.kind === 'commit') this.#core.evolve(handled.record);
  }

  evolve(record: MatchingRecord): void {
    this.#core.evolve(record);
  }

  cancel(askId: number): HostHandled {
    return this.#core.cancel(askId, this.#clock.wallMs());
  }
}
