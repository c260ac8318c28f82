/** What the owner of a queue answers. */
import type { LetterError } from './letter.ts';

export type DeadLetterRejection = {
  readonly reason:
    /** INVALID_ARGUMENT */
    | 'invalid-argument'
    /** FAILED_PRECONDITION: another job has some of these letters */
    | 'overlap'
    /** FAILED_PRECONDITION */
    | 'too-many-jobs'
    /** FAILED_PRECONDITION: the job has to claim first, for instance after a takeover */
    | 'not-claimed'
    /** NOT_FOUND */
    | 'not-in-queue'
    /** FAILED_PRECONDITION: it was asked for already, and is under way */
    | 'being-merged';
  readonly message: string;
  /** `overlap`: of whom. */
  readonly jobId?: string;
};

export type DeadLetterRejected = { readonly kind: 'rejected'; readonly rejection: DeadLetterRejection };

export type LettersAccepted = { readonly kind: 'accepted'; readonly ids: readonly number[] };
/** `gone`: those that were resolved before, never given, or are being merged. */
export type LettersPurged = { readonly kind: 'purged'; readonly ids: readonly number[]; readonly gone: readonly number[] };
export type LettersCounted = {
  readonly kind: 'counted';
  readonly nextId: number;
  /** Undefined: there is none. */
  readonly lowestOpen: number | undefined;
  readonly open: number;
  readonly quarantined: number;
  readonly merged: number;
  readonly purged: number;
};
/** `failed`: it is in the queue still, with its next generation; quarantined if that was too often. `skipped`: as it was. */
export type MergeEnded = { readonly kind: 'mergeEnded' } & (
  | { readonly outcome: 'merged' | 'merged-noop' }
  | { readonly outcome: 'failed'; readonly error: LetterError; readonly isQuarantined: boolean }
  | { readonly outcome: 'skipped'; readonly reason: string }
);
export type Done = { readonly kind: 'done' };

export type DeadLetterReply = LettersAccepted | LettersPurged | MergeEnded | LettersCounted | Done | DeadLetterRejected;

/** Which reply (besides DeadLetterRejected) each command gets. */
export type DeadLetterReplyTo = {
  readonly acceptLetters: LettersAccepted;
  readonly claimLetters: Done;
  readonly releaseClaim: Done;
  readonly purgeLetters: LettersPurged;
  readonly mergeLetter: MergeEnded;
  readonly countLetters: LettersCounted;
};
