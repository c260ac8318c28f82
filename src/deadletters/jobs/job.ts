/**
 * A plan is a selection of letters of one queue, frozen into ids; a job carries it out. Times are ms since 1970, ids message ids, bounds included.
 *
 *     planLetters ─▶ plan ── applyPlan ─▶ running ⇄ paused
 *                     │ 1 h                  │        │  cancelling ─▶ cancelled
 *                     ▼                      ▼        ▼
 *                  expired          completed, completed-with-failures, failed
 *
 * Behind them stands what the actor of jobs is asked and answers, its journal, and what is done once that is committed.
 */
import type { Caller } from '../audit/audit-entry.ts';
import type { IdRange } from '../letter-commands.ts';
import type { ReplyEffect, ReplyTo, RowsWithReplies } from '../../kernel/handled.ts';
import type { Condition } from '../../filter/condition.ts';
import type { RefusalReason } from '../../kernel/refusal-reasons.ts';
import type { JobAction, JobOperation, JobState } from '../../kernel/letter-words.ts';

/** The queue of a job, with the number that the cluster's journal gave it. */
export type JobQueue = { readonly number: number; readonly category: string; readonly sourceCluster: string; readonly incarnation: number };

export type JobOptions = {
  /** Letters a second, 0.1 to 10,000; 0: no limit. */
  readonly rps: number;
  /** Letters at a time, 1 to 64. */
  readonly concurrency: number;
  /** The longest wait for one outcome, 1 s to 10 min. */
  readonly taskTimeoutMs: number;
  /** Steps of 1, 10, 100, 1,000, then the rest: the next one when all outcomes of the last are known. */
  readonly canary: boolean;
  /** More failures than that pause a job with canary. */
  readonly maxFailures: number;
  readonly overridesLoopGuard: boolean;
};

export type JobAuthor = {
  readonly actor: string;
  /** Absent: nothing else is known of him. */
  readonly caller?: Caller | undefined;
  /** '' = none given. */
  readonly reason: string;
  /** The filter as it was written; '' = none. */
  readonly query: string;
  /** Jobs of one command have it in common; '' = none. */
  readonly groupId: string;
};

export type CauseCount = { readonly cause: string; readonly errorType: string; readonly count: number };

export type Plan = JobAuthor & {
  readonly planId: string;
  /** SHA-256 over operation, queue, each letter and options, hex. */
  readonly hash: string;
  /** SHA-256 over what was asked for, before the letters were looked up. */
  readonly requestHash: string;
  readonly operation: JobOperation;
  readonly queue: JobQueue;
  /** They rise and do not touch. Too many are one, from the first to the last: more than `selected`, but what lies between was resolved. */
  readonly ids: readonly IdRange[];
  readonly selected: number;
  /** What the queue said when the plan was made: as long as it says the same, nothing that was resolved has come back. Absent: it does not matter. */
  readonly comebacks?: string | undefined;
  /** For a restore in too many stretches: only the ids that this job purged are meant. */
  readonly purgedBy?: string | undefined;
  readonly causes: readonly CauseCount[];
  readonly options: JobOptions;
  readonly createdTimeMs: number;
  readonly expireTimeMs: number;
};

export type JobCounts = {
  readonly selected: number;
  readonly merged: number;
  /** Merged letters for which nothing was left to do. */
  readonly mergedNoop: number;
  readonly purged: number;
  readonly restored: number;
  readonly failed: number;
  readonly skipped: number;
  /** Resolved by others before their turn. */
  readonly gone: number;
  readonly notTried: number;
};

export type JobFailure = {
  readonly messageId: number;
  readonly taskId: string;
  readonly taskType: string;
  readonly errorType: string;
  readonly errorMessage: string;
  /** The fingerprint is the one before the merge. */
  readonly sameCause: boolean;
};

/** The letter is merged, for nothing was left to do. */
export type JobNoop = { readonly messageId: number; readonly reason: string };

export type JobSkip = { readonly messageId: number; readonly reason: string };

