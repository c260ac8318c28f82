/**
 * A keyed set of pending things (activities, timers, children …) that can be forked in constant time.
 *
 *   state ──▶ Pending { a, b }                 what `evolve` changes
 *                 ▲
 *   draft ──▶ fork    { b: gone, c }           what a decision changes: only the difference, thrown away with the draft
 *
 * Values are never changed in place: a change is `set(key, { ...old, … })`. So a fork can share them with its base.
 */
export class Pending<Key, Value extends object> {
  readonly #base: Pending<Key, Value> | undefined;
  /** Own entries; in a fork `undefined` marks one that is gone. Made when first needed: most runs have few of the seven sets. */
  #own: Map<Key, Value | undefined> | undefined;
  #size: number;

  constructor(base?: Pending<Key, Value>) {
    this.#base = base;
    this.#size = base === undefined ? 0 : base.size;
  }

  /** Only bases are forked: a fork of a fork would grow without limit. */
  fork(): Pending<Key, Value> {
    return new Pending(this);
  }

  get size(): number {
    return this.#size;
  }

  get(key: Key): Value | undefined {
    if (this.#own !== undefined) {
      const own = this.#own.get(key);
      if (own !== undefined || this.#base === undefined || this.#own.has(key)) return own;
    }
    return this.#base?.get(key);
  }

  has(key: Key): boolean {
    return this.get(key) !== undefined;
  }

  set(key: Key, value: Value): void {
    if (!this.has(key)) this.#size++;
    this.#own ??= new Map();
    this.#own.set(key, value);
  }

  delete(key: Key): void {
    if (!this.has(key)) return;
    this.#size--;
    if (this.#base === undefined) this.#own?.delete(key);
    else {
      this.#own ??= new Map();
      this.#own.set(key, undefined);
    }
  }

  *entries(): Generator<[Key, Value]> {
    if (this.#base !== undefined) {
      for (const entry of this.#base.entries()) {
        const own = this.#own?.get(entry[0]);
        if (own !== undefined) yield [entry[0], own];
        else if (this.#own === undefined || !this.#own.has(entry[0])) yield entry;
      }
    }
    if (this.#own === undefined) return;
    for (const [key, value] of this.#own) {
      if (value !== undefined && !(this.#base !== undefined && this.#base.has(key))) yield [key, value];
    }
  }

  *values(): Generator<Value> {
    for (const entry of this.entries()) yield entry[1];
  }
}

/** A map that is only read. A fork of it may be changed. */
export type PendingView<Key, Value extends object> = Pick<Pending<Key, Value>, 'fork' | 'size' | 'get' | 'has' | 'entries' | 'values'>;
