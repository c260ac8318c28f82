import { assert } from '../kernel/assert.ts';
import type { Clock, Timer } from './machine.ts';

/** A pause that may be ended early. */
export class Pause {
  readonly #clock: Pick<Clock, 'after'>;
  #on: { readonly timer: Timer; readonly over: () => void } | undefined;

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  get isOn(): boolean {
    return this.#on !== undefined;
  }

  /** Resolves after that time, or when it is ended. */
  async last(delayMs: number): Promise<void> {
    assert(this.#on === undefined, 'one pause at a time');
    await new Promise<void>((resolve) => {
      const over = (): void => {
        this.#on = undefined;
        resolve();
      };
      this.#on = { timer: this.#clock.after(delayMs, over), over };
    });
  }

  end(): void {
    this.#on?.timer.cancel();
    this.#on?.over();
  }
}
