/** What the journal of plans and jobs adds up to. */
import { unreachable } from '../../kernel/assert.ts';
import { jobLimits } from './job-limits.ts';
import type { Job, JobCounts, JobState, Plan } from './job.ts';
import type { JobEntry, JobsRecord } from './jobs-records.ts';

export class JobsState {
  /** That nobody has applied; in the order in which they were made, as jobs are. */
  readonly #plans = new Map<string, Plan>();
  readonly #jobs = new Map<string, JobEntry>();

  plan(planId: string): Plan | undefined {
    return this.#plans.get(planId);
  }

  job(jobId: string): JobEntry | undefined {
    return this.#jobs.get(jobId);
  }

  /** The oldest first. */
  get jobs(): Iterable<JobEntry> {
    return this.#jobs.values();
  }

  *active(): Iterable<JobEntry> {
    for (const entry of this.#jobs.values()) if (isActive(entry.job)) yield entry;
  }

  evolve(record: JobsRecord): void {
    switch (record.kind) {
      case 'plan':
        return void this.#plans.set(record.plan.planId, record.plan);
      case 'job':
        this.#plans.delete(record.entry.job.jobId);
        return void this.#jobs.set(record.entry.job.jobId, record.entry);
      case 'forgotten':
        this.#plans.delete(record.id);
        return void this.#jobs.delete(record.id);
      default:
        return unreachable(record);
    }
  }

  /** Ids of plans and jobs that are kept no longer at that time. */
  old(nowMs: number): readonly string[] {
    const { planKeptMs, plansMax, jobKeptMs, endedJobsMax } = jobLimits;
    const plans = [...this.#plans.values()];
    const old = plans.filter(({ createdTimeMs }, index) => nowMs >= createdTimeMs + planKeptMs || index < plans.length - plansMax);
    const ended = new Map<number, Job[]>();
    for (const { job } of this.#jobs.values())
      if (!isActive(job)) ended.set(job.queue.number, [...(ended.get(job.queue.number) ?? []), job]);
    const oldJobs = [...ended.values()].flatMap((jobs) =>
      jobs.filter(({ endTimeMs = nowMs }, index) => nowMs >= endTimeMs + jobKeptMs || index < jobs.length - endedJobsMax),
    );
    return [...old.map(({ planId }) => planId), ...oldJobs.map(({ jobId }) => jobId)];
  }

  /** For tests: the same text for the same state. */
  canonical(): string {
    return JSON.stringify([[...this.#plans.values()], [...this.#jobs.values()]]);
  }
}

const active: Readonly<Record<JobState, boolean>> = {
  running: true,
  paused: true,
  cancelling: true,
  cancelled: false,
  completed: false,
  'completed-with-failures': false,
  failed: false,
};

/** It holds its letters: no other job gets them. */
export function isActive({ state }: Pick<Job, 'state'>): boolean {
  return active[state];
}

/** Of the selection. */
export function handled(counts: Omit<JobCounts, 'selected' | 'notTried'>): number {
  return tried(counts) + counts.gone;
}

/** There was a letter, and something came of it. */
export function tried({ merged, purged, restored, failed, skipped }: Omit<JobCounts, 'selected' | 'notTried'>): number {
  return merged + purged + restored + failed + skipped;
}

/** A job with canary goes no further. */
export function isOverBudget({ options }: Job, failed: number, forgivenFailures: number): boolean {
  return options.canary && failed - forgivenFailures > options.maxFailures;
}
