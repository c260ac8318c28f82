/**
 * How much leaves the actors of a process in one turn of the event loop. One append may let out what waits in all of them: thousands of answers,
 * each with what it costs to write it.
 *
 *     turn of the event loop    │ A×400 B×112 │ I/O │ B×88 C×424 │ I/O │ C×16 … │
 *                                         └ its share is used up: B and C wait, in this order
 *
 * Nobody notes where a turn of the loop ends, which would cost each of them a timer: a share lasts until it is used up. So no turn lets out more
 * than one, and now and then one waits that need not have.
 */
import { Fifo } from '../kernel/fifo.ts';
import type { Clock } from './ports.ts';

/** Answers, effects and commits: some milliseconds. */
const STEPS_PER_TURN_MAX = 512;

export class ReleaseTurns {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #stepsMax: number;
  readonly #waiting = new Fifo<() => void>();
  #left: number;
  #scheduled = false;

  constructor(clock: Pick<Clock, 'after'>, stepsMax = STEPS_PER_TURN_MAX) {
    this.#clock = clock;
    this.#stepsMax = stepsMax;
    this.#left = stepsMax;
  }

  /** False: not in this turn. What is taken last may exceed the share. Called for each that leaves: cheap. */
  take(steps: number): boolean {
    if (this.#left <= 0) return false;
    this.#left -= steps;
    return true;
  }

  /** Once there is a share again, behind those that wait already. */
  wait(goOn: () => void): void {
    this.#waiting.push(goOn);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#clock.after(0, this.#turn);
  }

  readonly #turn = (): void => {
    this.#left = this.#stepsMax;
    try {
      while (this.#left > 0 && this.#waiting.length > 0) this.#waiting.shift()();
    } finally {
      // Whatever one of them throws, the others have their turn.
      this.#scheduled = false;
      if (this.#waiting.length > 0) this.#schedule();
    }
  };
}
