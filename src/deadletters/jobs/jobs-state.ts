/** What the journal of plans and jobs adds up to. */
import { unreachable } from '../../kernel/assert.ts';
import { jobLimits } from './job-limits.ts';
import type { Job, JobCounts, JobState, Plan } from './job.ts';
import { jobBytes, oldJobs, oldPlans, planBytes, type Sized } from './jobs-kept.ts';
import type { JobEntry, JobRecord, JobsRecord, PlanRecord } from './jobs-records.ts';

export class JobsState {
  /** That nobody has applied; in the order in which they were made, as jobs are. */
  readonly #plans = new Map<string, Sized<Plan>>();
  readonly #active = new Map<string, JobEntry>();
  readonly #ended = new Map<string, Sized<JobEntry>>();
  #cut = 0;

  plan(planId: string): Plan | undefined {
    return this.#plans.get(planId)?.item;
  }

  job(jobId: string): JobEntry | undefined {
    return this.#active.get(jobId) ?? this.#ended.get(jobId)?.item;
  }

  *plans(): Iterable<Plan> {
    for (const { item } of this.#plans.values()) yield item;
  }

  *jobs(): Iterable<JobEntry> {
    yield* this.#active.values();
    for (const { item } of this.#ended.values()) yield item;
  }

  /** They hold their letters. */
  get active(): Iterable<JobEntry> {
    return this.#active.values();
  }

  /** What counts and stood before it stands behind it as well. */
  get cut(): number {
    return this.#cut;
  }

  get size(): number {
    return this.#plans.size + this.#active.size + this.#ended.size;
  }

  evolve(record: JobsRecord): void {
    switch (record.kind) {
      case 'plan':
        return void this.#plans.set(record.plan.planId, { item: record.plan, bytes: planBytes(record.plan) });
      case 'job':
        return this.#becomes(record.entry);
      case 'forgotten':
        this.#plans.delete(record.id);
        this.#active.delete(record.id);
        return void this.#ended.delete(record.id);
      case 'carried':
        this.#cut = record.cut;
        return;
      default:
        return unreachable(record);
    }
  }

  /** Some of what is not among `written`, as it is; empty: there is nothing else. */
  toCarry(written: ReadonlySet<string>, timeMs: number): readonly JobsRecord[] {
    const { carriedMax, carriedBytesMax } = jobLimits;
    const records: JobsRecord[] = [];
    let bytes = 0;
    for (const record of this.#records(written, timeMs)) {
      bytes += record.kind === 'plan' ? planBytes(record.plan) : jobBytes(record.entry.job);
      if (records.length > 0 && bytes > carriedBytesMax) return records;
      records.push(record);
      if (records.length === carriedMax) return records;
    }
    return records;
  }

  *#records(written: ReadonlySet<string>, timeMs: number): Iterable<PlanRecord | JobRecord> {
    for (const plan of this.plans()) if (!written.has(plan.planId)) yield { kind: 'plan', timeMs, plan };
    for (const entry of this.jobs()) if (!written.has(entry.job.jobId)) yield { kind: 'job', timeMs, entry };
  }

  #becomes(entry: JobEntry): void {
    const { jobId } = entry.job;
    this.#plans.delete(jobId);
    if (isActive(entry.job)) return void this.#active.set(jobId, entry);
    this.#active.delete(jobId);
    this.#ended.set(jobId, { item: entry, bytes: jobBytes(entry.job) });
  }

  /** Ids of plans and jobs that are kept no longer at that time. */
  old(nowMs: number): readonly string[] {
    const ended = [...this.#ended.values()].map(({ item, bytes }) => ({ item: item.job, bytes }));
    return [...oldPlans(this.#plans.values(), nowMs), ...oldJobs(ended, nowMs)];
  }

  /** For tests: the same text for the same state. */
  canonical(): string {
    const byId = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number => (one < other ? -1 : 1);
    return JSON.stringify([this.#plans, this.#active, this.#ended].map((items) => [...items].sort(byId)));
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
