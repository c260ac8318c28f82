/** Dead letter plans and jobs in this server. Their topic is created if it does not exist. */
import { createHash } from 'node:crypto';
import { JOBS_ACTOR } from '../actors/asks/router.ts';
import { JobsHost, tellJobs, type JobsHostOptions } from '../actors/deadletters/jobs/jobs-host.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import { deadLetterTopic, dlqJobsTopic } from '../topics/catalogue.ts';
import { dlqJobsCodec } from '../codec/dlq-jobs-codec.ts';
import type { DeadLetterAuditOptions } from './dead-letter-audit.ts';
import { LateOwner } from './late-owner.ts';

export type DeadLetterJobsOptions = DeadLetterAuditOptions & Pick<JobsHostOptions, 'settings'> & { readonly metrics?: Metrics | undefined };

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
