/**
 * Deleted namespaces, until nothing is left of them but what they were called:
 *
 *     namespaceDeleted ─▶ a grace time ─▶ workflows, schedules, tasks are purged ─▶ namespacePurged ─▶ the delay of its entry ─▶ namespaceRemoved
 *
 * Workflows elsewhere may have one for a parent long after that, and what they have to tell it becomes a letter with the name that it had: so
 * names outlive their namespaces, the last ones of them.
 */
export type NamespaceDeletion = {
  readonly id: string;
  /** Nothing of it is touched before. */
  readonly purgeAtMs: number;
  /** How long its entry stays once it is purged. */
  readonly deleteDelayMs: number;
  /** undefined: something may be left. */
  readonly purgedAtMs: number | undefined;
};

/** Names of removed namespaces that are kept. Each is in the memory of every process. */
const removedNamesMax = 100_000;

export class NamespaceDeletions {
  readonly underWay = new Map<string, NamespaceDeletion>();
  /** The names under which removed namespaces were registered, by id, the oldest first. */
  readonly #removed = new Map<string, string>();

  deleted(deletion: NamespaceDeletion): void {
    this.underWay.set(deletion.id, deletion);
  }

  purged(id: string, purgedAtMs: number): void {
    const deletion = this.underWay.get(id);
    if (deletion !== undefined) this.underWay.set(id, { ...deletion, purgedAtMs });
  }

  removed(id: string, registeredName: string): void {
    this.underWay.delete(id);
    // One that is known is told again, with all that follow it.
    this.#removed.delete(id);
    this.#removed.set(id, registeredName);
    for (const [oldest] of this.#removed) {
      if (this.#removed.size <= removedNamesMax) return;
      this.#removed.delete(oldest);
    }
  }

  /** The oldest first. Those that come while somebody goes through them are among them. */
  get removedNames(): Iterable<readonly [id: string, registeredName: string]> {
    return this.#removed;
  }

  nameOfRemoved(id: string): string | undefined {
    return this.#removed.get(id);
  }
}

/** When there is something to do about it. */
export function nextStepMs({ purgeAtMs, deleteDelayMs, purgedAtMs }: NamespaceDeletion): number {
  return purgedAtMs === undefined ? purgeAtMs : purgedAtMs + deleteDelayMs;
}
