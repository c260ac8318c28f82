import type { Clock } from '../../ports/machine.ts';
import type { PartitionState } from '../ownership/partition-life.ts';
import type { Checkpointer } from '../../projections/checkpoints/checkpointer.ts';

/** How one partition is that this process owns, and what is kept of it: for people, by `GET /health/state` and `perdure admin state`. */
export type PartitionReport = {
  readonly state: PartitionState;
  /** Why it is not active, as far as that is known; '' otherwise. */
  readonly reason: string;
  /** Of the last claim of it that counts, as far as its journal is read; 0: none. */
  readonly epoch: number;
  /** Of its journal: everything below is confirmed. */
  readonly offset: number;
  /** Absent: there is no database, or it has not told yet. */
  readonly checkpoint?: CheckpointReport;
};

export type CheckpointReport = {
  /** Of the last record that the database has; -1: none. */
  readonly offset: number;
  /** Since that record; absent: none. */
  readonly ageSeconds?: number;
  /** Behind it: what a restart reads. */
  readonly tailRecords: number;
  readonly tailBytes: number;
  /** In memory because it is not written. */
  readonly unwrittenBytes: number;
  readonly trouble?: { readonly reason: string; readonly seconds: number };
};

type Status = Pick<PartitionReport, 'state' | 'reason' | 'epoch' | 'offset'>;
type Now = Pick<Clock, 'wallMs' | 'monoMs'>;

export function partitionReport(
  { state, reason, epoch, offset }: Status,
  checkpointer: Checkpointer | undefined,
  clock: Now,
): PartitionReport {
  const checkpoint = checkpointer === undefined || checkpointer.fence === 0 ? {} : { checkpoint: checkpointReport(checkpointer, clock) };
  return { state, reason, epoch, offset, ...checkpoint };
}

function checkpointReport({ written, unwritten, unwrittenBytes, trouble }: Checkpointer, clock: Now): CheckpointReport {
  return {
    offset: written?.lastOffset ?? -1,
    ...(written === undefined ? {} : { ageSeconds: secondsOf(clock.wallMs() - written.timeMs) }),
    tailRecords: unwritten.records,
    tailBytes: unwritten.bytes,
    unwrittenBytes,
    ...(trouble === undefined ? {} : { trouble: { reason: trouble.reason, seconds: secondsOf(clock.monoMs() - trouble.sinceMs) } }),
  };
}

function secondsOf(ms: number): number {
  return Math.max(0, Math.round(ms / 1000));
}
