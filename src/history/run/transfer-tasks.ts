/** The pending transfer tasks in memory. A map is the truth and is what is hashed; which of them somebody tries is no part of it. */
import { type DispatchTask, isDispatch, type PendingTransfer } from './tasks.ts';

export class TransferTasks {
  readonly #tasks = new Map<number, PendingTransfer>();
  readonly byId: ReadonlyMap<number, PendingTransfer> = this.#tasks;
  #dispatches = 0;
  /** Tasks for workers that nobody tries: matching has them, or they wait for a later turn. */
  readonly #idle = new Set<number>();

  /** Tasks for workers that matching has not accepted, and that are tried now or after a pause. */
  get waiting(): number {
    return this.#dispatches - this.#idle.size;
  }

  add(task: PendingTransfer): void {
    if (isDispatch(task) && !this.#tasks.has(task.taskId)) this.#dispatches++;
    this.#tasks.set(task.taskId, task);
    if (isDispatch(task) && task.atMatching === true) this.#idle.add(task.taskId);
  }

  /** Matching has stored it: nobody tries it any more. undefined: it is not here. */
  noteAtMatching(taskId: number): DispatchTask | undefined {
    const task = this.#tasks.get(taskId);
    if (task === undefined || !isDispatch(task)) return undefined;
    const noted = { ...task, atMatching: true } as const;
    this.#tasks.set(taskId, noted);
    this.#idle.add(taskId);
    return noted;
  }

  remove(taskId: number): void {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    this.#tasks.delete(taskId);
    if (!isDispatch(task)) return;
    this.#dispatches--;
    this.#idle.delete(taskId);
  }

  isIdle(taskId: number): boolean {
    return this.#idle.has(taskId);
  }

  /** Nobody tries it from now on. False: it is not here, or was idle. */
  rest(taskId: number): boolean {
    const task = this.#tasks.get(taskId);
    if (task === undefined || !isDispatch(task) || this.#idle.has(taskId)) return false;
    this.#idle.add(taskId);
    return true;
  }

  /** The task is tried again. undefined: it is not here, or somebody tries it, or matching has stored it. */
  wake(taskId: number): DispatchTask | undefined {
    const task = this.#idle.has(taskId) ? this.#tasks.get(taskId) : undefined;
    if (task === undefined || !isDispatch(task) || task.atMatching === true) return undefined;
    this.#idle.delete(taskId);
    return task;
  }
}
