/**
 * One OS timer for the earliest of many times of day.
 *
 *     armed for 14:00 ──30 s──▶ due yet? ──30 s──▶ due yet? ── … ──▶ ring
 *
 * An OS timer counts how long the machine runs. It stands still during a suspend and does not see that the clock was set, so one armed
 * for the whole stretch would ring late by just that; the clock is looked at again every 30 seconds instead.
 */
import type { Clock, Timer } from './machine.ts';

/** How late an alarm may be after a suspend or a step of the clock. */
export const CLOCK_CHECK_MS = 30_000;

/** `nowMs`: the time of day that the alarm goes by. */
type WallAlarmOptions = { readonly clock: Clock; readonly nowMs: () => number; readonly ring: () => void };

export class WallAlarm {
  readonly #options: WallAlarmOptions;
  /** The time of day that it will ring at; Infinity when it is not armed. */
  armedForMs = Infinity;
  #lookedAtMs = 0;
  #timer: Timer | undefined;

  constructor(options: WallAlarmOptions) {
    this.#options = options;
  }

  /** Rings once, then or soon after; before only if the clock was set back, so whoever goes by it looks what is due. Infinity: never. */
  set(timeMs: number): void {
    if (timeMs === this.armedForMs) return;
    this.#timer?.cancel();
    this.armedForMs = timeMs;
    if (timeMs !== Infinity) this.#wait(this.#options.nowMs());
  }

  #wait(nowMs: number): void {
    this.#lookedAtMs = nowMs;
    const delayMs = Math.min(Math.max(0, this.armedForMs - nowMs), CLOCK_CHECK_MS);
    this.#timer = this.#options.clock.after(delayMs, () => this.#check());
  }

  #check(): void {
    const nowMs = this.#options.nowMs();
    if (nowMs >= this.#lookedAtMs && nowMs < this.armedForMs) return this.#wait(nowMs);
    this.armedForMs = Infinity;
    this.#options.ring();
  }
}
