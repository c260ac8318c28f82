/** Words of dead letters, of jobs and of their audit, as records, asks between processes and people have them. */
import { type WordOf, type Words, words } from './words.ts';

export const letterStates = words('open quarantined');
export type LetterState = WordOf<typeof letterStates>;

export const letterCauses = words('retries-exhausted permanent-error namespace-deleted');
export type DeadLetterCause = WordOf<typeof letterCauses>;

/** Where the trouble seems to lie, told where the task failed. */
export type LetterDisposition =
  /** The task's own: it can never succeed as it is. */
  | 'poison'
  /** Nobody knows: it was refused until its retries were used up. */
  | 'exhausted'
  /** Something that other tasks need as well is broken: a folder, a store. Repair that, then merge. */
  | 'systemic'
  /** What it acts on is gone. */
  | 'target-gone'
  /** An operator's: his pattern has picked the error. */
  | 'operator';
export const letterDispositions: Words<LetterDisposition> = words('poison exhausted systemic target-gone operator');

export const resolvedHows = words('merged merged-noop purged');
export type ResolvedHow = WordOf<typeof resolvedHows>;

export const jobOperations = words('merge purge restore');
export type JobOperation = WordOf<typeof jobOperations>;

export const jobStates = words('running paused cancelling cancelled completed completed-with-failures failed');
export type JobState = WordOf<typeof jobStates>;

/** What is done to a plan or a job; `finish`: it has ended. */
export const jobActions = words('plan apply pause resume cancel update finish');
export type JobAction = WordOf<typeof jobActions>;

/** `finish`: `outcome` is the last state of the job. */
export const auditActions = words('dead-letter merge-outcome quarantine purge restore plan apply pause resume cancel update finish');
export type AuditAction = WordOf<typeof auditActions>;
