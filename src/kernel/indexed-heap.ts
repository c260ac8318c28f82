/** A binary heap whose nodes know their place: one that moves, or leaves from the middle, is not searched for. A node is in one heap at most. */
import { assert } from './assert.ts';

export interface HeapNode {
  /** Place in the heap; -1 = in none. */
  heapIndex: number;
}

export class IndexedHeap<T extends HeapNode> {
  readonly #nodes: T[] = [];
  readonly #isBefore: (one: T, other: T) => boolean;

  constructor(isBefore: (one: T, other: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#nodes.length;
  }

  first(): T | undefined {
    return this.#nodes[0];
  }

  /** All nodes, in no order. Their keys may be changed meanwhile, if all of them change by the same amount. */
  nodes(): Iterable<T> {
    return this.#nodes;
  }

  /** Into its place: it is new here, or what its place depends on has changed. */
  place(node: T): void {
    if (node.heapIndex < 0) {
      node.heapIndex = this.#nodes.length;
      this.#nodes.push(node);
    }
    assert(this.#nodes[node.heapIndex] === node, 'a node is in one heap at most');
    this.#down(node);
    this.#up(node);
  }

  /** Does nothing for a node that is in no heap. */
  remove(node: T): void {
    const index = node.heapIndex;
    if (index < 0) return;
    assert(this.#nodes[index] === node, 'a node is removed from the heap that it is in');
    node.heapIndex = -1;
    const last = this.#nodes.pop() as T;
    if (last === node) return;
    this.#nodes[index] = last;
    last.heapIndex = index;
    this.#down(last);
    this.#up(last);
  }

  #up(node: T): void {
    let index = node.heapIndex;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#nodes[parentIndex] as T;
      if (!this.#isBefore(node, parent)) break;
      this.#put(parent, index);
      index = parentIndex;
    }
    this.#put(node, index);
  }

  #down(node: T): void {
    let index = node.heapIndex;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= this.#nodes.length) break;
      const other = this.#nodes[childIndex + 1];
      if (other !== undefined && this.#isBefore(other, this.#nodes[childIndex] as T)) childIndex++;
      const child = this.#nodes[childIndex] as T;
      if (!this.#isBefore(child, node)) break;
      this.#put(child, index);
      index = childIndex;
    }
    this.#put(node, index);
  }

  #put(node: T, index: number): void {
    this.#nodes[index] = node;
    node.heapIndex = index;
  }
}
