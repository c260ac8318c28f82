import type { Clock } from './machine.ts';

/** Limits log lines about what may happen thousands of times: the first one is written at once, then one per interval. */
export class NowAndThen {
  readonly #clock: Pick<Clock, 'monoMs'>;
  readonly #everyMs: number;
  #lastMs = -Infinity;

  constructor(clock: Pick<Clock, 'monoMs'>, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** True when enough time has passed since the last remark; the caller then makes one. */
  now(): boolean {
    const nowMs = this.#clock.monoMs();
    if (nowMs - this.#lastMs < this.#everyMs) return false;
    this.#lastMs = nowMs;
    return true;
  }
}
