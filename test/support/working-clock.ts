import { HandClock } from './hand-clock.ts';

/** Whoever looks at it has worked for a millisecond since the look before: slices of work can be counted. */
export class WorkingClock extends HandClock {
  #workedMs = 0;

  override monoMs(): number {
    this.#workedMs += 1;
    return this.nowMs + this.#workedMs;
  }
}
