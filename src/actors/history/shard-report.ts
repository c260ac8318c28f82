import type { Clock } from '../ports.ts';
import type { HistoryMemory } from './history-memory.ts';

/** How one history shard is, and what is kept of it: for people, by `GET /health/state` and `perdure admin state`. */
export type ShardReport = {
  /** From 1. */
  readonly shard: number;
  readonly state: string;
  /** Why it is not active, as far as that is known; '' otherwise. */
  readonly reason: string;
  /** Of its journal: everything below is confirmed. */
  readonly offset: number;
  /** In memory; `cold`: what is in the database alone, absent while nobody counts it. */
  readonly executions: { readonly hot: number; readonly cold?: number };
  /** Absent: there is no database, or it has not told yet. */
  readonly checkpoint?: CheckpointReport;
};

export type CheckpointReport = {
  /** Of the last record that the database has; -1: none. */
  readonly offset: number;
  /** Since that record; absent: none. */
  readonly ageSeconds?: number;
  /** Behind it, as far as no checkpoint is under way for them. */
  readonly tailRecords: number;
  readonly tailBytes: number;
  /** In memory because it is not written. */
  readonly unwrittenBytes: number;
  /** Why nothing is written. */
  readonly trouble?: { readonly reason: string; readonly seconds: number };
};

/** Of the partition that it owns. */
type Status = { readonly state: string; readonly reason: string; readonly offset: number };
type Now = Pick<Clock, 'wallMs' | 'monoMs'>;

export function shardReport(shard: number, status: Status, memory: HistoryMemory | undefined, clock: Now): ShardReport {
  const { state, reason, offset } = status;
  const checkpointer = memory?.checkpointer;
  const checkpoint = checkpointer === undefined || checkpointer.fence === 0 ? undefined : checkpointReport(checkpointer, clock);
  const hot = memory?.core.runsInMemory ?? 0;
  const cold = memory?.core.keepsAll === false ? undefined : 0;
  const executions = { hot, ...(cold === undefined ? {} : { cold }) };
  return { shard, state, reason, offset, executions, ...(checkpoint === undefined ? {} : { checkpoint }) };
}

function checkpointReport(checkpointer: NonNullable<HistoryMemory['checkpointer']>, clock: Now): CheckpointReport {
  const { written, tailRecords, tailBytes, unwrittenBytes, trouble } = checkpointer;
  return {
    offset: written?.lastOffset ?? -1,
    ...(written === undefined ? {} : { ageSeconds: secondsOf(clock.wallMs() - written.timeMs) }),
    tailRecords,
    tailBytes,
    unwrittenBytes,
    ...(trouble === undefined ? {} : { trouble: { reason: trouble.reason, seconds: secondsOf(clock.monoMs() - trouble.sinceMs) } }),
  };
}

function secondsOf(ms: number): number {
  return Math.max(0, Math.round(ms / 1000));
}
