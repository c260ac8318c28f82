/**
 * Texts in their order, each once: to go on behind any of them, whoever comes and goes meanwhile. They stand in chunks, so one that comes or goes
 * moves the others of its chunk alone.
 *
 *     chunks   [a b c] [f g] [m n o p]        a full one becomes two, an empty one goes
 */
const chunkMax = 512;

export class SortedKeys {
  readonly #chunks: string[][] = [];

  add(key: string): void {
    const at = Math.max(0, this.#chunkBehind(key) - 1);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return void this.#chunks.push([key]);
    const place = placeOf(chunk, key);
    if (chunk[place] === key) return;
    chunk.splice(place, 0, key);
    if (chunk.length > chunkMax) this.#chunks.splice(at + 1, 0, chunk.splice(chunkMax / 2));
  }

  delete(key: string): void {
    const at = this.#chunkBehind(key) - 1;
    const chunk = this.#chunks[at];
    if (chunk === undefined) return;
    const place = placeOf(chunk, key);
    if (chunk[place] !== key) return;
    chunk.splice(place, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  /** The keys behind `key`, or all from the first: `max` at most. */
  after(key: string | undefined, max: number): readonly string[] {
    const found: string[] = [];
    let at = key === undefined ? 0 : Math.max(0, this.#chunkBehind(key) - 1);
    for (let chunk = this.#chunks[at]; chunk !== undefined && found.length < max; chunk = this.#chunks[++at]) {
      let place = key === undefined ? 0 : placeOf(chunk, key);
      if (chunk[place] === key) place++;
      for (; place < chunk.length && found.length < max; place++) found.push(chunk[place] ?? '');
    }
    return found;
  }

  /** The first chunk that begins behind that key. */
  #chunkBehind(key: string): number {
    return firstPlace(this.#chunks.length, (at) => (this.#chunks[at]?.[0] ?? '') > key);
  }
}

/** Where it stands, or would. */
function placeOf(chunk: readonly string[], key: string): number {
  return firstPlace(chunk.length, (at) => (chunk[at] ?? '') >= key);
}

/** The first place at which `isSo` holds, as it must for all places behind it; `places` if it holds for none. */
export function firstPlace(places: number, isSo: (at: number) => boolean): number {
  let low = 0;
  let high = places;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isSo(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
