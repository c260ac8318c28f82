/**
 * The time in which one memory of a partition owns it, from the end of its takeover to its loss. What the memory submits for itself and
 * its timers end with it: whoever takes over finds in the journal what is pending.
 */
import { NOBODY } from '../asks/asks.ts';
import type { AskFailure } from '../asks/asks.ts';
import type { Clock, Timer } from '../ports.ts';

type Actor<Command> = {
  submit(askId: number, command: Command): AskFailure | undefined;
  nowMs(): number;
  fenced(): void;
  claimAnew(claimed: (offset: number) => void): void;
};

export class Tenure<Command> {
  readonly #actor: Actor<Command>;
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();
  #active = false;
  #ended = false;

  constructor(actor: Actor<Command>, clock: Clock) {
    this.#actor = actor;
    this.#clock = clock;
  }

  /** All of the journal is here, and it is ours. */
  get active(): boolean {
    return this.#active;
  }

  /** The time by which commands are decided; timers of the partition go by it. */
  nowMs(): number {
    return this.#actor.nowMs();
  }

  /** A command of the actor's own: nobody waits for its answer, and it is never refused as busy. Undefined: accepted. */
  submit(command: Command): AskFailure | undefined {
    return this.#active ? this.#actor.submit(NOBODY, command) : noLongerOwned;
  }

  /** Outside of the tenure: not at all. */
  after(delayMs: number, run: () => void): void {
    if (!this.#active) return;
    const timer = this.#clock.after(delayMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }

  /**
   * The database takes no checkpoint of this memory any more, because another has restored since: the partition is lost, or is restored
   * here again, with a new memory. Also before the tenure begins.
   */
  fenced(): void {
    if (!this.#ended) this.#actor.fenced();
  }

  /** `claimed`: all that is committed by now stands in front of this claim of ours, and the tenure goes on. Outside of it: never. */
  claimAnew(claimed: (offset: number) => void): void {
    if (this.#active) this.#actor.claimAnew((offset) => void (this.#active && claimed(offset)));
  }

  begin(): void {
    this.#active = true;
  }

  end(): void {
    this.#active = false;
    this.#ended = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}

const noLongerOwned: AskFailure = { kind: 'notHere', message: 'the partition is no longer owned here', hint: '', epoch: 0 };
