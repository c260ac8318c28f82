/** All deadlines of a host, by time and order of setting. Nearly every poll leaves early: dead entries would outnumber the live ones. */
import { type HeapNode, IndexedHeap } from '../kernel/indexed-heap.ts';

export interface Due extends HeapNode {
  dueMs: number;
  dueOrder: number;
}

export class DeadlineHeap<T extends Due> {
  readonly #heap = new IndexedHeap<T>(isBefore);
  #orders = 0;

  first(): T | undefined {
    return this.#heap.first();
  }

  set(node: T, dueMs: number): void {
    node.dueMs = dueMs;
    node.dueOrder = ++this.#orders;
    this.#heap.place(node);
  }

  /** All of them come earlier by so much; their order stays. `moved`: what its node keeps besides. */
  setBack(byMs: number, moved: (node: T) => void): void {
    for (const node of this.#heap.nodes()) {
      node.dueMs -= byMs;
      moved(node);
    }
  }

  /** Does nothing for a node that has no deadline. */
  remove(node: T): void {
    this.#heap.remove(node);
  }
}

function isBefore(one: Due, other: Due): boolean {
  return one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.dueOrder < other.dueOrder);
}
