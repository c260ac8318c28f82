/**
 * Asks where the log ends: as proof for reads that nothing under way will prove (T7), and now and then while the owner is idle, so that it
 * learns of its successor and long polls fail instead of hanging (T10).
 */
import { errorText } from '../kernel/error-text.ts';
import { LogError } from './log.ts';
import type { LogPosition } from './effective.ts';
import type { Log, PartitionId } from './log.ts';
import type { Patience } from './patience.ts';
import type { ReadBarrier } from './read-barrier.ts';

/** Who wants to know. */
export interface EndAsker {
  serving(): boolean;
  /** It serves, and nothing is under way that will tell. */
  idle(): boolean;
  /** Where the end is expected. */
  cursor(): LogPosition;
  /** `asked`: its number as a proof; `expected`: where the asker stood then. Called while it serves. */
  found(asked: number, end: number, expected: LogPosition): void;
  /** An attempt failed a while ago, and it serves: it may ask again. */
  notFound(): void;
  fail(reason: string, error: unknown): void;
}

export type EndOfLogOptions = {
  readonly partition: PartitionId;
  readonly log: Log;
  readonly barrier: ReadBarrier;
  readonly patience: Patience;
  readonly asker: EndAsker;
  readonly watchIntervalMs: number;
  readonly retryDelayMs: number;
  /** Trying again may help. */
  readonly mayPass: (error: LogError) => boolean;
};

export class EndOfLog {
  readonly #options: EndOfLogOptions;
  #asking = false;
  #watching = false;

  constructor(options: EndOfLogOptions) {
    this.#options = options;
  }

  /** An answer is under way. */
  get asking(): boolean {
    return this.#asking;
  }

  ask(): void {
    const { log, partition, barrier, patience, asker } = this.#options;
    const { turn } = patience;
    const expected = { ...asker.cursor() };
    const asked = barrier.ask();
    this.#asking = true;
    log.end(partition).then(
      (end) => {
        if (turn !== patience.turn) return;
        this.#asking = false;
        if (asker.serving()) asker.found(asked, end, expected);
      },
      (error: unknown) => {
        if (turn === patience.turn) this.#failed(error);
      },
    );
  }

  #failed(error: unknown): void {
    const { patience, asker, retryDelayMs, mayPass } = this.#options;
    if (error instanceof LogError && !mayPass(error)) return asker.fail(`the log cannot be asked: ${errorText(error)}`, error);
    patience.after(retryDelayMs, () => {
      this.#asking = false;
      if (asker.serving()) asker.notFound();
    });
  }

  /** From now on, unless it is watched already or nobody else can append. */
  watch(): void {
    const { log, barrier } = this.#options;
    if (!this.#watching && !log.exclusive) this.#watch(barrier.mark());
  }

  #watch(askedBefore: number): void {
    const { barrier, patience, asker, watchIntervalMs } = this.#options;
    this.#watching = true;
    patience.after(watchIntervalMs, () => {
      const nothingAsked = barrier.mark() === askedBefore;
      if (asker.idle() && nothingAsked && !this.#asking) this.ask();
      this.#watch(barrier.mark());
    });
  }

  /** The turn of ownership is over. */
  stop(): void {
    this.#asking = false;
    this.#watching = false;
  }
}
