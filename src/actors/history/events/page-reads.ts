/**
 * Pages of history that must be read from the log again, as many at a time as fit into a few MiB: thousands that are asked for together
 * would else be in memory together, and their decoding would leave no turn of the event loop to others.
 *
 *     4 MiB   4 MiB │ 4 MiB   12 KiB   4 MiB   …       in the order of asking
 *     are read      │ wait; what is given up leaves
 */
export type PageRead = {
  /** Roughly what is in memory while it is read. */
  readonly bytes: number;
  /** Never rejects. */
  readonly read: () => Promise<void>;
};

/** Two of the largest pages. */
const READING_BYTES_MAX = 8 * 1024 * 1024;

export class PageReads {
  /** By ask, in order. */
  readonly #waiting = new Map<number, PageRead>();
  #readingBytes = 0;

  add(askId: number, page: PageRead): void {
    this.#waiting.set(askId, page);
    this.#readOn();
  }

  /** Nobody waits for it any more. False: it is not here, or has begun. */
  leave(askId: number): boolean {
    return this.#waiting.delete(askId);
  }

  clear(): void {
    this.#waiting.clear();
  }

  #readOn(): void {
    for (const [askId, { bytes, read }] of this.#waiting) {
      // One that is larger than all that may be read together is read alone.
      if (this.#readingBytes > 0 && this.#readingBytes + bytes > READING_BYTES_MAX) return;
      this.#waiting.delete(askId);
      this.#readingBytes += bytes;
      void read().then(() => {
        this.#readingBytes -= bytes;
        this.#readOn();
      });
    }
  }
}
