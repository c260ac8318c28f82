/** How many there are of each key, and of all. A key that has none is not there. */
export class Tally {
  readonly #counts = new Map<string, number>();
  total = 0;

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, more: number): void {
    this.total += more;
    const count = this.of(key) + more;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }

  /** The one that has the most; `key` where none has more. */
  most(key: string): string {
    let most = key;
    for (const [other, count] of this.#counts) if (count > this.of(most)) most = other;
    return most;
  }

  /** There is room for one more; of what is full a key may still have its even share. */
  hasRoom(key: string, max: number): boolean {
    return this.total < max || this.isBelowShare(key, max);
  }

  /** Has it less than its even share of `max`? Then n keys have at most 1 + 1/2 + … + 1/n times as many. */
  isBelowShare(key: string, max: number): boolean {
    const own = this.of(key);
    const keys = this.#counts.size + (own === 0 ? 1 : 0);
    return own < Math.max(1, Math.floor(max / keys));
  }
}
