import type { Clock, Timer } from '../../src/ports/machine.ts';
import { systemClock } from '../../src/ports/system-ports.ts';
import { DeadlineHeap, type Due } from '../../src/matching/deadline-heap.ts';

type Waiting = Due & { readonly callback: () => void };

/** A clock that stands until the test moves it. */
export class HandClock implements Clock {
  nowMs = 0;
  /** Somebody sets the wall clock. */
  wallAheadMs = 1_700_000_000_000;
  pending = 0;
  readonly #soon: 'by the event loop' | 'when moved';
  readonly #waiting = new DeadlineHeap<Waiting>();

  /** What is due at once runs by itself in a turn of the event loop, or waits for the clock to be moved. */
  constructor(soon: 'by the event loop' | 'when moved' = 'by the event loop') {
    this.#soon = soon;
  }

  wallMs(): number {
    return this.nowMs + this.wallAheadMs;
  }

  monoMs(): number {
    return this.nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    if (delayMs <= 0 && this.#soon === 'by the event loop') return systemClock.after(0, callback);
    const timer: Waiting = { dueMs: 0, dueOrder: 0, heapIndex: -1, callback };
    this.#waiting.set(timer, this.nowMs + Math.max(0, delayMs));
    this.pending += 1;
    return { cancel: () => this.#remove(timer) };
  }

  soon(callback: () => void): void {
    if (this.#soon === 'by the event loop') systemClock.soon(callback);
    else this.after(0, callback);
  }

  settled(callback: () => void): void {
    if (this.#soon === 'by the event loop') systemClock.settled(callback);
    else this.after(0, callback);
  }

  /** Lets time pass, timer by timer, within this call; those that are set meanwhile run too when their time comes. */
  advance(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (let next = this.#waiting.first(); next !== undefined && next.dueMs <= untilMs; next = this.#waiting.first()) {
      this.#remove(next);
      this.nowMs = next.dueMs;
      next.callback();
    }
    this.nowMs = untilMs;
  }

  #remove(timer: Waiting): void {
    if (timer.heapIndex < 0) return;
    this.#waiting.remove(timer);
    this.pending -= 1;
  }
}
