import type { Job, JobCounts, JobOperation, JobOptions } from '../../deadletters/jobs/job.ts';
import { unreachable } from '../../kernel/assert.ts';
import {
  Operation,
  type Counts,
  type Job as WireJob,
  type JobOptions as WireOptions,
} from '../../wire/generated/api/deadletter/service.ts';

export function jobMessage(job: Job): WireJob {
  const { queue, operation, options, counts, endTimeMs, ids, ...same } = job;
  return {
    ...same,
    operation: operationOf(operation),
    queue: { category: queue.category, sourceCluster: queue.sourceCluster },
    ids,
    maxMessageId: ids.at(-1)?.to ?? -1,
    endTimeMs: endTimeMs ?? 0,
    options: optionsMessage(options),
    counts: countsMessage(operation, counts),
  };
}

export function operationOf(operation: JobOperation): number {
  switch (operation) {
    case 'merge':
      return Operation.MERGE;
    case 'purge':
      return Operation.PURGE;
    case 'restore':
      return Operation.RESTORE;
    default:
      return unreachable(operation);
  }
}

export function optionsMessage(options: JobOptions): WireOptions {
  const { rps, concurrency, taskTimeoutMs, canary, maxFailures, overridesLoopGuard } = options;
  return { rps, concurrency, taskTimeoutMs, canary, maxFailures, overrideLoopGuard: overridesLoopGuard };
}

function countsMessage(operation: JobOperation, counts: JobCounts): Counts {
  const { selected, merged, purged, restored, gone } = counts;
  const done = operation === 'restore' ? restored : merged + purged;
  return { ...counts, remaining: selected - done - gone };
}
