/** That calls are begun in one turn of the event loop before the others have theirs. */
const sliceMs = 4;

type Waiting = { readonly isOver: () => boolean; readonly begin: () => void };

/**
 * Calls whose request is here begin behind all that was read in this turn, one of each connection after the other. So who cancels a call in the same breath
 * has not made anybody work for it, and a thousand calls of one connection do not stand before one of another.
 */
export class CallTurns {
  /** The connection whose turn is next is the first. */
  readonly #waiting = new Map<object, Waiting[]>();
  #isPlanned = false;

  add(connection: object, call: Waiting): void {
    const own = this.#waiting.get(connection);
    if (own === undefined) this.#waiting.set(connection, [call]);
    else own.push(call);
    this.#plan();
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isPlanned = false;
    const endsMs = performance.now() + sliceMs;
    while (this.#waiting.size > 0) {
      for (const [connection, own] of this.#waiting) {
        const call = own.shift();
        if (own.length === 0) this.#waiting.delete(connection);
        if (call === undefined || call.isOver()) continue;
        call.begin();
        if (performance.now() > endsMs) {
          this.#goOnBehind(connection, own);
          return;
        }
      }
    }
  }

  /** The others come first in the next turn. */
  #goOnBehind(connection: object, own: Waiting[]): void {
    this.#waiting.delete(connection);
    if (own.length > 0) this.#waiting.set(connection, own);
    if (this.#waiting.size > 0) this.#plan();
  }
}
