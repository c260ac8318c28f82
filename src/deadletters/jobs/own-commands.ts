/** What the actor of jobs asks itself: what came of a selection, how far a job is, and what time does. */
import type { JobsRequest } from './commands.ts';
import type { JobCounts, JobFailure, JobNoop, JobSkip, Plan } from './job.ts';
import type { JobWindow } from './jobs-records.ts';

/** The selection is made; `askId` waits for it. */
export type StorePlan = {
  readonly kind: 'storePlan';
  readonly askId: number;
  readonly plan: Omit<Plan, 'createdTimeMs' | 'expireTimeMs'>;
};

/** All that is known of a job by now, but for its state. */
export type JobProgress = {
  readonly counts: Omit<JobCounts, 'selected' | 'notTried'>;
  readonly lastProcessedMessageId: number;
  readonly window: JobWindow;
  readonly failures: readonly JobFailure[];
  readonly skips: readonly JobSkip[];
  readonly noops: readonly JobNoop[];
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

/** What is kept no longer goes. */
export type ForgetOldJobs = { readonly kind: 'forgetOldJobs' };

/** Some more of what stands before the cut is written again, or that was all of it. `isFirst`: what was written until now stands before it. */
export type CarryJobs = { readonly kind: 'carryJobs'; readonly cut: number; readonly isFirst: boolean };

export type JobsOwnCommand = StorePlan | NoteProgress | HaltJob | EndJob | ForgetOldJobs | CarryJobs;
export type JobsCommand = JobsRequest | JobsOwnCommand;
