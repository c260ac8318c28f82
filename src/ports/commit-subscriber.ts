import type { RecordPosition } from './log.ts';

/**
 * What is built out of committed records, beside the core or of it. Called in log order, only for effective records, and before anything leaves
 * that rests on them.
 */
export interface CommitSubscriber<Record> {
  /**
   * The record is in the log for good: live after its commit, and in replay. `position` is good during the call alone: one object serves
   * many records.
   */
  committed(record: Record, position: RecordPosition, replayed: boolean): void;
}
