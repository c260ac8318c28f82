/** What the owner of a queue is asked. Ids are whole numbers from 0 up; bounds are included. */
import type { Condition } from '../filter/condition.ts';
import type { Letter, LetterError } from './letter.ts';
import type { Authorship } from './records.ts';

export const deadLetterLimits = {
  /** Ids of one command: each may become a record of the same append. */
  idsPerCommandMax: 1_000,
  /** Of one claim. */
  rangesMax: 10_000,
  /** Claims at a time. */
  activeJobsMax: 16,
  /** Of the reason for a change. */
  whyCharsMax: 500,
  /** Of a job's id, and of who asked for it. */
  nameCharsMax: 1_000,
  /** Of one merge: the longest wait for what comes of the task. */
  taskTimeoutMsMin: 1_000,
  taskTimeoutMsMax: 600_000,
  taskTimeoutMsDefault: 30_000,
  /** Of one list; what is asked for beyond is lowered, here and in the next ones. */
  listedMax: 1_000,
  listedBytesMax: 3 * 1024 * 1024,
  /** Of one findLetters. */
  foundMax: 10_000,
  groupsMax: 10_000,
} as const;

/** Reply: accepted, with an id for each, in order: the same ids when it is asked again. Rejected: invalid-argument. */
export type AcceptLetters = {
  readonly kind: 'acceptLetters';
  readonly shard: number;
  /** At least one, HAND_OVER_LETTERS_MAX at most, of that shard, numbered one behind the other. */
  readonly letters: readonly Letter[];
  /** How many letters may be missing between the last one of the shard and these. Absent: any number, for it was the shard itself that counted. */
  readonly missingMax?: number;
};

export type IdRange = { readonly from: number; readonly to: number };

export const beganAnew =
  'the queue began anew since: its topic was deleted, or has lost all its records, and its message ids are given again to other dead letters';

/** Rejected: began-anew, where the queue is in another incarnation: its topic was deleted since, and its ids are given again. Absent: whichever. */
type OfIncarnation = { readonly incarnation?: number };

/**
 * Nobody else may have these letters until it is released. Asked again by the same job it replaces what that had. Reply: claimed. Rejected:
 * overlap, too-many-jobs, invalid-argument. A takeover forgets claims.
 */
export type ClaimLetters = OfIncarnation & { readonly kind: 'claimLetters'; readonly jobId: string; readonly ranges: readonly IdRange[] };
/** Reply: done. Rejected: being-merged, some of its letters are under way still. */
export type ReleaseClaim = { readonly kind: 'releaseClaim'; readonly jobId: string };

/**
 * Reply: purged. Rejected: not-claimed, invalid-argument. What is resolved already, or being merged, is told and left. A letter of which nobody knows
 * what came of its last merge is withdrawn by its shard before it is purged; what was executed is merged, and what may be executed stays.
 */
export type PurgeLetters = Authorship & {
  readonly kind: 'purgeLetters';
  /** The shell's own: not all shards have said yet what they execute, so each of these may be outstanding. */
  readonly asksShards?: true | undefined;
  readonly letters: readonly { readonly messageId: number; readonly generation: number }[];
};

/**
 * The task of one letter is executed again, once; the shell does that (`executeLetter`), and comes back with `finishMerge`. Reply, then:
 * mergeEnded. Rejected: not-claimed, not-in-queue, being-merged, not-now. A job tries a letter once: asked again it is told how that ended.
 */
export type MergeLetter = Authorship & {
  readonly kind: 'mergeLetter';
  readonly messageId: number;
  /** However often it has failed. */
  readonly overridesLoopGuard: boolean;
  /** Of the task, once its turn has come: letters of one run are merged one behind the other. Absent: 30 s. */
  readonly taskTimeoutMs?: number;
};

/** What came of it; the shell's own. */
export type MergeOutcome =
  | { readonly kind: 'merged'; readonly how: 'merged'; readonly generation: number }
  /** `detail`: why there was nothing to do. */
  | { readonly kind: 'merged'; readonly how: 'merged-noop'; readonly generation: number; readonly detail: string }
  /** `letter`: as it is from now on. `isSameCause`: as it was in the queue for. */
  | { readonly kind: 'failed'; readonly letter: Letter; readonly isSameCause: boolean }
  /** It has not been executed, or nobody knows: that is told as a failure, and nothing is written. `letter`: as it is. */
  | {
      readonly kind: 'unsettled';
      readonly letter: Letter;
      readonly error: LetterError;
      readonly isSameCause?: boolean;
      /** Its shard may execute it, or has. */
      readonly isUnknown?: true;
    }
  /** It cannot be read now; nobody was asked. */
  | { readonly kind: 'notBegun'; readonly message: string }
  /** It stays as it is. */
  | { readonly kind: 'skipped'; readonly reason: string; readonly isUnknown?: true };

/** The shell's own: shards tell of letters that they execute, or have executed, and nobody waits for that. */
export type NoteOutstanding = { readonly kind: 'noteOutstanding'; readonly messageIds: readonly number[] };

