/**
 * The journal of plans and jobs. A record is all of one plan or job as it is from then on, under its id, so the last one of each id is the state;
 * a job has the id of the plan that it carries out.
 */
import type { AuditAction, Caller } from '../audit/audit-entry.ts';
import type { IdRange } from '../commands.ts';
import type { Job, Plan } from './job.ts';

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
export type JobAct = {
  readonly action: Extract<AuditAction, 'plan' | 'apply' | 'pause' | 'resume' | 'cancel' | 'update' | 'finish'>;
  readonly actor: string;
  readonly caller?: Caller;
  readonly reason: string;
};

/** `act` absent: nobody did anything, it goes on or is written again. */
export type PlanRecord = { readonly kind: 'plan'; readonly timeMs: number; readonly plan: Plan; readonly act?: JobAct };
export type JobRecord = { readonly kind: 'job'; readonly timeMs: number; readonly entry: JobEntry; readonly act?: JobAct };
/** A tombstone: kept no longer. */
export type ForgottenRecord = { readonly kind: 'forgotten'; readonly timeMs: number; readonly id: string };

/** All that counts and stood before that offset stands behind it as well: a journal may begin there. */
export type CarriedRecord = { readonly kind: 'carried'; readonly timeMs: number; readonly cut: number };

export type JobsRecord = PlanRecord | JobRecord | ForgottenRecord | CarriedRecord;
