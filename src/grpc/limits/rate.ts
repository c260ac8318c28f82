/**
 * How many calls a second are let in, those of high priority first.
 *
 *     tokens of each priority    0 ▓▓▓▓▓▓▓   a call of priority 1 takes one of 1, and of all behind it
 *                                1 ▓▓▓▓▓     ◀─ so long as its own priority has one
 *                                2 ▓▓
 *                                3 (none: refused)
 *
 * Each priority has the whole rate, less what goes before it. So polls are refused while completions still come through, and
 * a flood of polls takes nothing from completions.
 */
import { prioritiesInAll, type Priority } from './call-classes.ts';

/** `perSecond` 0: no limit. */
export type RateLimit = { readonly perSecond: number; readonly burst: number };

export class Rate {
  readonly #tokens = new Float64Array(prioritiesInAll);
  #limit: RateLimit = { perSecond: 0, burst: 0 };
  #atMs = 0;

  /** Takes what a call costs, or nothing: false. */
  take(limit: RateLimit, priority: Priority, nowMs: number): boolean {
    if (limit.perSecond === 0) return true;
    if (limit.perSecond !== this.#limit.perSecond || limit.burst !== this.#limit.burst) this.#begin(limit, nowMs);
    this.#refill(nowMs);
    if ((this.#tokens[priority] as number) < 1) return false;
    for (let at = priority; at < prioritiesInAll; at++) this.#tokens[at] = Math.max((this.#tokens[at] as number) - 1, 0);
    return true;
  }

  #begin(limit: RateLimit, nowMs: number): void {
    this.#limit = limit;
    this.#tokens.fill(limit.burst);
    this.#atMs = nowMs;
  }

  #refill(nowMs: number): void {
    const gained = ((nowMs - this.#atMs) * this.#limit.perSecond) / 1_000;
    if (gained <= 0) return;
    this.#atMs = nowMs;
    for (let at = 0; at < prioritiesInAll; at++) this.#tokens[at] = Math.min((this.#tokens[at] as number) + gained, this.#limit.burst);
  }
}
