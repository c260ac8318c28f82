import type { PartitionReport } from '../checkpoint/partition-report.ts';

/** How one partition of task queues is. */
export type MatchingReport = PartitionReport & {
  /** From 0. */
  readonly partition: number;
  /** That wait for a worker and are in the journal, or in the database. */
  readonly storedTasks: number;
};
