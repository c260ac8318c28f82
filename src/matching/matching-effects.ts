/** What the shell does for a matching host, in the order given: a withdrawal must reach history before the next start. */
import type { ReplyEffect } from '../kernel/handled.ts';
import type { UnreadTask } from './checkpoint/read-rows.ts';
import type { AddTask, ConfigurePartition, PollTask } from './matching-commands.ts';
import type { RunKey } from '../kernel/run-key.ts';
import type { MatchingTask } from './matching-tasks.ts';
import type { MatchingReply } from './matching-replies.ts';
import type { TaskQueuePartition } from '../kernel/task-queue.ts';

/** Ask history to record this start; hand the outcome back as `taskStartAnswered`, in any case. */
export type StartTask = {
  readonly kind: 'startTask';
  readonly correlation: number;
  readonly queue: TaskQueuePartition;
  readonly task: MatchingTask;
  readonly pollRequestId: string;
  readonly identity: string;
  readonly workerVersion: Uint8Array | undefined;
};

/** The poll went away after its start was asked: history takes the start back, if there was one. */
export type WithdrawActivityStart = {
  readonly kind: 'withdrawActivityStart';
  readonly historyShard: number;
  readonly key: RunKey;
  readonly scheduledEventId: number;
  readonly pollRequestId: string;
};

/** Ask the parent partition; hand its answer back as `forwardedPollAnswered`, in any case. */
export type ForwardPoll = { readonly kind: 'forwardPoll'; readonly correlation: number; readonly command: PollTask };

/** The forwarded poll's caller is gone: cancel the ask. Its answer is still handed back. */
export type CancelForwardedPoll = { readonly kind: 'cancelForwardedPoll'; readonly correlation: number };

/** Ask the parent partition; hand its answer back as `forwardedTaskAnswered`, in any case. */
export type ForwardTask = { readonly kind: 'forwardTask'; readonly correlation: number; readonly command: AddTask };

/** Read a lane's rows behind `afterTaskId`; `storedTasksLoaded` answers in any case. Fewer than `rowsMin` up to `untilTaskId`: the table is damaged. */
export type LoadStoredTasks = {
  readonly kind: 'loadStoredTasks';
  readonly queue: TaskQueuePartition;
  readonly key: string;
  readonly afterTaskId: number;
  readonly untilTaskId: number;
  readonly max: number;
  readonly rowsMin: number;
};

/** Count stored tasks of this lane in the table, the first `max` of a range of ids; `storedTasksCounted` answers, however late. */
export type CountStoredTasks = Omit<LoadStoredTasks, 'kind' | 'rowsMin'> & { readonly kind: 'countStoredTasks' };

/** Tell another partition of a queue whose root is here, until it has confirmed. A later one of the same partition takes its place. */
export type TellPartition = { readonly kind: 'tellPartition'; readonly command: ConfigurePartition };

/** The namespace is removed: nobody is to hear any more what was said of its queues. */
export type ForgetNews = { readonly kind: 'forgetNews'; readonly namespaceId: string };

/** Rows that were read cannot be understood: people are told, the tasks behind them go on. */
export type TasksUnread = { readonly kind: 'tasksUnread'; readonly unread: readonly UnreadTask[] };

/** A bug of ours met one command, or one entry whose time had come: whoever asked gets no other answer, people are told, the rest goes on. */
export type Broken = {
  readonly kind: 'broken';
  /** 0: nobody asked. */
  readonly askId: number;
  /** Kind of the command, or of the entry. */
  readonly what: string;
  readonly queue: TaskQueuePartition | undefined;
  readonly error: unknown;
};

export type MatchingEffect<T> =
  | ReplyEffect<MatchingReply<T>>
  | StartTask
  | WithdrawActivityStart
  | ForwardPoll
  | CancelForwardedPoll
  | Broken
  | LoadStoredTasks
  | CountStoredTasks
  | TasksUnread
  | TellPartition
  | ForgetNews
  | ForwardTask;
