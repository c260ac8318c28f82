/** Plans and jobs over dead letters in this server. A cluster that was made without their topic gets it. */
import { createHash } from 'node:crypto';
import { JOBS_ACTOR, type Router } from '../actors/asks/router.ts';
import { JobsHost, type JobsHostOptions } from '../actors/deadletters/jobs/jobs-host.ts';
import { tellJobs } from '../actors/deadletters/jobs/jobs-metrics.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import type { GrowingLog } from '../actors/log.ts';
import type { Concern } from '../actors/ownership/census.ts';
import type { PartitionStatus } from '../actors/ownership/partition-owner.ts';
import { deadLetterTopic, dlqJobsTopic } from '../topics/catalogue.ts';
import { dlqJobsCodec } from '../topics/codec/dlq-jobs-codec.ts';
import { LateOwner } from './late-owner.ts';
import type { RevivalTiming } from './owner-revival.ts';

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
  readonly #owner: LateOwner<JobsHost>;

  constructor(options: DeadLetterJobsOptions) {
    this.#options = options;
    const topic = dlqJobsTopic(options.prefix);
    this.#topic = topic.name;
    this.#owner = new LateOwner({
      ...options,
      topic,
      unopened: 'jobs over dead letters are not carried out yet: their topic cannot be opened',
      unserved: 'jobs over dead letters are not carried out, and nothing else is concerned',
      make: (onStatus) => this.#make(onStatus),
    });
    const { metrics } = options;
    metrics?.beforeScrape(() => tellJobs(metrics, this.#owner.host?.jobs));
  }

  /** Idempotent. */
  open(): void {
    this.#owner.open();
  }

  /** For health. */
  get concerns(): readonly Concern[] {
    return this.#owner.concerns;
  }

  /** Jobs that run go on with the next start. */
  async stop(): Promise<void> {
    await this.#owner.stop();
  }

  /** Where its journal may begin; undefined: it is another topic. */
  journalStartMax(topic: string): number | undefined {
    return topic === this.#topic ? (this.#owner.host?.journalStartMax ?? Infinity) : undefined;
  }

  #make(onStatus: (status: PartitionStatus) => void): JobsHost {
    const { prefix, router } = this.#options;
    const host = new JobsHost({
      ...this.#options,
      topic: this.#topic,
      codec: dlqJobsCodec(prefix),
      sink: router.jobs.sink(JOBS_ACTOR),
      asker: router,
      audit: { asker: router, queueTopic: (category, sourceCluster) => deadLetterTopic(prefix, category, sourceCluster) },
      sha256: (text) => createHash('sha256').update(text).digest('hex'),
      onStatus,
    });
    router.jobs.attach(JOBS_ACTOR, host);
    return host;
  }
}
