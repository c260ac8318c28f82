import { onceSettled } from '../../actors/system-ports.ts';
import { FairLines } from '../../kernel/fair-lines.ts';

/** Milliseconds of a turn of the event loop in which calls begin; then the others have theirs. */
const sliceMs = 2;

type Waiting = { readonly isOver: () => boolean; readonly begin: () => void };

/**
 * Calls whose request is here begin behind all that was read at once, one of each connection after the other. So who cancels a call in the same breath
 * has not made anybody work for it, and a thousand calls of one connection do not stand before one of another.
 *
 *     turn of the event loop   │ read A │ begin A A │ read B │ begin B │ commit what they have decided │ read …
 *     more than there is time  │ read A │ begin A A A A A A … 2 ms     │ commit │ begin A B A B A … 2 ms │ commit │ read …
 *
 * They do not wait for the end of the turn, as long as there is time: what they decide is committed there, all of it at once.
 */
export class CallTurns {
  /** Of connections. */
  readonly #waiting = new FairLines<Waiting, object>();
  #isPlanned = false;
  /** Left of the slice of this turn. */
  #msLeft = sliceMs;
  #isTurnBegun = false;

  add(connection: object, call: Waiting): void {
    this.#waiting.push(connection, call);
    if (!this.#isPlanned) this.#plan();
  }

  #plan(): void {
    this.#isPlanned = true;
    // First, so that those that wait for the next turn have its slice.
    if (!this.#isTurnBegun) {
      this.#isTurnBegun = true;
      setImmediate(this.#endTurn);
    }
    if (this.#msLeft <= 0) setImmediate(this.#run);
    // Behind what was read with it.
    else onceSettled(this.#run);
  }

  readonly #endTurn = (): void => {
    this.#isTurnBegun = false;
    this.#msLeft = sliceMs;
  };

  readonly #run = (): void => {
    this.#isPlanned = false;
    const begunMs = performance.now();
    const endsMs = begunMs + this.#msLeft;
    let nowMs = begunMs;
    while (this.#waiting.length > 0 && nowMs < endsMs) nowMs = this.#beginNext(nowMs);
    this.#msLeft -= nowMs - begunMs;
    if (this.#waiting.length > 0) this.#plan();
  };

  /** The time when it has begun. */
  #beginNext(nowMs: number): number {
    const call = this.#waiting.shift();
    if (call === undefined || call.isOver()) return nowMs;
    call.begin();
    return performance.now();
  }
}
