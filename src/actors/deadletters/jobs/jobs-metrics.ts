import type { Job, JobOperation, JobState } from '../../../deadletters/jobs/job.ts';
import type { Metrics } from '../../../observability/metrics/metrics.ts';

const operations: readonly JobOperation[] = ['merge', 'purge', 'restore'];
const states: readonly JobState[] = ['running', 'paused', 'cancelling', 'cancelled', 'completed', 'completed-with-failures', 'failed'];

/** `perdure_dlq_jobs`, also of states that no job is in. Undefined: they are not served now, and nothing is told. */
export function tellJobs(metrics: Metrics, jobs: readonly Job[] | undefined): void {
  for (const operation of operations) {
    for (const state of states) {
      if (jobs === undefined) metrics.endGauge('perdure_dlq_jobs', { operation, state });
      else metrics.gauge('perdure_dlq_jobs', { operation, state }).value = countOf(jobs, operation, state);
    }
  }
}

function countOf(jobs: readonly Job[], operation: JobOperation, state: JobState): number {
  return jobs.filter((job) => job.operation === operation && job.state === state).length;
}
