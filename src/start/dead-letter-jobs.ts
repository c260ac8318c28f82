/**
 * Plans and jobs over dead letters in this server: their topic is added once it serves, so that a cluster that was made without it gets it; then
 * their actor takes it over. Nothing waits for it.
 */
import { createHash } from 'node:crypto';
import { JOBS_ACTOR, type Router } from '../actors/asks/router.ts';
import { JobsHost, type JobsHostOptions } from '../actors/deadletters/jobs-host.ts';
import { tellJobs } from '../actors/deadletters/jobs-metrics.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import { OwnerRevival, type RevivalTiming } from './owner-revival.ts';
import { TopicOpener } from '../actors/deadletters/topic-opener.ts';
import type { GrowingLog } from '../actors/log.ts';
import type { Concern } from '../actors/ownership/census.ts';
import type { PartitionStatus } from '../actors/ownership/partition-owner.ts';
import { deadLetterTopic, dlqJobsTopic } from '../topics/catalogue.ts';
import { dlqJobsCodec } from '../topics/codec/dlq-jobs-codec.ts';

type OfEveryActor = Pick<JobsHostOptions, 'owner' | 'claims' | 'clock' | 'random' | 'logger' | 'budget' | 'turns' | 'settings'>;

export type DeadLetterJobsOptions = OfEveryActor & {
  readonly log: GrowingLog;
  readonly prefix: string;
  readonly router: Router;
  /** Absent: nobody counts. */
  readonly metrics?: Metrics | undefined;
  readonly revival?: Partial<RevivalTiming>;
};

export class DeadLetterJobs {
  readonly #options: DeadLetterJobsOptions;
  readonly #topic: string;
  readonly #opener: TopicOpener;
  #host: JobsHost | undefined;
  #status: PartitionStatus | undefined;
  readonly #revival: OwnerRevival;

  constructor(options: DeadLetterJobsOptions) {
    this.#options = options;
    this.#topic = dlqJobsTopic(options.prefix);
    this.#opener = new TopicOpener(options);
    const start = (): void => this.#host?.actor.start();
    this.#revival = new OwnerRevival({ clock: options.clock, start, timing: options.revival ?? {} });
    const { metrics } = options;
    metrics?.beforeScrape(() => tellJobs(metrics, this.#host?.jobs));
  }

  /** Idempotent. */
  open(): void {
    const topic = { name: this.#topic, partitions: 1, purpose: 'plans and jobs over dead letters' };
    const warning = 'jobs over dead letters are not carried out yet: their topic cannot be opened';
    this.#opener.open([{ topic, serve: () => this.#serve(), warning, logFields: {} }]);
  }

  /** For health. */
  get concerns(): readonly Concern[] {
    const { state, reason = '' } = this.#status ?? {};
    const isDown = state === 'failed' || state === 'unassigned';
    const why = isDown ? `it is ${state} (${reason})` : this.#opener.closed.at(0)?.reason;
    if (why === undefined) return [];
    const message = `jobs over dead letters are not carried out, and nothing else is concerned: ${why}`;
    return [{ subject: this.#topic, severity: 'warning', message }];
  }

  /** Jobs that run go on with the next start. */
  async stop(): Promise<void> {
    this.#opener.close();
    this.#revival.stop();
    await this.#host?.actor.drain();
  }

  /** Where its journal may begin; undefined: it is another topic. */
  journalStartMax(topic: string): number | undefined {
    return topic === this.#topic ? this.#host?.journalStartMax : undefined;
  }

  #serve(): void {
    const { prefix, router } = this.#options;
    this.#host = new JobsHost({
      ...this.#options,
      topic: this.#topic,
      codec: dlqJobsCodec(prefix),
      sink: router.jobs.sink(JOBS_ACTOR),
      asker: router,
      audit: { asker: router, queueTopic: (category, sourceCluster) => deadLetterTopic(prefix, category, sourceCluster) },
      sha256: (text) => createHash('sha256').update(text).digest('hex'),
      onStatus: (status) => {
        this.#status = status;
        this.#revival.told(status);
      },
    });
    router.jobs.attach(JOBS_ACTOR, this.#host);
    this.#host.actor.start();
  }
}
