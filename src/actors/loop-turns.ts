/**
 * Long work of all partitions of a process shares the event loop, and leaves room for what else it has to do: answering health, signals, and
 * the commands of the partitions that serve.
 *
 *     turn of the event loop   │ I/O │ slice of A │ I/O │ slice of B │ I/O │ slice of A │ …
 *     reads under way          │ B C          A C          A B …                          a few at a time: an answer is decoded in the turn
 *                                                                                         in which it comes
 *
 * Without it each partition folds a megabyte in the turn in which its read was answered, and sixteen of them, one after another, starve
 * timers for minutes.
 */
import { ReleaseTurns } from './release-turns.ts';
import type { Clock } from './ports.ts';

/** Of a fold: nobody is served by its partition yet. A slice may exceed it by one record. */
const FOLD_SLICE_MS = 8;
/** Of work beside what is served: a slice may exceed it by one step. */
const STEPS_SLICE_MS = 2;
const READS_MAX = 2;
const READ_PATIENCE_MS = 500;

type SliceWaiter = { readonly ms: number; readonly begin: () => void };

export class LoopTurns {
  /** What is served goes at once, and no more of it in one turn than its share. */
  readonly releases: ReleaseTurns;
  readonly #clock: Pick<Clock, 'monoMs' | 'after'>;
  readonly #sliceWaiters: SliceWaiter[] = [];
  readonly #readWaiters: (() => void)[] = [];
  #scheduled = false;
  #sliceEndMs = 0;
  #reads = 0;

  constructor(clock: Pick<Clock, 'monoMs' | 'after'>, releases: ReleaseTurns = new ReleaseTurns(clock)) {
    this.#clock = clock;
    this.releases = releases;
  }

  /** Resolves at the start of a slice; it lasts until `over`, or until the caller waits for something. */
  slice(ms = FOLD_SLICE_MS): Promise<void> {
    return new Promise((begin) => {
      this.#sliceWaiters.push({ ms, begin });
      this.#schedule();
    });
  }

  /** The slice has been used up: ask for another. */
  over(): boolean {
    return this.#clock.monoMs() >= this.#sliceEndMs;
  }

  /** Goes through the steps of that work, in slices. Rejects with what it throws. */
  async through(work: Iterable<unknown>): Promise<void> {
    const steps = work[Symbol.iterator]();
    do await this.slice(STEPS_SLICE_MS);
    while (!this.#someOf(steps));
  }

  /** True: those were the last. */
  #someOf(steps: Iterator<unknown>): boolean {
    for (;;) {
      if (steps.next().done === true) return true;
      if (this.over()) return false;
    }
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
      const next = this.#sliceWaiters.shift();
      if (next === undefined) return;
      this.#sliceEndMs = this.#clock.monoMs() + next.ms;
      next.begin();
      this.#schedule();
    });
  }
}
