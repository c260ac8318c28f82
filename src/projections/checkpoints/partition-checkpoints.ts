/** The checkpoints of one memory of a partition, and the trim of its journal behind them. */
import type { Database } from '../database-port.ts';
import type { Log } from '../../ports/log.ts';
import { type CheckpointLimits, defaultCheckpointLimits } from './checkpoint-limits.ts';
import type { CheckpointSchedule } from './checkpoint-schedule.ts';
import { Checkpointer, type CheckpointerOptions } from './checkpointer.ts';
import { type JournalRetention, journalTrim } from './journal-trim.ts';

/** Where they are written, and when. Without a retention their journal is never trimmed. */
export type CheckpointOptions = Partial<JournalRetention> & {
  readonly database: Database;
  readonly limits?: Partial<CheckpointLimits>;
  /** Shared by all journals of this process. */
  readonly schedule: CheckpointSchedule;
};

export type PartitionCheckpointsOptions = Pick<CheckpointerOptions, 'journal' | 'state' | 'clock' | 'logger' | 'onFenced'> & {
  readonly checkpoints: Omit<CheckpointOptions, 'database'> & { readonly database: CheckpointerOptions['database'] };
  readonly log: Pick<Log, 'truncate'>;
  readonly topic: string;
  /** What was written may leave memory. */
  readonly onDurable?: () => void;
};

export function checkpointerOf({ checkpoints, log, topic, onDurable, ...options }: PartitionCheckpointsOptions): Checkpointer {
  const { database, limits, schedule, ...asked } = checkpoints;
  const { journal, clock, logger } = options;
  const retention: JournalRetention = { journalRetentionMs: 0, ...asked };
  const partition = { topic, partition: journal.partition };
  const trim = asked.journalRetentionMs === undefined ? undefined : journalTrim({ log, partition, clock, logger, retention });
  return new Checkpointer({
    ...options,
    database,
    limits: { ...defaultCheckpointLimits, ...limits },
    schedule,
    retention,
    onDurable: (position) => {
      trim?.(position);
      onDurable?.();
    },
  });
}
