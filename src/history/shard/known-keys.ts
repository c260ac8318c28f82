/**
 * The filter of a shard's keys: those of the table, and those that have begun since. It grows by parts, each twice as large as the one before,
 * and is built anew where most of what it knows was deleted, or where a restart has left the keys in the table:
 *
 *     rebuild() ─ what is in memory ─ pages of the table … ─▶ rebuilt(): takes the place of the one before
 *                      └ keys that begin meanwhile go into both
 *
 * A key that is in the table at the end and in no page was begun behind the pages, or was in memory when they began.
 */
import type { ExecutionId } from '../../kernel/run-key.ts';
import { assert } from '../../kernel/assert.ts';
import { hashOfKey, KeyFilter, type KeyHash } from './key-filter.ts';

/** 96 KiB for a shard: before that there is nothing to rebuild. */
const keysAtFirst = 65_536;

class Parts {
  readonly #parts: KeyFilter[] = [];
  #last = new KeyFilter(keysAtFirst);

  get size(): number {
    return this.#parts.reduce((sum, { size }) => sum + size, this.#last.size);
  }

  add(hash: KeyHash): void {
    if (this.#parts.some((part) => part.mayHave(hash))) return;
    this.#last.add(hash);
    if (!this.#last.isCrowded) return;
    this.#parts.push(this.#last);
    this.#last = new KeyFilter(2 * this.#last.keysMax);
  }

  mayHave(hash: KeyHash): boolean {
    return this.#last.mayHave(hash) || this.#parts.some((part) => part.mayHave(hash));
  }
}

export class KnownKeys {
  /** undefined: a restart has left the keys in the table, and no filter of them is built yet. */
  #filter: Parts | undefined = new Parts();
  #next: Parts | undefined;
  #deleted = 0;
  /** Keys that were deleted before the filter that is being built was begun: it does not have them. */
  #deletedBefore = 0;

  /** What is known should be built anew: a third of it, or more, is there no longer, or nothing is known. */
  get isStale(): boolean {
    return this.#filter === undefined || (this.#deleted > keysAtFirst && this.#deleted > this.#filter.size / 3);
  }

  add({ namespaceId, workflowId }: ExecutionId): void {
    const hash = hashOfKey(namespaceId, workflowId);
    this.#filter?.add(hash);
    this.#next?.add(hash);
  }

  /** False: the shard has never had such a workflow id. */
  mayHave({ namespaceId, workflowId }: ExecutionId): boolean {
    return this.#filter === undefined || this.#filter.mayHave(hashOfKey(namespaceId, workflowId));
  }

  /** A run ends for good; its key may have others. */
  deleted(): void {
    this.#deleted += 1;
  }

  /** Any workflow id may be in the table, until a filter is built. What begins from now on will be in it. */
  unknown(): void {
    this.#filter = undefined;
    this.rebuild();
  }

  /** Keys that are in memory now, and may not be in the table yet, are to be added as well. */
  rebuild(): void {
    this.#next = new Parts();
    this.#deletedBefore = this.#deleted;
  }

  /** A page of the table, read after `rebuild`, or some of what is in memory. */
  addKnown(ids: Iterable<ExecutionId>): void {
    assert(this.#next !== undefined, 'a filter is being built');
    for (const { namespaceId, workflowId } of ids) this.#next.add(hashOfKey(namespaceId, workflowId));
  }

  rebuilt(): void {
    assert(this.#next !== undefined, 'a filter is being built');
    this.#filter = this.#next;
    this.#next = undefined;
    this.#deleted -= this.#deletedBefore;
    this.#deletedBefore = 0;
  }
}
