/** What the journal of plans and jobs adds up to. */
import { unreachable } from '../../kernel/assert.ts';
import { jobLimits } from '../bounds/job-limits.ts';
import type { Job, JobCounts, JobEntry, JobRecord, JobsRecord, Plan, PlanRecord } from './job.ts';
import type { JobState } from '../../kernel/letter-words.ts';

export class JobsState {
  /** Plans that nobody has applied, in the order in which they were made. Jobs are in order as well. */
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

  /** These jobs hold their letters. */
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

  /** For tests: equal states give equal texts. */
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

/** An active job holds its letters: no other job gets them. */
export function isActive({ state }: Pick<Job, 'state'>): boolean {
  return active[state];
}

/** Letters of the selection that are done with. */
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

/** A plan or an ended job: the newest are kept, as many as there is room for, each for its time. `bytes`: in memory, roughly. */
type Sized<Item> = { readonly item: Item; readonly bytes: number };

/** Ids of those that are kept no longer. They come in the order in which they were made. */
function oldPlans(plans: Iterable<Sized<Plan>>, nowMs: number): readonly string[] {
  const { planKeptMs, plansMax, plansBytesMax } = jobLimits;
  const newestFirst = [...plans].reverse().sort((one, other) => other.item.createdTimeMs - one.item.createdTimeMs);
  let bytes = 0;
  const old = newestFirst.filter((plan, index) => {
    bytes += plan.bytes;
    return nowMs >= plan.item.createdTimeMs + planKeptMs || index >= plansMax || bytes > plansBytesMax;
  });
  return old.map(({ item }) => item.planId);
}

function oldJobs(ended: Iterable<Sized<Job>>, nowMs: number): readonly string[] {
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

function planBytes({ ids, causes, query, reason }: Plan): number {
  return ITEM_BYTES + RANGE_BYTES * ids.length + TOLD_BYTES * causes.length + query.length + reason.length;
}

function jobBytes({ ids, failures, skips, noops, query, reason }: Job): number {
  const texts = [...skips, ...noops].reduce((bytes, told) => bytes + told.reason.length, query.length + reason.length);
  const told = failures.reduce((bytes, failure) => bytes + failure.errorMessage.length + failure.errorType.length, texts);
  return ITEM_BYTES + RANGE_BYTES * ids.length + TOLD_BYTES * (failures.length + skips.length + noops.length) + told;
}
