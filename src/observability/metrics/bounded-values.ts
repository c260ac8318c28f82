/** Values of one tag beyond which a process makes no more series of it. */
const valuesMax = 10_000;

/** What a tag may say: callers decide some of its values, and a scrape must not grow for ever. */
export class BoundedValues {
  readonly #known = new Set<string>();

  /** `_unknown_` for what is not known, `_other_` for what came after the first 10,000. */
  bounded(value: string): string {
    if (value === '') return '_unknown_';
    if (this.#known.has(value)) return value;
    if (this.#known.size >= valuesMax) return '_other_';
    this.#known.add(value);
    return value;
  }
}
