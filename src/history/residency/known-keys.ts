/**
 * The filter of a shard's keys, from the first one on and while it is built anew:
 *
 *     rebuild(n) ─ what is in memory ─ pages of the table … ─▶ rebuilt(): takes the place of the one before
 *                       └ keys that begin meanwhile go into both
 *
 * A key that is in the table at the end and in no page was begun behind the pages, or was in memory when they began.
 */
import { assert } from '../../kernel/assert.ts';
import { KeyFilter } from './key-filter.ts';

type ExecutionId = { readonly namespaceId: string; readonly workflowId: string };

/** 96 KiB for a shard: before that there is nothing to rebuild. */
const keysAtFirst = 65_536;

export class KnownKeys {
  /** undefined: a restart has left the keys in the table, and no filter of them is built yet. */
  #filter: KeyFilter | undefined = new KeyFilter(keysAtFirst);
  #next: KeyFilter | undefined;

  /** One with more room should take its place. */
  get isCrowded(): boolean {
    return this.#filter?.isCrowded === true;
  }

  /** A key begins, or is found in the table. */
  add({ namespaceId, workflowId }: ExecutionId): void {
    this.#filter?.add(namespaceId, workflowId);
    this.#next?.add(namespaceId, workflowId);
  }

  /** False: the shard has never had such a workflow id. */
  mayHave({ namespaceId, workflowId }: ExecutionId): boolean {
    return this.#filter === undefined || this.#filter.mayHave(namespaceId, workflowId);
  }

  /** Any workflow id may be in the table, until a filter is built. */
  unknown(): void {
    this.#filter = undefined;
  }

  /** With room for that many. `inMemory`: the table may not have them yet. */
  rebuild(keysMax: number, inMemory: Iterable<ExecutionId>): void {
    this.#next = new KeyFilter(Math.max(keysMax, keysAtFirst));
    this.addWritten(inMemory);
  }

  /** A page of the table, read after `rebuild`. */
  addWritten(ids: Iterable<ExecutionId>): void {
    assert(this.#next !== undefined, 'a filter is being built');
    for (const { namespaceId, workflowId } of ids) this.#next.add(namespaceId, workflowId);
  }

  /** All pages were read. */
  rebuilt(): void {
    assert(this.#next !== undefined, 'a filter is being built');
    this.#filter = this.#next;
    this.#next = undefined;
  }
}
