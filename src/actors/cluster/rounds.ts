/**
 * Work that follows from the state of the cluster, until nothing of it is left: round after round, and never two at once.
 *
 *     look ─▶ is something due? ─▶ a round ─▶ nothing is left, or somebody has looked meanwhile ─▶ look
 *                                    └ something is in the way ─▶ a pause, from time to time longer ─▶ look
 */
import { backOffMs } from '../../kernel/back-off.ts';
import { asError, errorMessage } from '../../kernel/error-text.ts';
import { isOutage } from '../../projections/database-port.ts';
import { NowAndThen } from '../../ports/now-and-then.ts';
import type { ClockAndLogger, Timer } from '../../ports/machine.ts';

export type RoundsOptions = ClockAndLogger & {
  /** Zero or less: a round is due now. Infinity: there is nothing to do. */
  readonly dueInMs: () => number;
  /** Answers what is in the way; undefined: nothing is left of what was due. What it throws is in the way as well. */
  readonly round: () => Promise<string | undefined>;
  readonly retryDelayMsMax: number;
  /** Failed rounds, about a minute of them, of which people are not told: after a start or a move, shards are not served for a moment. */
  readonly quietTries: number;
  /** Says that something is in the way for that many rounds, one after the other; now and then. */
  readonly tellWaiting: (tries: number, reason: string) => void;
  readonly failed: string;
};

const RETRY_DELAY_MS = 50;
const TELL_INTERVAL_MS = 60_000;
/** The clock may be set, and timers are no longer than that. */
const LOOK_MS_MAX = 3_600_000;

export class Rounds {
  readonly #options: RoundsOptions;
  readonly #warnings: NowAndThen;
  #timer: Timer | undefined;
  #isRunning = false;
  /** There may be something new since it runs. */
  #isAsked = false;
  isClosed = false;
  #failures = 0;

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#warnings = new NowAndThen(options.clock, TELL_INTERVAL_MS);
  }

  look(): void {
    this.#isAsked = this.#isRunning;
    if (this.#isRunning || this.isClosed) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    const delayMs = this.#options.dueInMs();
    if (delayMs === Infinity) return;
    if (delayMs > 0) return this.#lookIn(Math.min(delayMs, LOOK_MS_MAX));
    this.#isRunning = true;
    void this.#run();
  }

  close(): void {
    this.isClosed = true;
    this.#timer?.cancel();
  }

  #lookIn(delayMs: number): void {
    this.#timer = this.#options.clock.after(delayMs, () => this.look());
  }

  async #run(): Promise<void> {
    const { round, quietTries, tellWaiting, retryDelayMsMax } = this.#options;
    const reason = await round().catch((error: unknown) => this.#failed(error));
    this.#isRunning = false;
    if (this.isClosed) return;
    this.#failures = reason === undefined ? 0 : this.#failures + 1;
    if (reason !== undefined && this.#failures >= quietTries && this.#warnings.now()) tellWaiting(this.#failures, reason);
    if (reason === undefined || this.#isAsked) this.look();
    else this.#lookIn(backOffMs(this.#failures, RETRY_DELAY_MS, retryDelayMsMax));
  }

  #failed(error: unknown): string {
    const { failed, logger } = this.#options;
    if (!this.isClosed && !isOutage(error) && this.#warnings.now()) logger.warn(failed, { error: asError(error) });
    return errorMessage(error);
  }
}
