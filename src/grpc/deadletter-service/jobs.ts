import type { Job, JobCounts, JobOptions } from '../../deadletters/jobs/job.ts';
import { jobLimits, optionsProblem, paceProblem, reasonProblem } from '../../deadletters/bounds/job-limits.ts';
import * as wire from '../../wire/generated/api/deadletter/service.ts';
import { pageSize } from '../admin-service/conventions.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { JobSettings } from '../ports.ts';
import type { Call } from '../transport/call.ts';
import { askJobs, type DeadLetterHandlers, whoCalls } from './letter-asks.ts';
import { lastPage, letterLimits, LetterPages } from './letter-pages.ts';
import { queueNamed } from './queues.ts';
import type { JobOperation, JobState } from '../../kernel/letter-words.ts';

export const LOOK_AGAIN_MS = 200;

export const jobHandlers: DeadLetterHandlers = {
  DescribeJob: async (context, request, call) => ({ job: jobMessage(await changed(context, call, request)) }),
  ListJobs: async (context, { pageSize: asked, queue: name, activeOnly, nextPageToken }, call) => {
    const max = pageSize(asked, letterLimits.pageJobsMax, letterLimits.pageJobsMax);
    const queue = name === undefined ? undefined : await queueNamed(context, call, name);
    const pages = new LetterPages(context, 'ListJobs', { queue: name ?? null, activeOnly });
    const { afterJobId } = pages.placeOf(nextPageToken);
    // A queue that is not there has had none.
    if (name !== undefined && queue === undefined) return { jobs: [], nextPageToken: lastPage };
    const after = afterJobId === '' ? undefined : afterJobId;
    const question = { kind: 'listJobs', queue: queue?.number, activeOnly, afterJobId: after, max } as const;
    const { jobs, isLast } = await askJobs(context, call, question);
    const page = withinBytes(jobs.map(jobMessage));
    const isEnd = isLast && page.length === jobs.length;
    return { jobs: page, nextPageToken: isEnd ? lastPage : pages.token({ afterJobId: page.at(-1)?.jobId ?? '' }) };
  },
  PauseJob: async (context, request, call) => {
    const { job } = await askJobs(context, call, { kind: 'pauseJob', ...order(request, call) });
    return { job: jobMessage(job) };
  },
  ResumeJob: async (context, request, call) => {
    const { job } = await askJobs(context, call, { kind: 'resumeJob', ...order(request, call) });
    return { job: jobMessage(job) };
  },
  CancelJob: async (context, request, call) => {
    const { job, wasActive } = await askJobs(context, call, { kind: 'cancelJob', ...order(request, call) });
    return { job: jobMessage(job), canceled: wasActive };
  },
  UpdateJob: async (context, request, call) => {
    const { rps, concurrency } = request;
    refuse(paceProblem(rps, concurrency));
    if (rps === undefined && concurrency === undefined) throw invalidArgument('neither rps nor concurrency is set');
    const { job } = await askJobs(context, call, { kind: 'updateJob', ...order(request, call), rps, concurrency });
    return { job: jobMessage(job) };
  },
};

function order({ jobId, reason }: { readonly jobId: string; readonly reason: string }, call: Call) {
  return { jobId: named(jobId), ...whoCalls(call), reason: checkedReason(reason) };
}

function named(jobId: string): string {
  if (jobId === '') throw invalidArgument('job_id is not set');
  return jobId;
}

const hasEndedIn: Readonly<Record<JobState, boolean>> = {
  running: false,
  paused: false,
  cancelling: false,
  cancelled: true,
  completed: true,
  'completed-with-failures': true,
  failed: true,
};

export function hasEnded({ state }: Pick<Job, 'state'>): boolean {
  return hasEndedIn[state];
}

