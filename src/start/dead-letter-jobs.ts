/** Dead letter plans and jobs in this server. Their topic is created if it does not exist. */
import { createHash } from 'node:crypto';
import { JOBS_ACTOR, type Router } from '../actors/asks/router.ts';
import { JobsHost, tellJobs, type JobsHostOptions } from '../actors/deadletters/jobs/jobs-host.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import type { GrowingLog } from '../ports/log.ts';
import { deadLetterTopic, dlqJobsTopic } from '../topics/catalogue.ts';
import { dlqJobsCodec } from '../codec/dlq-jobs-codec.ts';
import { LateOwner } from './late-owner.ts';
import type { RevivalTiming } from './owner-revival.ts';

type OfEveryActor = Pick<JobsHostOptions, 'owner' | 'claims' | 'clock' | 'random' | 'logger' | 'budget' | 'turns' | 'settings'>;

export type DeadLetterJobsOptions = OfEveryActor & {
  readonly log: GrowingLog;
  readonly prefix: string;
  readonly router: Router;
  readonly metrics?: Metrics | undefined;
  readonly revival?: Partial<RevivalTiming>;
};

/** Running jobs continue after a restart. */
export function deadLetterJobs(options: DeadLetterJobsOptions): LateOwner<JobsHost> {
  const { prefix, router, metrics } = options;
  const topic = dlqJobsTopic(prefix);
  const owner = new LateOwner({
    ...options,
    topic,
    unopened: 'dead letter jobs cannot run yet: their topic cannot be opened',
    unserved: 'dead letter jobs cannot run; everything else continues',
    make: (onStatus) => {
      const host = new JobsHost({
        ...options,
        topic: topic.name,
        codec: dlqJobsCodec(prefix),
        sink: router.jobs.sink(JOBS_ACTOR),
        asker: router,
        audit: { asker: router, queueTopic: (category, sourceCluster) => deadLetterTopic(prefix, category, sourceCluster) },
        sha256: (text) => createHash('sha256').update(text).digest('hex'),
        onStatus,
      });
      router.jobs.attach(JOBS_ACTOR, host);
      return host;
    },
  });
  metrics?.beforeScrape(() => tellJobs(metrics, owner.host?.jobs));
  return owner;
}