/** The shell's own: what has come of one of those. Whoever has claimed it meanwhile hears of it himself. */
export type SettleLetter = {
  readonly kind: 'settleLetter';
  readonly messageId: number;
  /** From `maySettle`, before the shard was asked. If another merge of the letter was asked for since, the outcome is out of date. */
  readonly nth: number;
  readonly outcome: Extract<MergeOutcome, { readonly kind: 'merged' | 'failed' }>;
};

/**
 * The owner's own, for a journal that may begin later (carrying.ts). `beginCarrying`: what is written from now on is behind the cut. `carryLetters`:
 * these stand before it, and are written again as they are, but for those that have changed since. `finishCarrying`: that was all of them.
 */
export type BeginCarrying = { readonly kind: 'beginCarrying' };
export type CarryLetters = {
  readonly kind: 'carryLetters';
  readonly letters: readonly { readonly messageId: number; readonly letter: Letter }[];
};
export type FinishCarrying = { readonly kind: 'finishCarrying'; readonly cut: number };

/** Which of these were purged and can be put back. `purgedBy`: by that job; undefined: by whatever job. Reply: purgedFound. */
export type FindPurged = OfIncarnation & {
  readonly kind: 'findPurged';
  readonly ids: readonly IdRange[];
  readonly purgedBy: string | undefined;
};

/** Which of these were merged: executed, whoever has asked for that. `foundMax` ids at most. Reply: mergedFound, behind the read barrier. */
export type FindMerged = OfIncarnation & { readonly kind: 'findMerged'; readonly ids: readonly IdRange[] };

/** They get back into the queue, as they were. Reply: restored. Rejected: not-claimed, invalid-argument. */
export type RestoreLetters = Authorship & {
  readonly kind: 'restoreLetters';
  readonly messageIds: readonly number[];
  /** Only what this job purged; absent: whoever did. */
  readonly purgedBy?: string;
};

/** The shell's own: what it has found of them in the journal. `lost`: nothing, or that is too long ago. */
export type PutBack = {
  readonly kind: 'putBack';
  readonly askId: number;
  readonly authorship: Authorship;
  readonly letters: readonly { readonly messageId: number; readonly letter: Letter }[];
  readonly lost: readonly number[];
};

export type FinishMerge = { readonly kind: 'finishMerge'; readonly messageId: number; readonly outcome: MergeOutcome };

/** What its shard has said of a letter that is to be purged. `withdrawn`: it will not execute it. */
export type WithdrawalOutcome = MergeOutcome | { readonly kind: 'withdrawn'; readonly generation: number };
export type FinishWithdrawal = { readonly kind: 'finishWithdrawal'; readonly messageId: number; readonly outcome: WithdrawalOutcome };

/** Reply: counted, behind the read barrier. */
export type CountLetters = { readonly kind: 'countLetters' };

// ── What the index knows: behind the read barrier, and of all that was committed before ──────────────────────────────────────

/** `condition`: over the fields of letters (filter/); undefined: all. */
export type ListLetters = OfIncarnation & {
  readonly kind: 'listLetters';
  readonly condition: Condition | undefined;
  /** From behind this one; -1: from the first. */
  readonly afterMessageId: number;
  readonly max: number;
  /** Of texts, and of contents where they are asked for: letters are given as long as they fit, and the first one however large. */
  readonly bytesMax: number;
  /** With what their records hold, from the topic. */
  readonly withContent: boolean;
};

/** Reply: letter, with its content. Rejected: not-in-queue, with what became of it. */
export type ReadLetter = { readonly kind: 'readLetter'; readonly messageId: number };

/** Which letters fit, in the order of their ids. Reply: letterIds. */
export type FindLetters = OfIncarnation & {
  readonly kind: 'findLetters';
  readonly condition: Condition | undefined;
  readonly afterMessageId: number;
  readonly max: number;
};

/** Reply: matched. */
export type CountMatching = { readonly kind: 'countMatching'; readonly condition: Condition | undefined };

/** What letters may have in common. */
export type LetterGrouping =
  | 'fingerprint'
  | 'cause'
  | 'disposition'
  | 'errorType'
  | 'taskType'
  | 'namespace'
  | 'workflowType'
  | 'node'
  | 'build'
  | 'sourceCluster';

/** Reply: groups, most letters first. */
export type GroupLetters = {
  readonly kind: 'groupLetters';
  readonly condition: Condition | undefined;
  readonly by: LetterGrouping;
  readonly max: number;
};

export type IndexRequest = ListLetters | ReadLetter | FindLetters | CountMatching | GroupLetters;

/** What others ask for. */
export type DeadLetterRequest =
  | AcceptLetters
  | ClaimLetters
  | ReleaseClaim
  | PurgeLetters
  | MergeLetter
  | CountLetters
  | IndexRequest
  | FindPurged
  | FindMerged
  | RestoreLetters;
export type DeadLetterCommand =
  | DeadLetterRequest
  | FinishMerge
  | FinishWithdrawal
  | NoteOutstanding
  | SettleLetter
  | BeginCarrying
  | CarryLetters
  | FinishCarrying
  | PutBack;
