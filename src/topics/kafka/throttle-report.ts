/** Logs that Kafka throttles us: an operator would look for the cause everywhere else first. At most one line in ten seconds. */
import { reportIntervalMs } from '../../observability/outage-report.ts';
import type { Logger } from '../../observability/logger.ts';

export class ThrottleReport {
  readonly #logger: Logger;
  readonly #nowMs: () => number;
  readonly #brokers = new Set<string>();
  #answers = 0;
  #throttledMs = 0;
  #saidMs: number | undefined;

  constructor(logger: Logger, nowMs: () => number) {
    this.#logger = logger;
    this.#nowMs = nowMs;
  }

  throttled(broker: string, throttledMs: number): void {
    this.#brokers.add(broker);
    this.#answers += 1;
    this.#throttledMs += throttledMs;
    this.tick();
  }

  tick(): void {
    const nowMs = this.#nowMs();
    if (this.#saidMs !== undefined && nowMs - this.#saidMs < reportIntervalMs) return;
    if (this.#answers === 0) {
      if (this.#saidMs !== undefined) this.#logger.info('Kafka no longer throttles this client');
      this.#saidMs = undefined;
      return;
    }
    this.#saidMs = nowMs;
    this.#logger.warn('Kafka throttles this client: a quota of its user or of client id "perdure" is used up', {
      brokers: [...this.#brokers].join(', '),
      answers: this.#answers,
      throttledMs: this.#throttledMs,
    });
    this.#brokers.clear();
    this.#answers = 0;
    this.#throttledMs = 0;
  }
}
