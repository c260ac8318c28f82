/** When the next operation of a batch job, or of the purge of namespaces, may begin: `perSecondMax` a second, one after the other. */
import type { Clock } from './machine.ts';

/** A rate may be next to nothing: then a job goes on once an hour. */
const pauseMsMax = 3_600_000;

export class BatchPace {
  readonly #clock: Pick<Clock, 'monoMs' | 'after'>;
  readonly #spaceMs: number;
  #nextMs: number;

  constructor(clock: Pick<Clock, 'monoMs' | 'after'>, perSecondMax: number) {
    this.#clock = clock;
    this.#spaceMs = Math.min(1_000 / perSecondMax, pauseMsMax);
    this.#nextMs = clock.monoMs();
  }

  get pauseMs(): number {
    return Math.max(0, Math.ceil(this.#nextMs - this.#clock.monoMs()));
  }

  /** Takes the next turn; until when whoever has it waits. */
  async turn(): Promise<void> {
    const { pauseMs } = this;
    this.#nextMs = Math.max(this.#nextMs, this.#clock.monoMs()) + this.#spaceMs;
    if (pauseMs > 0) await this.rest(pauseMs);
  }

  rest(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(delayMs, resolve));
  }
}