/** What a job has of its plan is what the plan says. */
export type Job = JobAuthor &
  Pick<Plan, 'requestHash' | 'operation' | 'queue' | 'ids' | 'purgedBy' | 'options'> & {
    readonly jobId: string;
    readonly planHash: string;
    readonly state: JobState;
    /** Why, where it says more than the state. */
    readonly stateReason: string;
    readonly createdTimeMs: number;
    readonly startTimeMs: number;
    /** Undefined: it has not ended. */
    readonly endTimeMs: number | undefined;
    readonly counts: JobCounts;
    /** All of the selection up to it is handled; -1: nothing is. */
    readonly lastProcessedMessageId: number;
    /** The first 100 failures, as of skips and noops. */
    readonly failures: readonly JobFailure[];
    readonly skips: readonly JobSkip[];
    readonly noops: readonly JobNoop[];
  };

/** What the actor of jobs is asked. Without an incarnation the current one is meant. */
export type AskedQueue = Omit<JobQueue, 'incarnation'> & { readonly incarnation?: number | undefined };

/** Both hold; undefined: all letters. `ids` rise and do not touch each other. */
export type LetterSelection = {
  readonly ids: readonly IdRange[] | undefined;
  readonly condition: Condition | undefined;
  /** For a restore: only letters that this job purged. */
  readonly purgedBy?: string | undefined;
};

/** Reply: planned. Rejected: invalid-argument, too-many-stretches (a filter selects letters in more than 10,000 stretches of ids). */
export type PlanLetters = JobAuthor & {
  readonly kind: 'planLetters';
  readonly operation: JobOperation;
  readonly queue: AskedQueue;
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
  readonly isDirect?: boolean | undefined;
  /** The current incarnation of the queue. Absent: it could not be asked, and the claim of the job will tell. */
  readonly incarnation?: number | undefined;
  /** What the queue says of comebacks now. Absent: it could not be asked. */
  readonly comebacks?: string | undefined;
  /** Absent: who made the plan. */
  readonly by?: { readonly actor: string; readonly caller: Caller } | undefined;
};

/** Reply: job. Rejected: not-found. */
type DescribeJob = { readonly kind: 'describeJob'; readonly jobId: string };

/** The newest first. Reply: jobs. */
type ListJobs = {
  readonly kind: 'listJobs';
  /** Undefined: of all queues. */
  readonly queue: number | undefined;
  readonly activeOnly: boolean;
  /** The page begins behind this job; undefined: at the newest. */
  readonly afterJobId: string | undefined;
  readonly max: number;
};

type JobOrder = { readonly jobId: string; readonly actor: string; readonly caller?: Caller | undefined; readonly reason: string };

/** Reply: job. Rejected: not-found, failed-precondition. */
type PauseJob = JobOrder & { readonly kind: 'pauseJob' };
type ResumeJob = JobOrder & { readonly kind: 'resumeJob' };
/** Reply: canceled; of one that has ended it says so. Rejected: not-found. */
type CancelJob = JobOrder & { readonly kind: 'cancelJob' };
/** Undefined: as it is. */
type UpdateJob = JobOrder & {
  readonly kind: 'updateJob';
  readonly rps: number | undefined;
  readonly concurrency: number | undefined;
};

export type JobsRequest = PlanLetters | ApplyPlan | DescribeJob | ListJobs | PauseJob | ResumeJob | CancelJob | UpdateJob;

type Planned = { readonly kind: 'planned'; readonly plan: Plan };
type JobCanceled = { readonly kind: 'canceled'; readonly job: Job; readonly wasActive: boolean };
type JobsListed = { readonly kind: 'jobs'; readonly jobs: readonly Job[]; readonly isLast: boolean };

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
  readonly jobId?: string | undefined;
};
export type JobsRejected = { readonly kind: 'rejected'; readonly rejection: JobsRejection };

/** What others may ask, with the replies that each request may get besides a rejection. */
export const jobsRequests = {
  planLetters: { replies: ['planned'] },
  applyPlan: { replies: ['job'] },
  describeJob: { replies: ['job'] },
  listJobs: { replies: ['jobs'] },
  pauseJob: { replies: ['job'] },
  resumeJob: { replies: ['job'] },
  cancelJob: { replies: ['canceled'] },
  updateJob: { replies: ['job'] },
} satisfies RowsWithReplies<JobsRequest['kind'], JobsReply>;

export type JobsReplyTo = ReplyTo<typeof jobsRequests, JobsRequest['kind'], JobsReply>;
export type JobsReply = Planned | { readonly kind: 'job'; readonly job: Job } | JobCanceled | JobsListed | JobsRejected;

