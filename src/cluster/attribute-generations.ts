/**
 * Which of several search attributes of one name: one that was removed and added again, perhaps with another type, is another one. Workflows
 * keep what was set on them, by its name, for as long as they are kept; so a value tells for which generation it was set, and shows in no other.
 *
 *     added: 0, values tell nothing ─▶ removed ─▶ added again: 1, values tell 1 ─▶ removed ─▶ …
 */
const none: ReadonlyMap<string, number> = new Map();

export class AttributeGenerations {
  /** The last generation of each name that was ever added, by namespace id ('' = every namespace). */
  readonly #last = new Map<string, Map<string, number>>();

  add(namespaceId: string, names: Iterable<string>, said: ReadonlyMap<string, number>): void {
    const last = this.#last.get(namespaceId) ?? new Map<string, number>();
    this.#last.set(namespaceId, last);
    for (const name of names) last.set(name, said.get(name) ?? 0);
  }

  /** The next generations of names that are added and were there before: in this namespace, in every one (''), or in any if for all. */
  next(namespaceId: string, names: Iterable<string>): ReadonlyMap<string, number> {
    const owners = namespaceId === '' ? [...this.#last.values()] : [this.#last.get('') ?? none, this.#last.get(namespaceId) ?? none];
    const next = new Map<string, number>();
    for (const name of names) {
      const known = owners.flatMap((owner) => owner.get(name) ?? []);
      if (known.length > 0) next.set(name, Math.max(...known) + 1);
    }
    return next;
  }

  /** The generations of all names that were ever added in this namespace, or in every one (''). */
  all(namespaceId: string): ReadonlyMap<string, number> {
    return this.#last.get(namespaceId) ?? none;
  }

  /** The namespace is gone, with all its values. */
  forget(namespaceId: string): void {
    this.#last.delete(namespaceId);
  }

  /** The generations of defined names, without 0. A namespace's own name hides the cluster's. */
  of(namespaceId: string, own: Iterable<string>, everywhere: Iterable<string>): ReadonlyMap<string, number> {
    const generations = new Map<string, number>();
    for (const [owner, names] of [
      ['', everywhere],
      [namespaceId, own],
    ] as const) {
      for (const name of names) generations.set(name, this.#last.get(owner)?.get(name) ?? 0);
    }
    return new Map([...generations].filter(([, generation]) => generation > 0));
  }
}
