import { Fifo } from './fifo.ts';

/**
 * What waits, in lines that take turns: whoever has many in its line holds up nobody else's.
 *
 *     orders   ▤▤▤▤▤▤▤
 *     billing  ▤            next: orders, billing, stock, orders, orders, …
 *     stock    ▤
 *
 * Within a line in the order in which it came. A line that is empty is gone.
 */
export class FairLines<Item, Name = string> {
  /** Lines whose turn is next come first. */
  readonly #lines = new Map<Name, Fifo<Item>>();
  length = 0;

  push(name: Name, item: Item): void {
    let line = this.#lines.get(name);
    if (line === undefined) {
      line = new Fifo();
      this.#lines.set(name, line);
    }
    line.push(item);
    this.length += 1;
  }

  /** The first of the line whose turn it is, which then stands behind the others. undefined: nothing waits. */
  shift(): Item | undefined {
    for (const [name, line] of this.#lines) {
      const item = line.shift();
      this.length -= 1;
      // Where there is one line alone it keeps its place.
      if (line.length === 0) this.#lines.delete(name);
      else if (this.#lines.size > 1) {
        this.#lines.delete(name);
        this.#lines.set(name, line);
      }
      return item;
    }
    return undefined;
  }
}
