/** Waiting and trying again in one term of ownership. When it ends, sleepers never wake, and attempts are not repeated. */
import { backOffMs } from '../../kernel/back-off.ts';
import { DatabaseError } from '../../projections/database-port.ts';
import { LogError } from '../../ports/log.ts';
import type { ClockAndLogger, Random, Timer } from '../../ports/machine.ts';

export type RetriesOptions = ClockAndLogger & {
  readonly random: Random;
  readonly retryDelayMs: number;
  readonly retryDelayMsMax: number;
  /** True for errors of the log after which trying again may help. */
  readonly mayPass: (error: LogError) => boolean;
};

/** Doublings of what an attempt took: enough for a handful of rivals. */
const GIVE_WAY_DOUBLINGS_MAX = 4;

export class Retries {
  readonly #options: RetriesOptions;
  readonly #timers = new Set<Timer>();
  term = 0;

  constructor(options: RetriesOptions) {
    this.#options = options;
  }

  mayPass(error: unknown): boolean {
    if (error instanceof DatabaseError) return error.recoverable;
    return error instanceof LogError && this.#options.mayPass(error);
  }

  endTerm(): void {
    this.term += 1;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  after(delayMs: number, callback: () => void): void {
    const timer = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      callback();
    });
    this.#timers.add(timer);
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Longer from attempt to attempt, and never in step with others. */
  backOff(attempt: number): Promise<void> {
    return this.sleep(this.#delayMs(attempt));
  }

  /** Each attempt, of which the last `tookMs`, undoes those of others: whoever is to succeed needs that long alone. */
  giveWay(attempt: number, tookMs: number): Promise<void> {
    const longestMs = tookMs * 2 ** Math.min(attempt, GIVE_WAY_DOUBLINGS_MAX);
    return this.sleep(this.#delayMs(attempt) + Math.ceil(longestMs * this.#options.random.fraction()));
  }

  #delayMs(attempt: number): number {
    const { retryDelayMs, retryDelayMsMax, random } = this.#options;
    return Math.ceil(backOffMs(attempt, retryDelayMs, retryDelayMsMax) * (0.5 + random.fraction() / 2));
  }

  /** Tries until it succeeds; undefined when the term is over. Throws what trying again cannot mend. */
  async persist<T>(attempt: () => Promise<T>): Promise<T | undefined> {
    const { term } = this;
    for (let failures = 1; term === this.term; failures++) {
      try {
        return await attempt();
      } catch (error) {
        if (!this.mayPass(error)) throw error;
        // Log and database tell people about their outages, for all partitions together.
        const what = error instanceof DatabaseError ? 'the database' : 'the log';
        this.#options.logger.debug(`${what} cannot be read, trying again`, { error: error as Error, failures });
        await this.backOff(failures);
      }
    }
    return undefined;
  }
}
