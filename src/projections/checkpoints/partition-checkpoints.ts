/** The checkpoints of one memory of a partition, and the trim of its journal behind them. */
import type { Logger } from '../../observability/logger.ts';
import type { Database, JournalId } from '../database-port.ts';
import type { Log } from '../../ports/log.ts';
import type { Clock } from '../../ports/machine.ts';
import { type CheckpointLimits, defaultCheckpointLimits } from './checkpoint-limits.ts';
import type { CheckpointSchedule } from './checkpoint-schedule.ts';
import { type CheckpointedState, Checkpointer } from './checkpointer.ts';
import { type JournalRetention, JournalTrim } from './journal-trim.ts';

/** Where they are written, and when. Without a retention their journal is never trimmed. */
export type CheckpointOptions = Partial<JournalRetention> & {
  readonly database: Database;
  readonly limits?: Partial<CheckpointLimits>;
  /** Shared by all journals of this process. */
  readonly schedule: CheckpointSchedule;
};

export type PartitionCheckpointsOptions = {
  readonly checkpoints: Omit<CheckpointOptions, 'database'> & { readonly database: Pick<Database, 'write' | 'position'> };
  readonly log: Pick<Log, 'truncate'>;
  readonly topic: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly journal: JournalId;
  readonly state: CheckpointedState;
  /** What was written may leave memory. */
  readonly onDurable?: () => void;
  readonly onFenced: () => void;
};

export function checkpointerOf(options: PartitionCheckpointsOptions): Checkpointer {
  const { log, topic, journal, clock, logger, state, onDurable, onFenced } = options;
  const { database, limits, schedule, ...asked } = options.checkpoints;
  const retention: JournalRetention = { journalRetentionMs: 0, ...asked };
  const partition = { topic, partition: journal.partition };
  const trim = asked.journalRetentionMs === undefined ? undefined : new JournalTrim({ log, partition, clock, logger, retention });
  return new Checkpointer({
    journal,
    database,
    state,
    clock,
    logger,
    limits: { ...defaultCheckpointLimits, ...limits },
    schedule,
    retention,
    onDurable: (position) => {
      trim?.durable(position);
      onDurable?.();
    },
    onFenced,
  });
}
