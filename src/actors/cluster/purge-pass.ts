/** What becomes of the runs of deleted namespaces in one pass through all shards, by namespace. */
import type { Clock } from '../../ports/machine.ts';

/** `share`: so many runs of each namespace. `msMax`: so long deletions may take. */
type PurgePassOptions = { readonly share: number; readonly msMax: number; readonly clock: Pick<Clock, 'monoMs'> };

export class PurgePass {
  deleted = 0;
  /** The categories in which something of the namespace was there. */
  readonly found = new Set<string>();
  failure: string | undefined = undefined;
  /** How long it has read, and rested, to come to the last of what it deleted. */
  walkedMs = 0;
  readonly #options: PurgePassOptions;
  readonly #taken = new Map<string, number>();
  #ended = 0;
  readonly #begunMs: number;
  /** How long runs were deleted, and since when they are again. */
  #deletingMs = 0;
  #sinceMs: number | undefined = undefined;

  constructor(options: PurgePassOptions) {
    this.#options = options;
    this.#begunMs = options.clock.monoMs();
  }

  /** Where nobody answers each deletion takes its whole time. What is left is of the next pass, and this one sees of whom there is something. */
  get isOver(): boolean {
    const nowMs = this.#options.clock.monoMs();
    return this.#deletingMs + (nowMs - (this.#sinceMs ?? nowMs)) >= this.#options.msMax;
  }

  /** All of it is time of deletions: a table in which millions of runs of others stand first leaves no less of it. */
  async deleting(act: () => Promise<void>): Promise<void> {
    const deletedBefore = this.deleted;
    const sinceMs = this.#options.clock.monoMs();
    this.#sinceMs = sinceMs;
    try {
      await act();
    } finally {
      this.#deletingMs += this.#options.clock.monoMs() - sinceMs;
      this.#sinceMs = undefined;
    }
    if (this.deleted > deletedBefore) this.walkedMs = this.#options.clock.monoMs() - this.#begunMs - this.#deletingMs;
  }

  /** False: it is of the next pass. */
  take(namespaceId: string): boolean {
    const taken = this.#taken.get(namespaceId) ?? 0;
    if (this.isOver) this.found.add(namespaceId);
    if (this.isOver || taken >= this.#options.share) return false;
    this.#taken.set(namespaceId, taken + 1);
    if (taken + 1 === this.#options.share) {
      // There may be more.
      this.found.add(namespaceId);
      this.#ended += 1;
    }
    return true;
  }

  /** It was not deleted: were these counted, those that cannot be would keep others from their turn, in each pass the same. */
  giveBack(namespaceId: string): void {
    const taken = this.#taken.get(namespaceId) ?? 0;
    if (taken === this.#options.share) this.#ended -= 1;
    this.#taken.set(namespaceId, taken - 1);
  }

  /** A shard is not served now, or its database is away: any of them may have something there. */
  couldNotSee(namespaces: ReadonlySet<string>, reason: string): void {
    this.failure = reason;
    for (const id of namespaces) this.found.add(id);
  }

  /** True once nothing else can be done in this pass for any of so many namespaces. */
  hasEnded(namespaces: number): boolean {
    return this.#ended === namespaces || (this.isOver && this.found.size === namespaces);
  }
}
