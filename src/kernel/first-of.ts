/** The first so many of all that are added, in their order. */
export class FirstOf<T> {
  readonly #max: number;
  readonly #byOrder: (one: T, other: T) => number;
  readonly #found: T[] = [];

  constructor(max: number, byOrder: (one: T, other: T) => number) {
    this.#max = max;
    this.#byOrder = byOrder;
  }

  get found(): readonly T[] {
    return this.#found;
  }

  add(item: T): void {
    const found = this.#found;
    const last = found.at(-1);
    if (found.length === this.#max && last !== undefined && this.#byOrder(item, last) > 0) return;
    let low = 0;
    for (let high = found.length; low < high;) {
      const middle = (low + high) >>> 1;
      if (this.#byOrder(found[middle] as T, item) < 0) low = middle + 1;
      else high = middle;
    }
    found.splice(low, 0, item);
    if (found.length > this.#max) found.pop();
  }
}
