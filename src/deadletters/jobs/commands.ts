/** What the actor of jobs is asked. */
import type { Condition } from '../../filter/condition.ts';
import type { RefusalReason } from '../../kernel/refusal-reasons.ts';
import type { Caller } from '../audit/audit-entry.ts';
import type { IdRange } from '../commands.ts';
import type { Job, JobAuthor, JobOperation, JobOptions, JobQueue, Plan } from './job.ts';

/** Both hold; undefined: all letters. `ids` rise and do not touch each other. */
export type LetterSelection = {
  readonly ids: readonly IdRange[] | undefined;
  readonly condition: Condition | undefined;
  /** Of a restore: only what this job purged. */
  readonly purgedBy?: string;
};

/** Reply: planned. Rejected: invalid-argument, too-many-stretches (a filter selects letters in more than 10,000 stretches of ids). */
export type PlanLetters = JobAuthor & {
  readonly kind: 'planLetters';
  readonly operation: JobOperation;
  readonly queue: JobQueue;
  readonly selection: LetterSelection;
  readonly options: JobOptions;
};

/**
 * Reply: job. While a job of the same actor over the same letters is active it is that one; so it is when the same was asked for and no other
 * letters have come to it, or when it is asked for at once (`isDirect`: nobody has looked at the plan). Rejected: plan-not-found, plan-expired,
 * invalid-argument, failed-precondition (another hash, applied before, letters that may not be those of the plan), overlap, too-many-jobs.
 */
export type ApplyPlan = {
  readonly kind: 'applyPlan';
  readonly planId: string;
  readonly hash: string | undefined;
  readonly isDirect?: boolean;
  /** In which the queue is now. Absent: it could not be asked, and the claim of the job will tell. */
  readonly incarnation?: number;
  /** As the queue says now; likewise. */
  readonly comebacks?: string;
  /** Absent: who made the plan. */
  readonly by?: { readonly actor: string; readonly caller: Caller };
};

/** Reply: job. Rejected: not-found. */
export type DescribeJob = { readonly kind: 'describeJob'; readonly jobId: string };

/** The newest first. Reply: jobs. */
export type ListJobs = {
  readonly kind: 'listJobs';
  /** Undefined: of all queues. */
  readonly queue: number | undefined;
  readonly activeOnly: boolean;
  /** Behind this one; undefined: from the newest. */
  readonly afterJobId: string | undefined;
  readonly max: number;
};

/** Who wants something of which job, and why. */
type JobOrder = { readonly jobId: string; readonly actor: string; readonly caller?: Caller; readonly reason: string };

/** Reply: job. Rejected: not-found, failed-precondition. */
export type PauseJob = JobOrder & { readonly kind: 'pauseJob' };
export type ResumeJob = JobOrder & { readonly kind: 'resumeJob' };
/** Reply: canceled; of one that has ended it says so. Rejected: not-found. */
export type CancelJob = JobOrder & { readonly kind: 'cancelJob' };
/** Undefined: as it is. */
export type UpdateJob = JobOrder & {
  readonly kind: 'updateJob';
  readonly rps: number | undefined;
  readonly concurrency: number | undefined;
};

export type JobsRequest = PlanLetters | ApplyPlan | DescribeJob | ListJobs | PauseJob | ResumeJob | CancelJob | UpdateJob;

export type Planned = { readonly kind: 'planned'; readonly plan: Plan };
export type JobAnswered = { readonly kind: 'job'; readonly job: Job };
export type JobCanceled = { readonly kind: 'canceled'; readonly job: Job; readonly wasActive: boolean };
export type JobsListed = { readonly kind: 'jobs'; readonly jobs: readonly Job[]; readonly isLast: boolean };

export type JobsRejection = {
  readonly reason:
    /** INVALID_ARGUMENT */
    | 'invalid-argument'
    /** NOT_FOUND */
    | 'not-found'
    /** FAILED_PRECONDITION */
    | 'failed-precondition'
    /** FAILED_PRECONDITION: `jobId` works on some of these letters */
    | 'overlap'
    | RefusalReason;
  readonly message: string;
  readonly jobId?: string;
};
export type JobsRejected = { readonly kind: 'rejected'; readonly rejection: JobsRejection };

/** Which reply (besides JobsRejected) each request gets. */
export type JobsReplyTo = {
  readonly planLetters: Planned;
  readonly applyPlan: JobAnswered;
  readonly describeJob: JobAnswered;
  readonly listJobs: JobsListed;
  readonly pauseJob: JobAnswered;
  readonly resumeJob: JobAnswered;
  readonly cancelJob: JobCanceled;
  readonly updateJob: JobAnswered;
};
export type JobsReply = JobsReplyTo[keyof JobsReplyTo] | JobsRejected;
