/**
 * Appends that the log refused, one after the other: nothing of them is in the log. What is wrong (too few replicas in sync, a setting,
 * rights) others mend; until then it is tried again, with a rest after each attempt.
 */
import type { Patience } from './patience.ts';
import type { Clock } from './ports.ts';

export class AppendRefusals {
  readonly #clock: Pick<Clock, 'monoMs'>;
  readonly #patience: Patience;
  readonly #onRested: () => void;
  #count = 0;
  #sinceMs = 0;
  #resting = false;
  /** Whoever wakes from an earlier rest finds it changed. */
  #rests = 0;

  constructor(clock: Pick<Clock, 'monoMs'>, patience: Patience, onRested: () => void) {
    this.#clock = clock;
    this.#patience = patience;
    this.#onRested = onRested;
  }

  /** In a row. */
  get count(): number {
    return this.#count;
  }

  /** Nothing is sealed meanwhile. */
  get resting(): boolean {
    return this.#resting;
  }

  /** Since the first of them. */
  get lastingMs(): number {
    return this.#clock.monoMs() - this.#sinceMs;
  }

  add(): void {
    if (this.#count === 0) this.#sinceMs = this.#clock.monoMs();
    this.#count += 1;
  }

  rest(): void {
    this.#resting = true;
    this.#rests += 1;
    const rest = this.#rests;
    void this.#patience.backOff(this.#count).then(() => {
      if (rest !== this.#rests) return;
      this.#resting = false;
      this.#onRested();
    });
  }

  stopResting(): void {
    this.#resting = false;
    this.#rests += 1;
  }

  /** The log takes appends again. */
  end(): void {
    this.#count = 0;
  }
}
