/**
 * Notices when a log answers nothing for too long although something waits for it: what was decided, a read, or its owner's own question.
 *
 *     waits ───▶ begins ── 3 s ──▶ silent ── 3 s ──▶ silent, still ──▶ …
 *     something leaves, or an append is answered ─▶ ends, and begins anew where more waits
 *
 * Only time in which this process could have heard an answer counts. Where the event loop is busy for seconds the glances below are late by as much,
 * and the log is not to blame for it.
 */
import type { Clock, Timer } from '../../ports/machine.ts';

/** How often the log is looked at. A glance that comes late was late because the process could not hear anything. */
const GLANCE_MS = 250;

export type LogSilenceOptions = {
  readonly clock: Clock;
  readonly silenceMsMax: number;
  /** The message for callers that wait, and for those who ask while the silence lasts. */
  readonly describe: (seconds: number) => string;
  readonly onSilent: (message: string, seconds: number) => void;
  readonly onAnswered: () => void;
};

export class LogSilence {
  readonly #options: LogSilenceOptions;
  /** Since when something waits and the log has answered nothing; Infinity: nothing waits. */
  #waitingSinceMs = Infinity;
  /** The part of that time in which this process could not have heard an answer. */
  #deafMs = 0;
  #toldAtMs = 0;
  #timer: Timer | undefined;
  message = '';

  constructor(options: LogSilenceOptions) {
    this.#options = options;
  }

  get sinceMs(): number | undefined {
    return this.message === '' ? undefined : this.#waitingSinceMs;
  }

  begins(): void {
    if (this.#waitingSinceMs !== Infinity) return;
    this.#waitingSinceMs = this.#options.clock.monoMs();
    this.#deafMs = 0;
    if (this.#timer === undefined) this.#glanceIn(Math.min(GLANCE_MS, this.#options.silenceMsMax));
  }

  goesOn(): void {
    if (this.#waitingSinceMs === Infinity) return;
    this.ends();
    this.begins();
  }

  ends(): void {
    const wasSilent = this.message !== '';
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
    this.message = '';
  }

  /** One timer for all that waits, and it is not moved while the log answers: a few glances a second under load. */
  #glanceIn(ms: number): void {
    const { clock, silenceMsMax } = this.#options;
    const dueMs = clock.monoMs() + ms;
    this.#timer = clock.after(ms, () => {
      this.#timer = undefined;
      if (this.#waitingSinceMs === Infinity) return;
      const nowMs = clock.monoMs();
      this.#deafMs += Math.min(nowMs - dueMs, nowMs - this.#waitingSinceMs);
      const leftMs = silenceMsMax - (nowMs - this.#waitingSinceMs - this.#deafMs);
      const isTold = this.message !== '' && nowMs - this.#toldAtMs < silenceMsMax;
      if (leftMs <= 0 && !isTold) this.#fallSilent(nowMs);
      this.#glanceIn(leftMs > 0 ? Math.min(GLANCE_MS, leftMs) : GLANCE_MS);
    });
  }

  #fallSilent(nowMs: number): void {
    this.#toldAtMs = nowMs;
    const seconds = Math.round((nowMs - this.#waitingSinceMs - this.#deafMs) / 1000);
    this.message = this.#options.describe(seconds);
    this.#options.onSilent(this.message, seconds);
  }
}
