/**
 * Notices when a log lets nothing out for too long although something waits for it.
 *
 *     waits ───▶ begins ── 3 s ──▶ silent ── 3 s ──▶ silent, still ──▶ …
 *     something leaves ─▶ ends, and begins anew where more waits
 */
import type { Clock, Timer } from './ports.ts';

export type LogSilenceOptions = {
  readonly clock: Clock;
  readonly silenceMsMax: number;
  /** For those who wait, and for whoever asks while it lasts. */
  readonly describe: (seconds: number) => string;
  /** Again and again while it lasts. */
  readonly onSilent: (message: string, seconds: number) => void;
};

export class LogSilence {
  readonly #options: LogSilenceOptions;
  /** Since when nothing was let out although something waits; Infinity: nothing waits. */
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

  begins(): void {
    if (this.#waitingSinceMs !== Infinity) return;
    this.#waitingSinceMs = this.#options.clock.monoMs();
    if (this.#timer === undefined) this.#listenFor(this.#options.silenceMsMax);
  }

  ends(): void {
    this.#waitingSinceMs = Infinity;
    this.#message = '';
  }

  close(): void {
    this.ends();
    this.#timer?.cancel();
    this.#timer = undefined;
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
