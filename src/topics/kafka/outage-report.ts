/**
 * What an operator reads while Kafka does not do what we ask: a line when it has lasted a second, one every ten seconds, one when it is over.
 *
 *     failed ─ 1 s ─▶ WARN partitions wait for Kafka ─ 10 s ─▶ WARN … ─ worked, the last of them ─▶ INFO Kafka serves all partitions again
 *
 * A leader that moves is over within the second and says nothing.
 */
import { partitionName, type PartitionId } from '../../actors/log.ts';
import type { Logger } from '../../observability/logger.ts';

export const reportIntervalMs = 10_000;
/** An outage that is over sooner is not told. */
const firstReportMs = 1_000;
/** Whoever waits tries again much sooner than this; a waiter that has not done so is forgotten. */
const abandonedAfterMs = 20_000;
const reasonsMax = 3;

/** Reported apart, because one may work while the other does not. */
export type Doing = 'append' | 'read';
type Waiting = { readonly name: string; lastMs: number; reason: string };

export type OutageReportOptions = {
  readonly logger: Logger;
  readonly nowMs: () => number;
  /** The brokers, as they advertise themselves. */
  readonly brokers: () => string;
};

export class OutageReport {
  readonly #options: OutageReportOptions;
  readonly #waiting = new Map<string, Waiting>();
  #sinceMs = 0;
  #saidMs: number | undefined;
  #partitionsMax = 0;

  constructor(options: OutageReportOptions) {
    this.#options = options;
  }

  failed(doing: Doing, partition: PartitionId, reason: string): void {
    const lastMs = this.#options.nowMs();
    if (this.#waiting.size === 0) this.#sinceMs = lastMs;
    const name = partitionName(partition);
    this.#waiting.set(`${doing} ${name}`, { name, lastMs, reason });
  }

  /** Called for everything that works: costs nothing while nothing fails. */
  worked(doing: Doing, partition: PartitionId): void {
    if (this.#waiting.size === 0 || !this.#waiting.delete(`${doing} ${partitionName(partition)}`)) return;
    if (this.#waiting.size === 0) this.#over('Kafka serves all partitions again');
  }

  /** What this partition waits for, '' when it waits for nothing; appends first, for reads may rest on them. */
  reasonOf(partition: PartitionId): string {
    const name = partitionName(partition);
    return (this.#waiting.get(`append ${name}`) ?? this.#waiting.get(`read ${name}`))?.reason ?? '';
  }

  /** To be called about twice a second. */
  tick(): void {
    if (this.#waiting.size === 0) return;
    const nowMs = this.#options.nowMs();
    for (const [key, { lastMs }] of this.#waiting) if (nowMs - lastMs > abandonedAfterMs) this.#waiting.delete(key);
    if (this.#waiting.size === 0) return this.#over('no partition asks Kafka any more');
    const nextMs = this.#saidMs === undefined ? this.#sinceMs + firstReportMs : this.#saidMs + reportIntervalMs;
    if (nowMs < nextMs) return;
    this.#saidMs = nowMs;
    const partitions = new Set([...this.#waiting.values()].map(({ name }) => name)).size;
    this.#partitionsMax = Math.max(this.#partitionsMax, partitions);
    this.#options.logger.warn('partitions wait for Kafka', {
      partitions,
      since: new Date(this.#sinceMs).toISOString(),
      seconds: Math.round((nowMs - this.#sinceMs) / 1000),
      brokers: this.#options.brokers(),
      error: this.#reasons(),
    });
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
