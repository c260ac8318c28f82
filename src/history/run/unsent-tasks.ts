/** Tasks of letters, begun under this owner, whose attempts were all refused: only these can be withdrawn. A takeover knows none. */
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
