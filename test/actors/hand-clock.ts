import type { Clock, Timer } from '../../src/actors/ports.ts';
import { systemClock } from '../../src/actors/system-ports.ts';

/** Time stands until the test moves it; what is due at once runs by the event loop. */
export class HandClock implements Clock {
  #nowMs = 0;
  /** Somebody sets the wall clock. */
  wallAheadMs = 1_700_000_000_000;
  #timers: { readonly dueMs: number; readonly callback: () => void }[] = [];

  wallMs(): number {
    return this.#nowMs + this.wallAheadMs;
  }

  monoMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    if (delayMs <= 0) return systemClock.after(0, callback);
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#timers.push(timer);
    return { cancel: () => void (this.#timers = this.#timers.filter((each) => each !== timer)) };
  }

  soon(callback: () => void): void {
    systemClock.soon(callback);
  }

  /** Runs what is due by then, within this call. */
  advance(ms: number): void {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ dueMs }) => dueMs <= this.#nowMs);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { callback } of due) callback();
  }
}
