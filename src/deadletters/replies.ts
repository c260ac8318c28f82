/** What the owner of a queue answers. */
import type { Letter, LetterError, Whole } from './letter.ts';
import type { LetterRow } from './letter-row.ts';

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
    | 'being-merged'
    /** FAILED_PRECONDITION: its topic was deleted since the ids were looked up, and they are given again */
    | 'began-anew'
    /** UNAVAILABLE: nothing has happened */
    | 'not-now';
  readonly message: string;
  /** `overlap` and `too-many-jobs`: the jobs that have claims, or some of these letters. */
  readonly holders?: readonly string[];
};

export type DeadLetterRejected = { readonly kind: 'rejected'; readonly rejection: DeadLetterRejection };

export type LettersAccepted = { readonly kind: 'accepted'; readonly ids: readonly number[] };
/**
 * `gone`: those that were resolved before, never given, or are being merged. `merged`: an earlier merge had executed them. `executing`: they are in
 * the queue still, for an earlier merge of them may be executed: to be asked for once more.
 */
export type LettersPurged = {
  readonly kind: 'purged';
  readonly ids: readonly number[];
  readonly gone: readonly number[];
  readonly merged: readonly number[];
  readonly executing: readonly number[];
};
/** `lost`: they were purged, and cannot be put back any more. */
export type PurgedFound = { readonly kind: 'purgedFound'; readonly ids: readonly number[]; readonly lost: readonly number[] };
export type MergedFound = { readonly kind: 'mergedFound'; readonly ids: readonly number[] };
/** Of those that are in neither it is to be asked again: they did not fit, or are in the queue. */
export type LettersRestored = { readonly kind: 'restored'; readonly ids: readonly number[]; readonly lost: readonly number[] };
export type LettersCounted = {
  readonly kind: 'counted';
  readonly nextId: number;
  /** Undefined: there is none. */
  readonly lowestOpen: number | undefined;
  readonly open: number;
  readonly quarantined: number;
  readonly merged: number;
  readonly purged: number;
  /** Of those, how many may still come back. */
  readonly uncutPurges: number;
  /** Another one, whenever letters that were purged may have come back. */
  readonly comebacks: string;
  /** What its ids are good for. 0: its letters are older than incarnations are. */
  readonly incarnation: number;
};
/**
 * `failed`: it is in the queue still, with its next generation; quarantined if that was too often. Of the error type OutcomeUnknown or
 * UnknownCategory nothing was written. `skipped`: as it was. `detail`: why there was nothing to do.
 */
export type MergeEnded = { readonly kind: 'mergeEnded' } & (
  | { readonly outcome: 'merged' }
  | { readonly outcome: 'merged-noop'; readonly detail: string }
  | {
      readonly outcome: 'failed';
      readonly error: LetterError;
      readonly isQuarantined: boolean;
      readonly taskId: Whole;
      readonly taskType: string;
      /** It was in the queue for the same. */
      readonly sameCause: boolean;
    }
  | { readonly outcome: 'skipped'; readonly reason: string }
);

/** What a record holds. `letter` undefined: this version cannot read it, and `problem` says why. */
export type LetterContent = {
  readonly value: Uint8Array;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly letter: Letter | undefined;
  readonly problem: string;
};
/** `content` undefined: it was not asked for. */
export type ListedLetter = { readonly row: LetterRow; readonly content: LetterContent | undefined };
export type LettersListed = { readonly kind: 'letters'; readonly letters: readonly ListedLetter[]; readonly isLast: boolean };
export type LetterRead = { readonly kind: 'letter'; readonly letter: ListedLetter };
export type LettersFound = {
  readonly kind: 'letterIds';
  readonly ids: readonly { readonly messageId: number; readonly generation: number }[];
  readonly isLast: boolean;
};
export type LettersMatched = { readonly kind: 'matched'; readonly count: number };
/** `key`: what its letters have in common; '' = it is not known of them. Times: when they became dead letters. */
export type LetterGroup = {
  readonly key: string;
  readonly count: number;
  readonly lowestId: number;
  readonly oldestMs: number;
  readonly newestMs: number;
  /** Of the letter with the lowest id, for people. */
  readonly errorType: string;
  readonly errorMessage: string;
  readonly taskType: string;
};
export type LettersGrouped = { readonly kind: 'groups'; readonly groups: readonly LetterGroup[] };
export type Done = { readonly kind: 'done' };

export type IndexReply = LettersListed | LetterRead | LettersFound | LettersMatched | LettersGrouped;
export type DeadLetterReply =
  | LettersAccepted
  | LettersPurged
  | PurgedFound
  | MergedFound
  | LettersRestored
  | MergeEnded
  | LettersCounted
  | Done
  | IndexReply
  | DeadLetterRejected;

/** Which reply (besides DeadLetterRejected) each command gets. */
export type DeadLetterReplyTo = {
  readonly acceptLetters: LettersAccepted;
  readonly claimLetters: Done;
  readonly releaseClaim: Done;
  readonly purgeLetters: LettersPurged;
  readonly findPurged: PurgedFound;
  readonly findMerged: MergedFound;
  readonly restoreLetters: LettersRestored;
  readonly mergeLetter: MergeEnded;
  readonly countLetters: LettersCounted;
  readonly listLetters: LettersListed;
  readonly readLetter: LetterRead;
  readonly findLetters: LettersFound;
  readonly countMatching: LettersMatched;
  readonly groupLetters: LettersGrouped;
};
