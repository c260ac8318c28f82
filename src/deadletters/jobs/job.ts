/**
 * A plan is a selection of letters of one queue, frozen into ids; a job carries it out. Times are ms since 1970, ids message ids, bounds included.
 *
 *     planLetters ─▶ plan ── applyPlan ─▶ running ⇄ paused
 *                     │ 1 h                  │        │  cancelling ─▶ cancelled
 *                     ▼                      ▼        ▼
 *                  expired          completed, completed-with-failures, failed
 */
import type { Caller } from '../audit/audit-entry.ts';
import type { IdRange } from '../commands.ts';

export type JobOperation = 'merge' | 'purge' | 'restore';

export type JobState = 'running' | 'paused' | 'cancelling' | 'cancelled' | 'completed' | 'completed-with-failures' | 'failed';

/** Of one queue, as the cluster's journal numbers them. */
export type JobQueue = {
  readonly number: number;
  readonly category: string;
  readonly sourceCluster: string;
  /** Whose ids these are. Absent: letters older than incarnations are; of a plan that is asked for: whichever it is in. */
  readonly incarnation?: number;
};

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

/** Who asked, in which words, and why. */
export type JobAuthor = {
  readonly actor: string;
  /** Absent: nothing else is known of him. */
  readonly caller?: Caller;
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
  /** Likewise over what was asked for, before anybody looked which letters that is; '' = not known. */
  readonly requestHash: string;
  readonly operation: JobOperation;
  readonly queue: JobQueue;
  /**
   * They rise and do not touch each other. Of all letters, where those stand in too many stretches, from the first to the last: then they are more
   * than `selected`, and whatever else lies between was resolved when the plan was made.
   */
  readonly ids: readonly IdRange[];
  readonly selected: number;
  /** As its queue said when the plan was made: while it says the same, nothing that was resolved has come back. Absent: it does not matter. */
  readonly comebacks?: string;
  /** Of a restore in too many stretches: of its ids only what this job purged. */
  readonly purgedBy?: string;
  readonly causes: readonly CauseCount[];
  readonly options: JobOptions;
  readonly createdTimeMs: number;
  readonly expireTimeMs: number;
};

export type JobCounts = {
  readonly selected: number;
  readonly merged: number;
  /** Of merged: nothing was left to do. */
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
  /** By fingerprint, as before the merge. */
  readonly sameCause: boolean;
};

/** It is merged, for nothing was left to do. */
export type JobNoop = { readonly messageId: number; readonly reason: string };

export type JobSkip = { readonly messageId: number; readonly reason: string };

export type Job = JobAuthor & {
  readonly jobId: string;
  readonly planHash: string;
  /** Of its plan. */
  readonly requestHash: string;
  readonly operation: JobOperation;
  readonly queue: JobQueue;
  /** As in its plan. */
  readonly ids: readonly IdRange[];
  readonly purgedBy?: string;
  readonly options: JobOptions;
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
  /** The first 100. */
  readonly failures: readonly JobFailure[];
  /** The first 100. */
  readonly skips: readonly JobSkip[];
  /** The first 100. */
  readonly noops: readonly JobNoop[];
};
