/** What the queue of a shard's transfer tasks needs of it. */
import type { OwnHistoryCommand } from '../../../history/commands/history-commands.ts';
import type { TransferWindow } from '../../../history/residency/transfer-window.ts';
import type { UnsentTasks } from '../../../history/run/unsent-tasks.ts';
import type { SideTask, TransferTask } from '../../../history/run/tasks.ts';
import type { SideAnswer } from '../side-tasks/side-tasks.ts';

/** How many actors and queue partitions there are: fixed when the topics were made. */
export type ClusterLayout = { readonly historyShards: number; readonly matchingPartitions: number; readonly taskQueuePartitions: number };

/** Says which tasks for workers may wait in memory for their next attempt. The others come back in `runAll`. */
export type TransferRoom = Pick<TransferWindow, 'delivered' | 'keeps' | 'hasTurn' | 'fails' | 'othersWait'>;

export interface TransferShard {
  readonly shard: number;
  /** Undefined: it has ended, or waits aside. */
  pendingTask(taskId: number): TransferTask | undefined;
  pendingTransferTasks(): Iterable<TransferTask>;
  stored(taskId: number): void;
  /** Tells which tasks of dead letters may have reached somebody. */
  readonly unsentTasks: UnsentTasks;
  /** undefined: for all. */
  readonly room: TransferRoom | undefined;
  /** How long closed runs of a namespace are kept; undefined: not known here and now. */
  retentionMsOf(namespaceId: string): number | undefined;
  /** The row of List of a run in memory, as it is. Never rejects. */
  writeRow(task: SideTask): Promise<SideAnswer>;
  submit(command: OwnHistoryCommand): void;
}
