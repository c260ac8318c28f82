/**
 * How often a shard's own commands, and starts that matching asks for, could not be decided, by what was attempted; and so when the next
 * attempt is made.
 *
 *     cannot be decided ── pause ──▶ tried again ── … ──▶ the fifth time: no more
 */
import { backOffMs } from '../../kernel/back-off.ts';
import { FAILURES_MAX } from '../asks/tries.ts';
import type { Clock } from '../ports.ts';

const RETRY_DELAY_MS = 200;
const RETRY_DELAY_MS_MAX = 60_000;
/** Past it, what has not failed for a while is forgotten: it has succeeded since, or there was no need of it any more. */
const COUNTED_COMMANDS_KEPT = 10_000;
const FORGOTTEN_AFTER_MS = 10 * RETRY_DELAY_MS_MAX;

type Failures = { readonly count: number; readonly lastMs: number };

export class FailedAttempts {
  readonly #clock: Clock;
  /**
   * By what was attempted, the latest at the end. Whatever fails again and again stays counted, however much there is of it: it is in the
   * shard's state as well, and were its count lost, nothing of it would ever be put aside.
   */
  readonly #failures = new Map<string, Failures>();
  #forgottenAtMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Another attempt has failed: the pause before the next one; undefined when there have been enough. */
  pauseMs(name: string, attemptsMax: number = FAILURES_MAX): number | undefined {
    const nowMs = this.#clock.monoMs();
    const count = (this.#failures.get(name)?.count ?? 0) + 1;
    this.#failures.delete(name);
    this.#forget(nowMs);
    if (count >= attemptsMax) return undefined;
    this.#failures.set(name, { count, lastMs: nowMs });
    return backOffMs(count, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX);
  }

  #forget(nowMs: number): void {
    if (this.#failures.size < COUNTED_COMMANDS_KEPT || nowMs < this.#forgottenAtMs + RETRY_DELAY_MS_MAX) return;
    this.#forgottenAtMs = nowMs;
    for (const [name, { lastMs }] of this.#failures) {
      if (lastMs > nowMs - FORGOTTEN_AFTER_MS) return;
      this.#failures.delete(name);
    }
  }
}
