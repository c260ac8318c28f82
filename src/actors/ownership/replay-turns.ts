/**
 * All partitions of a process that fold their journals share the event loop, and leave room for what else it has to do: answering health,
 * signals, and the partitions that serve.
 *
 *     turn of the event loop   │ I/O │ slice of A │ I/O │ slice of B │ I/O │ slice of A │ …
 *     reads under way          │ B C          A C          A B …                          a few at a time: an answer is decoded in the turn
 *                                                                                         in which it comes
 *
 * Without it each partition folds a megabyte in the turn in which its read was answered, and sixteen of them, one after another, starve
 * timers for minutes.
 */
import type { Clock } from '../ports.ts';

/** A slice may exceed it by one record. */
const SLICE_MS = 8;
const READS_MAX = 2;
const READ_PATIENCE_MS = 500;

export class ReplayTurns {
  readonly #clock: Pick<Clock, 'monoMs' | 'after'>;
  readonly #sliceWaiters: (() => void)[] = [];
  readonly #readWaiters: (() => void)[] = [];
  #scheduled = false;
  #sliceEndMs = 0;
  #reads = 0;

  constructor(clock: Pick<Clock, 'monoMs' | 'after'>) {
    this.#clock = clock;
  }

  /** Resolves at the start of a slice; it lasts until `over`, or until the caller waits for something. */
  slice(): Promise<void> {
    return new Promise((resolve) => {
      this.#sliceWaiters.push(resolve);
      this.#schedule();
    });
  }

  /** The slice has been used up: ask for another. */
  over(): boolean {
    return this.#clock.monoMs() >= this.#sliceEndMs;
  }

  /** Reads when few others do. One that takes long (its broker hangs) makes room for those behind it. */
  async reading<T>(read: () => Promise<T>): Promise<T> {
    if (this.#reads >= READS_MAX) await new Promise<void>((resolve) => this.#readWaiters.push(resolve));
    else this.#reads += 1;
    let holds = true;
    const release = (): void => {
      if (!holds) return;
      holds = false;
      const next = this.#readWaiters.shift();
      if (next === undefined) this.#reads -= 1;
      else next();
    };
    const timer = this.#clock.after(READ_PATIENCE_MS, release);
    try {
      return await read();
    } finally {
      timer.cancel();
      release();
    }
  }

  #schedule(): void {
    if (this.#scheduled || this.#sliceWaiters.length === 0) return;
    this.#scheduled = true;
    this.#clock.after(0, () => {
      this.#scheduled = false;
      this.#sliceEndMs = this.#clock.monoMs() + SLICE_MS;
      this.#sliceWaiters.shift()?.();
      this.#schedule();
    });
  }
}
