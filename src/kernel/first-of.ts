import { firstPlace } from './sorted-keys.ts';

/** The first so many of all that are added, in their order. */
export class FirstOf<T> {
  readonly #max: number;
  readonly #byOrder: (one: T, other: T) => number;
  readonly found: T[] = [];

  constructor(max: number, byOrder: (one: T, other: T) => number) {
    this.#max = max;
    this.#byOrder = byOrder;
  }

  add(item: T): void {
    const { found } = this;
    const last = found.at(-1);
    if (found.length === this.#max && last !== undefined && this.#byOrder(item, last) > 0) return;
    const place = firstPlace(found.length, (at) => this.#byOrder(found[at] as T, item) >= 0);
    found.splice(place, 0, item);
    if (found.length > this.#max) found.pop();
  }
}
