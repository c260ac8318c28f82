/** What those who run the transfer tasks of a shard need of it, and of each other. */
import type { OwnHistoryCommand } from '../../../history/commands.ts';
import type { UnsentTasks } from '../../../history/redrive/unsent-tasks.ts';
import type { SideTask, TransferTask } from '../../../history/tasks.ts';
import type { TaskFailure } from '../../../deadletters/task-failure.ts';
import type { Tries } from '../../asks/tries.ts';
import type { SideAnswer } from '../side-tasks/side-tasks.ts';

/** How many actors and queue partitions there are: fixed when the topics were made. */
export type ClusterLayout = {
  readonly historyShards: number;
  readonly matchingPartitions: number;
  readonly taskQueuePartitions: number;
};

/** Which tasks for workers may wait in memory for their next attempt (history/transfer/transfer-window.ts). Those that may not come back in `runAll`. */
export interface TransferRoom {
  /** A poll has it, or the memory of a sticky queue. */
  delivered(taskId: number): void;
  /** It was refused. False: it waits elsewhere. */
  keeps(taskId: number): boolean;
  /** The pause after that is over. False: likewise. */
  hasTurn(taskId: number): boolean;
  /** It has failed, and waits for its next attempt beside all others. False: too many do, it waits elsewhere. */
  fails(taskId: number): boolean;
  /** Elsewhere. */
  readonly othersWait: boolean;
}

/** What the queue needs of its shard. */
export interface TransferShard {
  readonly shard: number;
  /** Undefined: it has ended, or waits aside. */
  pendingTask(taskId: number): TransferTask | undefined;
  pendingTransferTasks(): Iterable<TransferTask>;
  /** Matching has stored it. */
  stored(taskId: number): void;
  /** Of letters: which of them may have reached somebody. */
  readonly unsentTasks: UnsentTasks;
  /** undefined: for all. */
  readonly room: TransferRoom | undefined;
  /** How long closed runs of a namespace are kept; undefined: not known here and now. */
  retentionMsOf(namespaceId: string): number | undefined;
  /** The row of List of a run in memory, as it is. Never rejects. */
  writeRow(task: SideTask): Promise<SideAnswer>;
  /** A command of the shard's own: nobody waits for its answer. */
  submit(command: OwnHistoryCommand): void;
}

/** What may become of one attempt, beside its success: told by whoever made it. */
export interface TaskAttempts {
  /** False: it has ended, waits aside, or is the business of another owner of the shard. */
  isStillOurs(task: TransferTask): boolean;
  /** It met nobody, or failed for what it is. */
  fails(task: TransferTask, tries: Tries, failure: TaskFailure): void;
  /** A bug of ours that meets this task is this task's trouble alone. */
  threw(task: TransferTask, tries: Tries, error: unknown): void;
  /** Nothing is left of what it was for. */
  over(task: TransferTask): void;
  /** False: it goes no further; its namespace is gone, or is looked for. */
  hasNamespace(task: TransferTask, namespaceId: string, tries: Tries): boolean;
}

/** Of an answer to what is asked of matching, or of another shard. */
export const DELIVERY_TIMEOUT_MS = 10_000;
