/**
 * What a server does for dead letters, together: their queues, the jobs over them, the audit of both. It begins when the server serves, and nothing
 * that serves workflows waits for it.
 */
import type { Concern } from '../actors/ownership/census.ts';
import { deadLetterTopic } from '../topics/catalogue.ts';
import type { MetricsRegistry } from '../observability/metrics/metrics.ts';
import { DeadLetterAudit } from './dead-letter-audit.ts';
import { DeadLetterJobs, type DeadLetterJobsOptions } from './dead-letter-jobs.ts';
import { DeadLetterQueues, type DeadLetterQueuesOptions, foreignQueues, ownQueues, type QueueName } from './dead-letter-queues.ts';

export type DeadLettersOptions = Omit<DeadLetterQueuesOptions, 'metrics' | 'settings'> & {
  readonly settings: () => ReturnType<DeadLetterQueuesOptions['settings']> & ReturnType<DeadLetterJobsOptions['settings']>;
  /** Absent: nobody counts. */
  readonly metrics: MetricsRegistry | undefined;
};

export class DeadLetters {
  readonly #options: DeadLettersOptions;
  readonly #audit: DeadLetterAudit;
  readonly #queues: DeadLetterQueues;
  readonly #jobs: DeadLetterJobs;

  constructor(options: DeadLettersOptions) {
    const { metrics, checkpoints, ...ofOwners } = options;
    this.#options = options;
    // Queues alone keep checkpoints: what the others hold is small, and is folded.
    this.#audit = new DeadLetterAudit(ofOwners);
    this.#queues = new DeadLetterQueues({ ...ofOwners, checkpoints, metrics: metrics?.of('history') });
    this.#jobs = new DeadLetterJobs({ ...ofOwners, metrics: metrics?.of('worker') });
  }

  open(): void {
    const { clusterName, cluster } = this.#options;
    this.#audit.open();
    this.#queues.open([...ownQueues(clusterName), ...foreignQueues(clusterName, cluster.view)]);
    this.#jobs.open();
  }

  /** With the first letter of another cluster's tasks. False: it is not served yet. */
  openForeign(queue: QueueName): boolean {
    return this.#queues.openForeign(queue);
  }

  /** Undefined: nothing keeps it from being opened. */
  whyNoQueue(category: string, sourceCluster: string): string | undefined {
    return this.#queues.whyNotOpen(deadLetterTopic(this.#options.prefix, category, sourceCluster));
  }

  /** Where the journal of a topic may begin; undefined: it is none of these. */
  journalStartMax(topic: string): number | undefined {
    return this.#queues.journalStartMax(topic) ?? this.#jobs.journalStartMax(topic) ?? this.#audit.journalStartMax(topic);
  }

  /** For health. */
  get concerns(): readonly Concern[] {
    return [...this.#queues.concerns, ...this.#jobs.concerns, ...this.#audit.concerns];
  }

  /** Jobs ask queues, and both tell the audit. */
  async stop(): Promise<void> {
    await this.#jobs.stop();
    await this.#queues.stop();
    await this.#audit.stop();
  }
}
