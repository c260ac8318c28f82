/** What operators ask a shard about its pending tasks. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { RedriveRequest } from './redrive-commands.ts';

/** Where a task stands among those of its category. What has no fire time has 0. */
export type TaskPlace = { readonly fireTimeMs: number; readonly taskId: number };

/** Reply: TaskList. `from` is the first that is wanted, `to` is behind the last. */
export type ListTasks = {
  readonly kind: 'listTasks';
  /** `transfer` (src/history/run/task-types.ts). */
  readonly category: string;
  readonly from: TaskPlace;
  readonly to: TaskPlace;
  readonly max: number;
};

/** `taskType` as Temporal calls it; '', and empty names: its row cannot be read. */
export type ListedTask = TaskPlace & { readonly taskType: string; readonly key: RunKey; readonly version: number };

/** Tasks in the order of their places. `next`: where the rest begins; undefined: there is none. A page may be short, or empty, and not the last. */
export type TaskList = { readonly kind: 'taskList'; readonly tasks: readonly ListedTask[]; readonly next: TaskPlace | undefined };

/** The task ends without having done anything. Reply: Done; rejected: task-not-found, failed-precondition. */
export type RemoveTask = {
  readonly kind: 'removeTask';
  readonly taskId: number;
  /** The type under which the task was listed: one that is not in memory is known by that. */
  readonly taskType: string;
  readonly by: string;
};

/** Tasks of one run, all or none: each waits under an id that is new, and is executed as any other. */
export type AddTasks = {
  readonly kind: 'addTasks';
  readonly key: RunKey;
  /** Pending tasks as rows hold them (perdure.state.v1.PendingTask). */
  readonly tasks: readonly Uint8Array[];
};

/** Asks to look at the tasks that are rows alone: `found` are the first of those in memory, one more than fit into the page if there are so many. */
export type TaskRowsToList = {
  readonly kind: 'taskRowsToList';
  readonly askId: number;
  readonly command: ListTasks;
  readonly found: readonly ListedTask[];
};

export type ShardTaskRequest = ListTasks | RemoveTask | AddTasks | RedriveRequest;
