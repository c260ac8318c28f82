import { FairLines } from '../../kernel/fair-lines.ts';

/** Milliseconds of a turn of the event loop in which calls begin; then others have theirs. */
const sliceMs = 2;

export type WaitingCall = { readonly isOver: () => boolean; readonly begin: () => void };

/**
 * Calls begin when their request is here, as long as there is time in this turn of the event loop. Those that come later wait, and begin in the next
 * turns, one of each connection after the other: a thousand calls of one connection do not stand before one of another, and what is decided is
 * committed meanwhile.
 *
 *     turn of the event loop   │ read A │ begin A A │ read B │ begin B │ commit what they have decided │ read …
 *     more than there is time  │ read A │ begin A A A A A A … 2 ms     │ commit │ begin A B A B A … 2 ms │ commit │ read …
 */
export class CallTurns {
  readonly #waiting = new FairLines<WaitingCall, object>();
  #isPlanned = false;
  /** Left of the slice of this turn. */
  #msLeft = sliceMs;
  #isTurnNoted = false;

  add(connection: object, call: WaitingCall): void {
    if (this.#waiting.length === 0 && this.#msLeft > 0) {
      this.#noteTurn();
      this.#begin(call, performance.now());
      return;
    }
    this.#waiting.push(connection, call);
    this.#plan();
  }

  #noteTurn(): void {
    if (this.#isTurnNoted) return;
    this.#isTurnNoted = true;
    setImmediate(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    this.#isTurnNoted = false;
    this.#msLeft = sliceMs;
  };

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    // First, so that those that wait for the next turn have its slice.
    this.#noteTurn();
    setImmediate(this.#run);
  }

  readonly #run = (): void => {
    this.#isPlanned = false;
    let nowMs = performance.now();
    while (this.#msLeft > 0) {
      const call = this.#waiting.shift();
      if (call === undefined) return;
      if (!call.isOver()) nowMs = this.#begin(call, nowMs);
    }
    if (this.#waiting.length > 0) this.#plan();
  };

  #begin(call: WaitingCall, nowMs: number): number {
    call.begin();
    const begunMs = performance.now();
    this.#msLeft -= begunMs - nowMs;
    return begunMs;
  }
}