/** The job as it is when it has ended, is in another state than `unlessState`, or the time is over. */
async function changed(context: HandlerContext, call: Call, { jobId, unlessState, waitMs }: wire.DescribeJobRequest): Promise<Job> {
  if (waitMs < 0) throw invalidArgument('wait is negative');
  if (unlessState !== '' && !Object.hasOwn(hasEndedIn, unlessState)) {
    throw invalidArgument(`Unknown state: ${unlessState}; known are ${Object.keys(hasEndedIn).join(', ')}`);
  }
  const question = { kind: 'describeJob', jobId: named(jobId) } as const;
  const untilMs = context.monoMs() + Math.min(waitMs, letterLimits.jobWaitMsMax);
  for (;;) {
    const { job } = await askJobs(context, call, question);
    const isNews = hasEnded(job) || (unlessState !== '' && job.state !== unlessState);
    const restMs = untilMs - context.monoMs();
    if (isNews || restMs <= 0 || !(await context.pause(call, Math.min(restMs, LOOK_AGAIN_MS)))) return job;
  }
}

/** A job may have thousands of ranges of ids, and a hundred failures: as many jobs as clients take in an answer, one at least. */
function withinBytes(jobs: readonly wire.Job[]): readonly wire.Job[] {
  let bytes = 0;
  const end = jobs.findIndex((job, at) => (bytes += wire.encodeJob(job).byteLength) > letterLimits.pageBytesMax && at > 0);
  return end < 0 ? jobs : jobs.slice(0, end);
}

// ── As messages ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function jobMessage(job: Job): wire.Job {
  const { queue, operation, options, counts, endTimeMs, ids, ...same } = job;
  return {
    ...same,
    operation: operationNumbers[operation],
    queue: { category: queue.category, sourceCluster: queue.sourceCluster },
    ids,
    maxMessageId: ids.at(-1)?.to ?? -1,
    endTimeMs: endTimeMs ?? 0,
    options: optionsMessage(options),
    counts: countsMessage(operation, counts),
  };
}

export const operationNumbers: Readonly<Record<JobOperation, number>> = {
  merge: wire.Operation.MERGE,
  purge: wire.Operation.PURGE,
  restore: wire.Operation.RESTORE,
};

export function optionsMessage(options: JobOptions): wire.JobOptions {
  const { rps, concurrency, taskTimeoutMs, canary, maxFailures, overridesLoopGuard } = options;
  return { rps, concurrency, taskTimeoutMs, canary, maxFailures, overrideLoopGuard: overridesLoopGuard };
}

function countsMessage(operation: JobOperation, counts: JobCounts): wire.Counts {
  const { selected, merged, purged, restored, gone } = counts;
  const done = operation === 'restore' ? restored : merged + purged;
  return { ...counts, remaining: selected - done - gone };
}

// ── What is asked of a job ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Throws INVALID_ARGUMENT. The pace that operators set is for merges, which execute tasks; a purge goes as fast as it can unless a request says otherwise. */
export function jobOptions(operation: JobOperation, given: wire.JobOptions | undefined, settings: JobSettings, reason: string): JobOptions {
  const { rpsMin, rpsMax, concurrencyMax, taskTimeoutMsMin, taskTimeoutMsMax } = jobLimits;
  const { taskTimeoutMs = 0 } = given ?? {};
  const options: JobOptions = {
    rps: given?.rps ?? (operation === 'merge' ? within(settings.mergeRps, rpsMin, rpsMax) : 0),
    concurrency: given?.concurrency ?? within(settings.mergeConcurrency, 1, concurrencyMax),
    taskTimeoutMs: taskTimeoutMs === 0 ? within(settings.mergeTaskTimeoutMs, taskTimeoutMsMin, taskTimeoutMsMax) : taskTimeoutMs,
    canary: given?.canary ?? false,
    maxFailures: given?.maxFailures ?? 0,
    overridesLoopGuard: given?.overrideLoopGuard ?? false,
  };
  refuse(optionsProblem(operation, options, reason));
  return options;
}

/** What operators set may be beyond what a job can have. */
function within(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}

export function checkedReason(reason: string): string {
  refuse(reasonProblem(reason));
  return reason;
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw invalidArgument(problem);
}
