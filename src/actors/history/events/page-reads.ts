/**
 * Pages of history that must be read from the log again, as many at a time as fit into a few MiB: thousands that are asked for together
 * would else be in memory together, and their decoding would leave no turn of the event loop to others. Namespaces take turns.
 *
 *     4 MiB   4 MiB │ 4 MiB   12 KiB   4 MiB   …       each namespace's in the order of asking
 *     are read      │ wait; what is given up leaves
 */
export type PageRead = {
  readonly namespaceId: string;
  readonly bytes: number;
  /** Never rejects. */
  readonly read: () => Promise<void>;
};

/** Two of the largest pages. */
const READING_BYTES_MAX = 8 * 1024 * 1024;

export class PageReads {
  /** Reads by namespace and ask. The namespace whose turn is next comes first. */
  readonly #waiting = new Map<string, Map<number, PageRead>>();
  readonly #namespaces = new Map<number, string>();
  #readingBytes = 0;

  add(askId: number, page: PageRead): void {
    const ofNamespace = this.#waiting.get(page.namespaceId) ?? new Map<number, PageRead>();
    this.#waiting.set(page.namespaceId, ofNamespace.set(askId, page));
    this.#namespaces.set(askId, page.namespaceId);
    this.#readOn();
  }

  /** Nobody waits for it any more. False: it is not here, or has begun. */
  leave(askId: number): boolean {
    const namespaceId = this.#namespaces.get(askId);
    if (namespaceId === undefined) return false;
    this.#take(namespaceId, askId);
    return true;
  }

  clear(): void {
    this.#waiting.clear();
    this.#namespaces.clear();
  }

  #readOn(): void {
    for (const [namespaceId, ofNamespace] of this.#waiting) {
      const [next] = ofNamespace;
      if (next === undefined) return;
      const [askId, { bytes, read }] = next;
      // One that is larger than all that may be read together is read alone.
      if (this.#readingBytes > 0 && this.#readingBytes + bytes > READING_BYTES_MAX) return;
      this.#take(namespaceId, askId);
      if (ofNamespace.size > 0) {
        this.#waiting.delete(namespaceId);
        this.#waiting.set(namespaceId, ofNamespace);
      }
      this.#readingBytes += bytes;
      void read().then(() => {
        this.#readingBytes -= bytes;
        this.#readOn();
      });
    }
  }

  #take(namespaceId: string, askId: number): void {
    const ofNamespace = this.#waiting.get(namespaceId);
    ofNamespace?.delete(askId);
    if (ofNamespace?.size === 0) this.#waiting.delete(namespaceId);
    this.#namespaces.delete(askId);
  }
}
