import { type PartitionReport, partitionReport } from '../checkpoint/partition-report.ts';
import type { Clock } from '../ports.ts';
import type { ListRebuildReport } from './visibility/list-rebuild.ts';
import type { HistoryMemory } from './history-memory.ts';

export type ShardReport = PartitionReport & {
  /** From 1. */
  readonly shard: number;
  /**
   * Runs. `hot`: in memory, where they take `hotBytes`, roughly, if they may leave; `cold`: in the database alone. Absent: not known, the shard is
   * not restored yet.
   */
  readonly executions: { readonly hot: number; readonly hotBytes?: number; readonly cold?: number };
  /** Of the rows of List, since the shard was taken over. */
  readonly listRebuild?: ListRebuildReport;
};

/** `refused`: why nothing was begun; absent: rows of List are built again by whoever serves the shard. */
export type RebuildAnswer = { readonly shard: number; readonly refused?: string };

type Status = Parameters<typeof partitionReport>[0];

export function shardReport(
  shard: number,
  status: Status,
  memory: HistoryMemory | undefined,
  clock: Pick<Clock, 'wallMs' | 'monoMs'>,
): ShardReport {
  const { core, checkpointer } = memory ?? {};
  const cold = core?.runsCold;
  const executions = {
    hot: core?.runsInMemory ?? 0,
    ...(core === undefined || checkpointer === undefined ? {} : { hotBytes: core.hotBytes }),
    ...(cold === undefined ? {} : { cold }),
  };
  const listRebuild = memory?.durable?.listRebuild?.report;
  return { shard, ...partitionReport(status, checkpointer, clock), executions, ...(listRebuild === undefined ? {} : { listRebuild }) };
}
