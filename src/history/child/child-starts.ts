/** Which run has made each child (`ShardView.childStarts`). */
import { startOfDeleted } from '../outbox/last-message.ts';
import type { PendingTask } from '../tasks.ts';

export class ChildStarts {
  readonly #runIds = new Map<string, string>();
  readonly runIds: ReadonlyMap<string, string> = this.#runIds;
  /** By the same keys: the task of a deleted run that keeps the start, whatever becomes of the run that it has made. */
  readonly #kept = new Map<string, number>();

  set(startKey: string, runId: string): void {
    this.#runIds.set(startKey, runId);
  }

  /** Until its parent has heard of its end, the child that was deleted is the one that the parent's start has made. */
  keep(task: PendingTask): void {
    const start = startOfDeleted(task);
    if (start === undefined) return;
    this.#kept.set(start.startKey, task.taskId);
    this.#runIds.set(start.startKey, start.firstRunId);
  }

  /** That message is delivered. */
  giveUp(task: PendingTask, runs: ReadonlyMap<string, unknown>): void {
    const start = startOfDeleted(task);
    if (start === undefined || !this.#kept.delete(start.startKey)) return;
    if (!runs.has(start.firstRunId)) this.#runIds.delete(start.startKey);
  }

  /** The run that was made leaves. */
  drop(startKey: string): void {
    if (!this.#kept.has(startKey)) this.#runIds.delete(startKey);
  }

  dropOf(runIds: ReadonlySet<string>): void {
    for (const [startKey, runId] of this.#runIds) if (runIds.has(runId)) this.drop(startKey);
  }
}
