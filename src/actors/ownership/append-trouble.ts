/** A refused append is not in the log: what is wrong (replicas, a setting, rights) others mend. It is tried again, with rests. */
import type { Logger } from '../../observability/logger.ts';
import type { Retries } from './retries.ts';
import type { Clock } from '../../ports/machine.ts';

export class AppendTrouble {
  readonly #clock: Pick<Clock, 'monoMs'>;
  readonly #logger: Logger;
  readonly #retries: Retries;
  readonly #onRested: () => void;
  #reason = '';
  #refusals = 0;
  #refusedSinceMs = 0;
  #resting = false;
  /** Changes with each rest: a timer of an earlier rest sees that it is out of date. */
  #rests = 0;

  constructor(clock: Pick<Clock, 'monoMs'>, logger: Logger, retries: Retries, onRested: () => void) {
    this.#clock = clock;
    this.#logger = logger;
    this.#retries = retries;
    this.#onRested = onRested;
  }

  /** '' when nothing is known to be wrong. Kept when ownership ends: this trouble may be why it ended. */
  get reason(): string {
    return this.#reason;
  }

  get resting(): boolean {
    return this.#resting;
  }

  /** How long the log has refused appends, since the first refusal in a row. */
  get refusedMs(): number {
    return this.#clock.monoMs() - this.#refusedSinceMs;
  }

  doubted(reason: string): void {
    this.#reason = reason;
  }

  refused(reason: string): void {
    this.#reason = reason;
    if (this.#refusals === 0) this.#refusedSinceMs = this.#clock.monoMs();
    this.#refusals += 1;
    // The log itself tells people about its outages, for all partitions together.
    this.#logger.debug('the log refused an append; it is tried again', { reason, attempts: this.#refusals });
  }

  over(): void {
    this.#reason = '';
    if (this.#refusals === 0) return;
    this.#logger.debug('the log accepts appends again', { attempts: this.#refusals });
    this.#refusals = 0;
  }

  rest(): void {
    this.#resting = true;
    this.#rests += 1;
    const rest = this.#rests;
    void this.#retries.backOff(this.#refusals).then(() => {
      if (rest !== this.#rests) return;
      this.#resting = false;
      this.#onRested();
    });
  }

  stopResting(): void {
    this.#resting = false;
    this.#rests += 1;
  }
}
