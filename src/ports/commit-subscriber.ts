import type { RecordPosition } from './log.ts';

/** What is built out of committed records. Called in log order, only for effective ones, and before anything leaves that rests on them. */
export interface CommitSubscriber<Record> {
  /** In the log for good: live after its commit, and in replay. `position` is good in the call alone: one object serves many records. */
  committed(record: Record, position: RecordPosition, replayed: boolean): void;
}
