/** What changed since the last cut, net. Runs are only named, and encoded later (cut.ts); what else is here is never changed in place. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { UnreadTask } from './residency.ts';
import { childStartKey, executionKey, type RunView } from '../run/state.ts';
import { type DispatchTask, isTimer, type PendingTask } from '../run/tasks.ts';
import type { ChildStartRow } from './rows.ts';

export class ChangeSet {
  /** What has a higher id was made since, and is in no row. */
  readonly #taskIdWritten: number;
  readonly runs = new Map<string, RunView>();
  readonly currentRuns = new Map<string, RunKey>();
  readonly childStarts = new Map<string, ChildStartRow>();
  /** Tasks that were made, or came back into their queue. */
  readonly tasks = new Map<number, PendingTask>();
  readonly tasksAside = new Map<number, PendingTask>();
  /** Tasks, in memory or not, whose rows do not say yet that matching has stored them. */
  readonly atMatching = new Set<number>();
  readonly goneTransfers = new Set<number>();
  readonly goneTimers = new Set<number>();
  readonly retired = new Map<string, RunKey>();

  constructor(taskIdWritten: number) {
    this.#taskIdWritten = taskIdWritten;
  }

  runBegan(run: RunView): void {
    const { key, start } = run;
    this.runs.set(key.runId, run);
    this.pointTo(key);
    const { parent, firstRunId } = start;
    if (parent === undefined || firstRunId !== key.runId) return;
    const { runId: parentRunId, initiatedEventId } = parent;
    this.childStarts.set(childStartKey(parent), { parentRunId, initiatedEventId, runId: key.runId });
  }

  /** The newest run of its workflow id. */
  pointTo(key: RunKey): void {
    this.currentRuns.set(executionKey(key.namespaceId, key.workflowId), key);
  }

  /** Its pointer stays among the changes: an older run of the workflow id in the table, with a pointer to it, would be found again. */
  runForgotten({ key, start: { parent } }: RunView): void {
    this.runs.delete(key.runId);
    this.runRetired(key);
    if (parent === undefined) return;
    const startKey = childStartKey(parent);
    if (this.childStarts.get(startKey)?.runId === key.runId) this.childStarts.delete(startKey);
  }

  runRetired(key: RunKey): void {
    this.retired.set(key.runId, key);
  }

  taskWaits(task: PendingTask): void {
    // The run's row says when it ends.
    if (task.kind === 'retention') return this.taskGone(task);
    this.tasksAside.delete(task.taskId);
    this.atMatching.delete(task.taskId);
    this.tasks.set(task.taskId, task);
  }

  taskWaitsAside(task: PendingTask): void {
    this.tasks.delete(task.taskId);
    this.atMatching.delete(task.taskId);
    this.tasksAside.set(task.taskId, task);
  }

  /** `task`: as it is in memory now. One without is in a row, if it has not ended. */
  taskAtMatching(taskId: number, task: DispatchTask | undefined): void {
    if (task !== undefined && this.tasks.has(taskId)) this.tasks.set(taskId, task);
    else if (taskId <= this.#taskIdWritten && !this.isGone(taskId)) this.atMatching.add(taskId);
  }

  taskGone(task: PendingTask): void {
    const { taskId } = task;
    this.tasks.delete(taskId);
    this.tasksAside.delete(taskId);
    this.atMatching.delete(taskId);
    if (taskId <= this.#taskIdWritten) (isTimer(task) ? this.goneTimers : this.goneTransfers).add(taskId);
  }

  /** A task that is not in memory has ended, if it had not before: nobody knows of which kind it was. */
  unseenTaskGone(taskId: number): void {
    if (taskId > this.#taskIdWritten || this.isGone(taskId)) return;
    this.atMatching.delete(taskId);
    this.goneTimers.add(taskId);
    this.goneTransfers.add(taskId);
  }

  unreadTaskGone({ taskId, kind }: UnreadTask): void {
    this.atMatching.delete(taskId);
    (kind === 'timer' ? this.goneTimers : this.goneTransfers).add(taskId);
  }

  isGone(taskId: number): boolean {
    return this.goneTransfers.has(taskId) || this.goneTimers.has(taskId);
  }
}
