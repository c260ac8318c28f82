/**
 * What an operator reads while something we need does not do what we ask: a line when it has lasted a second, one every ten seconds, one when
 * it is over.
 *
 *     failed ─ 1 s ─▶ WARN partitions wait for Kafka ─ 10 s ─▶ WARN … ─ worked, the last of them ─▶ INFO Kafka serves all partitions again
 *
 * A leader that moves is over within the second and says nothing.
 */
import type { LogFields, Logger } from './logger.ts';

export const reportIntervalMs = 10_000;
/** An outage that is over sooner is not told. */
const firstReportMs = 1_000;
const reasonsMax = 3;

type Waiting = { readonly name: string; lastMs: number; reason: string };

export type OutageReportOptions<Subject> = {
  readonly logger: Logger;
  readonly nowMs: () => number;
  /** The name of the partition that waits; '': it is none. */
  readonly nameOf: (subject: Subject) => string;
  /** Whoever waits tries again much sooner than this; a waiter that has not done so is forgotten. */
  readonly abandonedAfterMs: number;
  readonly messages: { readonly waits: string; readonly over: string; readonly nobodyAsks: string };
  readonly details: () => LogFields;
};

export class OutageReport<Subject> {
  readonly #options: OutageReportOptions<Subject>;
  readonly #waiting = new Map<string, Waiting>();
  #sinceMs = 0;
  #saidMs: number | undefined;
  #partitionsMax = 0;

  constructor(options: OutageReportOptions<Subject>) {
    this.#options = options;
  }

  /** What is done is reported apart, because some may work while other things do not. */
  failed(doing: string, subject: Subject, reason: string): void {
    const { nowMs, nameOf } = this.#options;
    const lastMs = nowMs();
    if (this.#waiting.size === 0) this.#sinceMs = lastMs;
    const name = nameOf(subject);
    this.#waiting.set(`${doing} ${name}`, { name, lastMs, reason });
  }

  /** Called for everything that works: costs nothing while nothing fails. */
  worked(doing: string, subject: Subject): void {
    if (this.#waiting.size === 0 || !this.#waiting.delete(`${doing} ${this.#options.nameOf(subject)}`)) return;
    if (this.#waiting.size === 0) this.#over(this.#options.messages.over);
  }

  /** What it waits for in order to do this; undefined: for nothing. */
  reasonOf(doing: string, subject: Subject): string | undefined {
    return this.#waiting.get(`${doing} ${this.#options.nameOf(subject)}`)?.reason;
  }

  /** To be called about twice a second. */
  tick(): void {
    if (this.#waiting.size === 0) return;
    const { nowMs, abandonedAfterMs, messages, logger, details } = this.#options;
    const atMs = nowMs();
    for (const [key, { lastMs }] of this.#waiting) if (atMs - lastMs > abandonedAfterMs) this.#waiting.delete(key);
    if (this.#waiting.size === 0) return this.#over(messages.nobodyAsks);
    const nextMs = this.#saidMs === undefined ? this.#sinceMs + firstReportMs : this.#saidMs + reportIntervalMs;
    if (atMs < nextMs) return;
    this.#saidMs = atMs;
    const partitions = new Set([...this.#waiting.values()].map(({ name }) => name).filter((name) => name !== '')).size;
    this.#partitionsMax = Math.max(this.#partitionsMax, partitions);
    const since = new Date(this.#sinceMs).toISOString();
    const seconds = Math.round((atMs - this.#sinceMs) / 1000);
    logger.warn(messages.waits, { partitions, since, seconds, ...details(), error: this.#reasons() });
  }

  #over(how: string): void {
    if (this.#saidMs !== undefined) {
      const seconds = Math.round((this.#options.nowMs() - this.#sinceMs) / 1000);
      this.#options.logger.info(how, { seconds, partitions: this.#partitionsMax });
    }
    this.#saidMs = undefined;
    this.#partitionsMax = 0;
  }

  /** The most frequent ones, each with how many partitions it holds up. */
  #reasons(): string {
    const groups = [...Map.groupBy(this.#waiting.values(), ({ reason }) => reason)].toSorted(([, a], [, b]) => b.length - a.length);
    const said = groups.slice(0, reasonsMax).map(([reason, { length }]) => (groups.length === 1 ? reason : `${reason} (${length})`));
    return groups.length > reasonsMax ? `${said.join('; ')}; and ${groups.length - reasonsMax} more` : said.join('; ');
  }
}

/** The time of day that never jumps: as it was when the process began, and what has passed since. */
export function steadyWallMs(): number {
  return performance.timeOrigin + performance.now();
}
