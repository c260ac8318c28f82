/** A refused append is not in the log: what is wrong (replicas, a setting, rights) others mend. It is tried again, with rests. */
import type { Retries } from './retries.ts';
import type { ClockAndLogger } from '../../ports/machine.ts';

type AppendTroubleOptions = ClockAndLogger & { readonly retries: Retries; readonly onRested: () => void };

export class AppendTrouble {
  readonly #options: AppendTroubleOptions;
  /** '' when nothing is known to be wrong. Kept when ownership ends: this trouble may be why it ended. */
  reason = '';
  resting = false;
  #refusals = 0;
  #refusedSinceMs = 0;
  /** Changes with each rest: a timer of an earlier rest sees that it is out of date. */
  #rests = 0;

  constructor(options: AppendTroubleOptions) {
    this.#options = options;
  }

  /** How long the log has refused appends, since the first refusal in a row. */
  get refusedMs(): number {
    return this.#options.clock.monoMs() - this.#refusedSinceMs;
  }

  refused(reason: string): void {
    this.reason = reason;
    if (this.#refusals === 0) this.#refusedSinceMs = this.#options.clock.monoMs();
    this.#refusals += 1;
    // The log itself tells people about its outages, for all partitions together.
    this.#options.logger.debug('the log refused an append; it is tried again', { reason, attempts: this.#refusals });
  }

  over(): void {
    this.reason = '';
    if (this.#refusals === 0) return;
    this.#options.logger.debug('the log accepts appends again', { attempts: this.#refusals });
    this.#refusals = 0;
  }

  rest(): void {
    this.resting = true;
    const rest = ++this.#rests;
    void this.#options.retries.backOff(this.#refusals).then(() => {
      if (rest !== this.#rests) return;
      this.resting = false;
      this.#options.onRested();
    });
  }

  stopResting(): void {
    this.resting = false;
    this.#rests += 1;
  }
}
