/**
 * What becomes of a shard's own commands (a timer that is due, the answer to an outbox task) that cannot be decided.
 *
 *     cannot be decided ── pause ──▶ tried again ── … ──▶ the fifth time: put aside, and the shard goes on
 *
 * Put aside is the run that the command is about: a record takes its timers and tasks out of the queues (history/put-aside.ts). What is
 * about no run is tried again for ever, at the longest pause. Nobody waits for such a command, and it is never dropped.
 */
import type { Clock, Timer } from './ports.ts';

export const OWN_COMMAND_ATTEMPTS_MAX = 5;
const RETRY_DELAY_MS = 200;
const RETRY_DELAY_MS_MAX = 60_000;
/** Past it the counts begin anew: a command whose count is lost is tried a few times more. */
const COUNTED_COMMANDS_MAX = 10_000;

export class OwnCommands {
  readonly #clock: Clock;
  /** Attempts by what was attempted. What succeeds in the end stays counted: task ids are never used again. */
  readonly #attempts = new Map<string, number>();
  readonly #timers = new Set<Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Another attempt has failed: the pause before the next one; undefined when there have been enough. */
  pauseMs(name: string, attemptsMax: number = OWN_COMMAND_ATTEMPTS_MAX): number | undefined {
    if (this.#attempts.size >= COUNTED_COMMANDS_MAX) this.#attempts.clear();
    const attempts = (this.#attempts.get(name) ?? 0) + 1;
    this.#attempts.set(name, attempts);
    if (attempts >= attemptsMax) return undefined;
    return Math.min(RETRY_DELAY_MS * 2 ** (attempts - 1), RETRY_DELAY_MS_MAX);
  }

  after(delayMs: number, run: () => void): void {
    const timer = this.#clock.after(delayMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }

  /** This memory is dropped: whoever takes over finds what is pending. */
  close(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}
