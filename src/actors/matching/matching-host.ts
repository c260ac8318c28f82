/**
 * A matching host: the actor around MatchingCore, owner of one partition of the matching topic.
 *
 *     router ─▶ PartitionActor ▶ MatchingCore ─▶ record ─▶ committed ─┬─▶ MatchingMemory  answers, asks of history and of parents
 *                   ▲                                                  │     │
 *                   │                                                  └─▶ Checkpointer    rows of a database, from which it is made again
 *                   └────── tick, taskStartAnswered, forwarded…Answered ◀────┘
 */
import { commandScale } from '../../matching/command-table.ts';
import { MatchingCore } from '../../matching/matching-core.ts';
import type { MatchingRecord } from '../../matching/matching-records.ts';
import { JournalStart } from '../../projections/checkpoints/journal-start.ts';
import { partitionReport, type PartitionReport } from '../partition/partition-report.ts';
import { journalOf, MatchingMemory } from './matching-memory.ts';
import type { HostCommand, HostEffect, HostReply, MatchingHostOptions } from './matching-memory.ts';
import { PartitionActor } from '../partition/partition-actor.ts';
import { NOBODY } from '../asks/asks.ts';
import type { StartedTask } from '../asks/router.ts';

/** How one partition of task queues is. `storedTasks`: that wait for a worker and are in the journal, or in the database. */
export type MatchingReport = PartitionReport & { readonly partition: number; readonly storedTasks: number };

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
      scale: commandScale,
      // What was started or dropped is journaled, so that the next owner does not offer it again.
      lastCommand: { kind: 'flushRemovals' },
      ...(checkpoints === undefined ? {} : { checkpoints: { restore: () => checkpoints.database.restore(journalOf(partition)) } }),
      drained: async (memory) => await memory.checkpointer?.finish(),
    });
  }

  /** Open polls end: empty, or with the task that is being started for them. */
  endPolls(): void {
    this.actor.submit(NOBODY, { kind: 'endPolls' });
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
}
