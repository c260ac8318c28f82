/**
 * What generic tools for Kafka send back to be tried again. Letters name this topic as the one that they came from, for no foreign record may
 * enter a journal; and nothing is executed because of what anybody has written into a topic. So whoever redrives with such a tool is told:
 *
 *     <prefix>.dlq-redrive ── longer than it was ──▶ perdure_dlq_redrive_ignored, WARN: merge the letters instead
 */
import { errorMessage } from '../../kernel/error-text.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import type { GrowingLog, TopicSpec } from '../log.ts';
import type { Clock, Timer } from '../ports.ts';
import { TopicOpener } from './topic-opener.ts';

export type RedriveIntakeOptions = {
  readonly log: Pick<GrowingLog, 'addTopic' | 'bounds'>;
  readonly topic: TopicSpec;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent: nobody counts. */
  readonly metrics?: Metrics | undefined;
  readonly lookIntervalMs?: number;
};

const LOOK_INTERVAL_MS = 15_000;

export class RedriveIntake {
  readonly #options: RedriveIntakeOptions;
  readonly #opener: TopicOpener;
  #timer: Timer | undefined;
  /** Undefined: nobody has looked yet. What stood there before this process is told, and not counted again. */
  #seen: number | undefined;
  #isStopped = false;

  constructor(options: RedriveIntakeOptions) {
    this.#options = options;
    this.#opener = new TopicOpener(options);
  }

  /** Idempotent. Nobody waits for it. */
  open(): void {
    const { topic } = this.#options;
    const warning = 'nobody hears of letters that tools for Kafka send back: the topic cannot be opened';
    this.#opener.open([{ topic, serve: () => void this.#look(), warning, logFields: {} }]);
  }

  stop(): void {
    this.#isStopped = true;
    this.#opener.close();
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    const { log, clock, logger, lookIntervalMs = LOOK_INTERVAL_MS } = this.#options;
    const topic = this.#options.topic.name;
    try {
      const { start, end } = await log.bounds({ topic, partition: 0 });
      if (this.#isStopped) return;
      this.#told(start, end);
    } catch (error) {
      // The journals on the same brokers have told of it.
      logger.debug('the topic of redriven letters cannot be read now', { topic, reason: errorMessage(error) });
    }
    if (!this.#isStopped) this.#timer = clock.after(lookIntervalMs, () => void this.#look());
  }

  #told(start: number, end: number): void {
    const { logger, metrics } = this.#options;
    const topic = this.#options.topic.name;
    const more = end - Math.max(start, this.#seen ?? start);
    if (this.#seen !== undefined && more > 0) metrics?.counter('perdure_dlq_redrive_ignored', {}).add(more);
    // Where the topic was made anew, it begins again.
    this.#seen = end;
    if (more > 0)
      logger.warn('letters that were sent back are not tried again: merge them (perdure admin queue dlq merge)', { topic, records: more });
  }
}
