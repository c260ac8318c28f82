/**
 * One OS timer for the earliest of many times of day.
 *
 *     armed for 14:00 ──30 s──▶ due yet? ──30 s──▶ due yet? ── … ──▶ ring
 *
 * An OS timer counts how long the machine runs. It stands still during a suspend and does not see that the clock was set, so one armed
 * for the whole stretch would ring late by just that; the clock is looked at again every 30 seconds instead.
 *
 * An alarm that is put off keeps the timer that is running: it looks at the clock once for nothing, and every workflow puts alarms off.
 */
import type { Clock, Timer } from './ports.ts';

/** How late an alarm may be after a suspend or a step of the clock. */
export const CLOCK_CHECK_MS = 30_000;

export class WallAlarm {
  readonly #clock: Clock;
  /** The time of day that the alarm goes by. */
  readonly #nowMs: () => number;
  readonly #ring: () => void;
  #armedForMs = Infinity;
  #timer: Timer | undefined;
  /** When the timer looks at the clock, if that is not set meanwhile. */
  #looksAtMs = Infinity;

  constructor(clock: Clock, nowMs: () => number, ring: () => void) {
    this.#clock = clock;
    this.#nowMs = nowMs;
    this.#ring = ring;
  }

  /** The time of day that it will ring at; Infinity when it is not armed. */
  get armedForMs(): number {
    return this.#armedForMs;
  }

  /** Rings once, at that time or soon after, never before. Infinity: does not ring. */
  set(timeMs: number): void {
    if (timeMs === this.#armedForMs) return;
    const isPutOff = this.#timer !== undefined && timeMs !== Infinity && timeMs >= this.#looksAtMs;
    this.#armedForMs = timeMs;
    if (isPutOff) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (timeMs !== Infinity) this.#wait(this.#nowMs());
  }

  #wait(nowMs: number): void {
    const delayMs = Math.min(Math.max(0, this.#armedForMs - nowMs), CLOCK_CHECK_MS);
    this.#looksAtMs = nowMs + delayMs;
    this.#timer = this.#clock.after(delayMs, () => this.#check());
  }

  #check(): void {
    this.#timer = undefined;
    const nowMs = this.#nowMs();
    if (this.#armedForMs > nowMs) return this.#wait(nowMs);
    this.#armedForMs = Infinity;
    this.#ring();
  }
}
