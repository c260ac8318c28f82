/** Jobs: what they are at, and what an operator makes of one that runs. */
import type { Job, JobState } from '../../deadletters/jobs/job.ts';
import {
  decodeCancelJobRequest,
  decodeDescribeJobRequest,
  decodeListJobsRequest,
  decodePauseJobRequest,
  decodeResumeJobRequest,
  decodeUpdateJobRequest,
  encodeCancelJobResponse,
  encodeDescribeJobResponse,
  encodeJob,
  encodeListJobsResponse,
  encodePauseJobResponse,
  encodeResumeJobResponse,
  encodeUpdateJobResponse,
  type DescribeJobRequest,
  type Job as WireJob,
  type ListJobsRequest,
  type ListJobsResponse,
} from '../../wire/generated/api/deadletter/service.ts';
import { pageSize } from '../admin-service/conventions.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { whoCalls } from './callers.ts';
import { jobMessage } from './job-message.ts';
import { checkedConcurrency, checkedReason, checkedRps } from './job-options.ts';
import { askJobs } from './letter-asks.ts';
import { letterLimits } from './letter-limits.ts';
import { letterMethod } from './letter-method.ts';
import { lastPage, LetterPages } from './letter-pages.ts';
import { queueNamed } from './queues.ts';

export const LOOK_AGAIN_MS = 200;

export function jobMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    letterMethod('DescribeJob', decodeDescribeJobRequest, encodeDescribeJobResponse, async (request, call) => ({
      job: jobMessage(await changed(context, call, request)),
    })),
    letterMethod('ListJobs', decodeListJobsRequest, encodeListJobsResponse, (request, call) => listed(context, call, request)),
    letterMethod('PauseJob', decodePauseJobRequest, encodePauseJobResponse, async (request, call) => {
      const { job } = await askJobs(context, call, { kind: 'pauseJob', ...order(request, call) });
      return { job: jobMessage(job) };
    }),
    letterMethod('ResumeJob', decodeResumeJobRequest, encodeResumeJobResponse, async (request, call) => {
      const { job } = await askJobs(context, call, { kind: 'resumeJob', ...order(request, call) });
      return { job: jobMessage(job) };
    }),
    letterMethod('CancelJob', decodeCancelJobRequest, encodeCancelJobResponse, async (request, call) => {
      const { job, wasActive } = await askJobs(context, call, { kind: 'cancelJob', ...order(request, call) });
      return { job: jobMessage(job), canceled: wasActive };
    }),
    letterMethod('UpdateJob', decodeUpdateJobRequest, encodeUpdateJobResponse, async (request, call) => {
      const pace = { rps: checkedRps(request.rps), concurrency: checkedConcurrency(request.concurrency) };
      if (pace.rps === undefined && pace.concurrency === undefined) throw invalidArgument('neither rps nor concurrency is set');
      const { job } = await askJobs(context, call, { kind: 'updateJob', ...order(request, call), ...pace });
      return { job: jobMessage(job) };
    }),
  ];
}

/** Who wants what of which job. */
function order({ jobId, reason }: { readonly jobId: string; readonly reason: string }, call: Call) {
  return { jobId: named(jobId), ...whoCalls(call), reason: checkedReason(reason) };
}

function named(jobId: string): string {
  if (jobId === '') throw invalidArgument('job_id is not set');
  return jobId;
}

const states: Readonly<Record<JobState, { readonly hasEnded: boolean }>> = {
  running: { hasEnded: false },
  paused: { hasEnded: false },
  cancelling: { hasEnded: false },
  cancelled: { hasEnded: true },
  completed: { hasEnded: true },
  'completed-with-failures': { hasEnded: true },
  failed: { hasEnded: true },
};

export function hasEnded({ state }: Pick<Job, 'state'>): boolean {
  return states[state].hasEnded;
}

/** As it is when it has ended, is in another state than `unlessState`, or the time is over. */
async function changed(context: HandlerContext, call: Call, { jobId, unlessState, waitMs }: DescribeJobRequest): Promise<Job> {
  if (waitMs < 0) throw invalidArgument('wait is negative');
  if (unlessState !== '' && !Object.hasOwn(states, unlessState)) {
    throw invalidArgument(`Unknown state: ${unlessState}; known are ${Object.keys(states).join(', ')}`);
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

async function listed(context: HandlerContext, call: Call, request: ListJobsRequest): Promise<ListJobsResponse> {
  const { activeOnly, nextPageToken } = request;
  const { pageJobsMax } = letterLimits;
  const max = pageSize(request.pageSize, pageJobsMax, pageJobsMax);
  const queue = request.queue === undefined ? undefined : await queueNamed(context, call, request.queue);
  const pages = new LetterPages(context, 'ListJobs', { queue: request.queue ?? null, activeOnly });
  const { afterJobId } = pages.placeOf(nextPageToken);
  // A queue that is not there has had none.
  if (request.queue !== undefined && queue === undefined) return { jobs: [], nextPageToken: lastPage };
  const after = afterJobId === '' ? undefined : afterJobId;
  const question = { kind: 'listJobs', queue: queue?.number, activeOnly, afterJobId: after, max } as const;
  const { jobs, isLast } = await askJobs(context, call, question);
  const page = withinBytes(jobs.map(jobMessage));
  const isEnd = isLast && page.length === jobs.length;
  return { jobs: page, nextPageToken: isEnd ? lastPage : pages.token({ afterJobId: page.at(-1)?.jobId ?? '' }) };
}

/** A job may have thousands of ranges of ids, and a hundred failures: as many jobs as clients take in an answer, one at least. */
function withinBytes(jobs: readonly WireJob[]): readonly WireJob[] {
  let bytes = 0;
  const end = jobs.findIndex((job, at) => (bytes += encodeJob(job).byteLength) > letterLimits.pageBytesMax && at > 0);
  return end < 0 ? jobs : jobs.slice(0, end);
}
