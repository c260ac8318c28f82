/**
 * Tasks of letters that cannot have reached anybody: they were begun under this owner of the shard, and each attempt so far was refused as a whole. Only
 * these can be withdrawn. Not folded: a takeover knows of none, for the owner before may have sent any.
 */
export type UnsentTasksView = { has(taskId: number): boolean };

export class UnsentTasks implements UnsentTasksView {
  readonly #taskIds = new Set<number>();

  has(taskId: number): boolean {
    return this.#taskIds.has(taskId);
  }

  begun(taskId: number): void {
    this.#taskIds.add(taskId);
  }

  /** An attempt begins. True: it is to be told, by `refused`, that nothing has come of it. */
  sent(taskId: number): boolean {
    return this.#taskIds.delete(taskId);
  }

  /** Whoever was asked has refused the task, and nothing has happened there. */
  refused(taskId: number): void {
    this.#taskIds.add(taskId);
  }

  ended(taskId: number): void {
    this.#taskIds.delete(taskId);
  }
}
