/**
 * All deadlines of a matching host: polls, queries, retries, queues. A binary heap by (due time, order of setting) whose nodes know
 * their place, because nearly every poll is answered before its time and must leave without a trace: minutes of dead entries would
 * outnumber the live ones.
 */
export interface Due {
  dueMs: number;
  dueOrder: number;
  /** Place in the heap; -1 = not in it. */
  heapIndex: number;
}

export class DeadlineHeap<T extends Due> {
  readonly #nodes: T[] = [];
  #orders = 0;

  first(): T | undefined {
    return this.#nodes[0];
  }

  /** Sets or moves the deadline of a node. */
  set(node: T, dueMs: number): void {
    node.dueMs = dueMs;
    node.dueOrder = ++this.#orders;
    if (node.heapIndex < 0) {
      node.heapIndex = this.#nodes.length;
      this.#nodes.push(node);
    } else {
      this.#down(node);
    }
    this.#up(node);
  }

  /** Does nothing for a node that has no deadline. */
  remove(node: T): void {
    const index = node.heapIndex;
    if (index < 0) return;
    node.heapIndex = -1;
    const last = this.#nodes.pop() as T;
    if (last === node) return;
    this.#nodes[index] = last;
    last.heapIndex = index;
    this.#down(last);
    this.#up(last);
  }

  #up(node: T): void {
    const nodes = this.#nodes;
    let index = node.heapIndex;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = nodes[parentIndex] as T;
      if (!isBefore(node, parent)) break;
      nodes[index] = parent;
      parent.heapIndex = index;
      index = parentIndex;
    }
    nodes[index] = node;
    node.heapIndex = index;
  }

  #down(node: T): void {
    const nodes = this.#nodes;
    let index = node.heapIndex;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= nodes.length) break;
      if (childIndex + 1 < nodes.length && isBefore(nodes[childIndex + 1] as T, nodes[childIndex] as T)) childIndex++;
      const child = nodes[childIndex] as T;
      if (!isBefore(child, node)) break;
      nodes[index] = child;
      child.heapIndex = index;
      index = childIndex;
    }
    nodes[index] = node;
    node.heapIndex = index;
  }
}

function isBefore(a: Due, b: Due): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.dueOrder < b.dueOrder);
}
