/** The queues of dead letters, the jobs over them, and the audit of both. They start once the server serves; workflows never wait for them. */
import type { Concern } from '../actors/ownership/census.ts';
import { deadLetterTopic } from '../topics/catalogue.ts';
import type { MetricsRegistry } from '../observability/metrics/metrics.ts';
import { deadLetterAudit } from './dead-letter-audit.ts';
import { deadLetterJobs, type DeadLetterJobsOptions } from './dead-letter-jobs.ts';
import { DeadLetterQueues, type DeadLetterQueuesOptions, foreignQueues, ownQueues, type QueueName } from './dead-letter-queues.ts';

export type DeadLettersOptions = Omit<DeadLetterQueuesOptions, 'metrics' | 'settings'> & {
  readonly settings: () => ReturnType<DeadLetterQueuesOptions['settings']> & ReturnType<DeadLetterJobsOptions['settings']>;
  readonly metrics: MetricsRegistry | undefined;
};

export class DeadLetters {
  readonly #options: DeadLettersOptions;
  readonly #audit: ReturnType<typeof deadLetterAudit>;
  readonly #queues: DeadLetterQueues;
  readonly #jobs: ReturnType<typeof deadLetterJobs>;

  constructor(options: DeadLettersOptions) {
    const { metrics, checkpoints, ...ofOwners } = options;
    this.#options = options;
    // Only queues have checkpoints: the state of the others is small, and is replayed.
    this.#audit = deadLetterAudit(ofOwners);
    this.#queues = new DeadLetterQueues({ ...ofOwners, checkpoints, metrics: metrics?.of('history') });
    this.#jobs = deadLetterJobs({ ...ofOwners, metrics: metrics?.of('worker') });
  }

  open(): void {
    const { clusterName, cluster } = this.#options;
    this.#audit.open();
    this.#queues.open([...ownQueues(clusterName), ...foreignQueues(clusterName, cluster.view)]);
    this.#jobs.open();
  }

  openForeign(queue: QueueName): boolean {
    return this.#queues.openForeign(queue);
  }

  whyNoQueue(category: string, sourceCluster: string): string | undefined {
    return this.#queues.whyNotOpen(deadLetterTopic(this.#options.prefix, category, sourceCluster));
  }

  journalStartMax(topic: string): number | undefined {
    return this.#queues.journalStartMax(topic) ?? this.#jobs.journalStartMax(topic) ?? this.#audit.journalStartMax(topic);
  }

  get concerns(): readonly Concern[] {
    return [...this.#queues.concerns, ...this.#jobs.concerns, ...this.#audit.concerns];
  }

  /** Stops them in this order, because jobs ask queues, and both write to the audit. */
  async stop(): Promise<void> {
    await this.#jobs.stop();
    await this.#queues.stop();
    await this.#audit.stop();
  }
}
