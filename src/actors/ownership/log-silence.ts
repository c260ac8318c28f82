/**
 * Notices when a log answers nothing for too long although something waits for it: what was decided, a read, or its owner's own question.
 *
 *     waits ───▶ begins ── 3 s ──▶ silent ── 3 s ──▶ silent, still ──▶ …
 *     something leaves ─▶ ends, and begins anew where more waits
 */
import type { Clock, Timer } from '../ports.ts';

export type LogSilenceOptions = {
  readonly clock: Clock;
  readonly silenceMsMax: number;
  /** For those who wait, and for whoever asks while it lasts. */
  readonly describe: (seconds: number) => string;
  /** Again and again while it lasts. */
  readonly onSilent: (message: string, seconds: number) => void;
  readonly onAnswered: () => void;
};

export class LogSilence {
  readonly #options: LogSilenceOptions;
  /** Since when the log has answered nothing although something waits; Infinity: nothing waits. */
  #waitingSinceMs = Infinity;
  #timer: Timer | undefined;
  #message = '';

  constructor(options: LogSilenceOptions) {
    this.#options = options;
  }

  /** '': the log is not silent. */
  get message(): string {
    return this.#message;
  }

  /** Since when it is; undefined while it is not silent. */
  get sinceMs(): number | undefined {
    return this.#message === '' ? undefined : this.#waitingSinceMs;
  }

  begins(): void {
    if (this.#waitingSinceMs !== Infinity) return;
    this.#waitingSinceMs = this.#options.clock.monoMs();
    if (this.#timer === undefined) this.#listenFor(this.#options.silenceMsMax);
  }

  ends(): void {
    const wasSilent = this.#message !== '';
    this.#forget();
    if (wasSilent) this.#options.onAnswered();
  }

  close(): void {
    this.#forget();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #forget(): void {
    this.#waitingSinceMs = Infinity;
    this.#message = '';
  }

  /** One timer for all that waits, and it is not moved while the log answers: a glance every few seconds under load. */
  #listenFor(ms: number): void {
    const { clock, silenceMsMax } = this.#options;
    this.#timer = clock.after(ms, () => {
      this.#timer = undefined;
      if (this.#waitingSinceMs === Infinity) return;
      const leftMs = this.#waitingSinceMs + silenceMsMax - clock.monoMs();
      if (leftMs <= 0) this.#fallSilent();
      this.#listenFor(leftMs <= 0 ? silenceMsMax : leftMs);
    });
  }

  #fallSilent(): void {
    const seconds = Math.round((this.#options.clock.monoMs() - this.#waitingSinceMs) / 1000);
    this.#message = this.#options.describe(seconds);
    this.#options.onSilent(this.#message, seconds);
  }
}
