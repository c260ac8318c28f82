/** A clock that stands until it is moved. */
import type { Clock, Timer } from '../../src/actors/ports.ts';

type Pending = { readonly dueMs: number; readonly order: number; readonly callback: () => void };

export class SimClock implements Clock {
  nowMs = 0;
  #order = 0;
  #pending: Pending[] = [];

  get pending(): number {
    return this.#pending.length;
  }

  wallMs(): number {
    return 1_700_000_000_000 + this.nowMs;
  }

  monoMs(): number {
    return this.nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const entry = { dueMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#pending.push(entry);
    return { cancel: () => void (this.#pending = this.#pending.filter((each) => each !== entry)) };
  }

  soon(callback: () => void): void {
    this.after(0, callback);
  }

  /** Lets time pass, timer by timer. */
  advance(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const [next] = this.#pending.filter(({ dueMs }) => dueMs <= untilMs).toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order);
      if (next === undefined) break;
      this.#pending = this.#pending.filter((each) => each !== next);
      this.nowMs = next.dueMs;
      next.callback();
    }
    this.nowMs = untilMs;
  }
}
