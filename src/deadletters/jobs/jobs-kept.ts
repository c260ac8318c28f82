/** Which plans, and which jobs that have ended, are kept: the newest, as many as there is room for, each for its time. */
import { jobLimits } from './job-limits.ts';
import type { Job, Plan } from './job.ts';

/** `bytes`: in memory, roughly. */
export type Sized<Item> = { readonly item: Item; readonly bytes: number };

/** Ids of those that are kept no longer. They come in the order in which they were made. */
export function oldPlans(plans: Iterable<Sized<Plan>>, nowMs: number): readonly string[] {
  const { planKeptMs, plansMax, plansBytesMax } = jobLimits;
  const newestFirst = [...plans].reverse().sort((one, other) => other.item.createdTimeMs - one.item.createdTimeMs);
  let bytes = 0;
  const old = newestFirst.filter((plan, index) => {
    bytes += plan.bytes;
    return nowMs >= plan.item.createdTimeMs + planKeptMs || index >= plansMax || bytes > plansBytesMax;
  });
  return old.map(({ item }) => item.planId);
}

/** Likewise, of jobs that have ended. */
export function oldJobs(ended: Iterable<Sized<Job>>, nowMs: number): readonly string[] {
  const { jobKeptMs, endedJobsMax, endedJobsBytesMax } = jobLimits;
  const newestFirst = [...ended].reverse().sort((one, other) => endOf(other.item) - endOf(one.item));
  const ofQueues = new Map<number, number>();
  let bytes = 0;
  const old = newestFirst.filter((job) => {
    const { number } = job.item.queue;
    const ofQueue = (ofQueues.get(number) ?? 0) + 1;
    ofQueues.set(number, ofQueue);
    bytes += job.bytes;
    return nowMs >= endOf(job.item) + jobKeptMs || ofQueue > endedJobsMax || bytes > endedJobsBytesMax;
  });
  return old.map(({ item }) => item.jobId);
}

function endOf({ endTimeMs = 0 }: Job): number {
  return endTimeMs;
}

const ITEM_BYTES = 2_048;
const RANGE_BYTES = 48;
const TOLD_BYTES = 128;

export function planBytes({ ids, causes, query, reason }: Plan): number {
  return ITEM_BYTES + RANGE_BYTES * ids.length + TOLD_BYTES * causes.length + query.length + reason.length;
}

export function jobBytes({ ids, failures, skips, noops, query, reason }: Job): number {
  const texts = [...skips, ...noops].reduce((bytes, told) => bytes + told.reason.length, query.length + reason.length);
  const told = failures.reduce((bytes, failure) => bytes + failure.errorMessage.length + failure.errorType.length, texts);
  return ITEM_BYTES + RANGE_BYTES * ids.length + TOLD_BYTES * (failures.length + skips.length + noops.length) + told;
}