/** The journal of plans and jobs. A record is all of one, under its id, and the last one counts; a job has the id of its plan. */

/**
 * Which letters may be under way. Everything of the selection up to `job.lastProcessedMessageId` is handled, nothing behind `end` was asked for,
 * and of what lies between `settled` is handled. So after a crash only the rest of the window is in question.
 */
export type JobWindow = {
  /** The last id that may have been asked for; -1: none. */
  readonly end: number;
  readonly settled: readonly IdRange[];
  /** Counted as failed, for nobody has said what has come of them: before the job ends they are asked once more. */
  readonly unknown: readonly IdRange[];
};

export const noWindow: JobWindow = { end: -1, settled: [], unknown: [] };

export type JobEntry = {
  readonly job: Job;
  readonly window: JobWindow;
  /** Failures that whoever resumed the job knew of: they no longer count against its budget. */
  readonly forgivenFailures: number;
};

/** What somebody did to a plan or job, for the audit. */
export type JobAct = Pick<JobAuthor, 'actor' | 'caller' | 'reason'> & { readonly action: JobAction };

/** `act` absent: nobody did anything, it goes on or is written again. */
export type PlanRecord = { readonly kind: 'plan'; readonly timeMs: number; readonly plan: Plan; readonly act?: JobAct | undefined };
export type JobRecord = { readonly kind: 'job'; readonly timeMs: number; readonly entry: JobEntry; readonly act?: JobAct | undefined };
/** A tombstone: kept no longer. */
type ForgottenRecord = { readonly kind: 'forgotten'; readonly timeMs: number; readonly id: string };

/** All that counts and stood before that offset stands behind it as well: a journal may begin there. */
type CarriedRecord = { readonly kind: 'carried'; readonly timeMs: number; readonly cut: number };

export type JobsRecord = PlanRecord | JobRecord | ForgottenRecord | CarriedRecord;

/** What the actor of jobs asks itself: what came of a selection, how far a job is, and what time does. */

/** The selection is made; `askId` waits for it. */
export type StorePlan = { readonly kind: 'storePlan'; readonly askId: number; readonly plan: Omit<Plan, 'createdTimeMs' | 'expireTimeMs'> };

/** All that is known of a job by now, but for its state. */
export type JobProgress = Pick<Job, 'lastProcessedMessageId' | 'failures' | 'skips' | 'noops'> & {
  readonly counts: Omit<JobCounts, 'selected' | 'notTried'>;
  readonly window: JobWindow;
};

export type NoteProgress = { readonly kind: 'noteProgress'; readonly jobId: string; readonly progress: JobProgress };

/** It cannot go on for now. */
export type HaltJob = { readonly kind: 'haltJob'; readonly jobId: string; readonly reason: string };

/** Nothing of it is under way any more. */
export type EndJob = {
  readonly kind: 'endJob';
  readonly jobId: string;
  readonly progress: JobProgress;
  /** Why it cannot go on; undefined: all is handled, or it is cancelled. */
  readonly failedBecause: string | undefined;
};

/** Some more of what stands before the cut is written again, or that was all of it. `isFirst`: what was written until now stands before it. */
type CarryJobs = { readonly kind: 'carryJobs'; readonly cut: number; readonly isFirst: boolean };

type JobsOwnCommand = StorePlan | NoteProgress | HaltJob | EndJob | { readonly kind: 'forgetOldJobs' } | CarryJobs;
export type JobsCommand = JobsRequest | JobsOwnCommand;

/** `storePlan` tells which letters they are. */
export type SelectLetters = { readonly kind: 'selectLetters'; readonly askId: number; readonly request: PlanLetters };
/** Nobody waits for that any more. */
type GiveUpSelection = { readonly kind: 'giveUpSelection'; readonly askId: number };
/** A job is made, changed, or further than it was, and that is committed. */
type JobChanged = { readonly kind: 'jobChanged'; readonly entry: JobEntry };

/** What was to be carried is committed. `isAll`: the journal may begin at the cut. */
type JobsCarried = { readonly kind: 'carried'; readonly cut: number; readonly isAll: boolean };

export type JobsEffect = SelectLetters | GiveUpSelection | JobChanged | JobsCarried | ReplyEffect<JobsReply>;
