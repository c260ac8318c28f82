/** What the owner of a queue is asked, what it answers, and what is done once that is committed. Ids are whole numbers from 0 up; bounds are included. */
import type { Condition } from '../filter/condition.ts';
import type { Letter, LetterError, Whole } from './letter.ts';
import type { Authorship, LetterRow } from './letter-records.ts';
import type { ReplyEffect, ReplyTo, RowsWithReplies } from '../kernel/handled.ts';

export const deadLetterLimits = {
  /** Ids of one command: each may become a record of the same append. */
  idsPerCommandMax: 1_000,
  rangesMax: 10_000,
  /** Claims at a time. */
  activeJobsMax: 16,
  whyCharsMax: 500,
  /** The id of a job, and the name of who asked for it. */
  nameCharsMax: 1_000,
  /** The longest wait for the outcome of one merge. */
  taskTimeoutMsMin: 1_000,
  taskTimeoutMsMax: 600_000,
  taskTimeoutMsDefault: 30_000,
  /** The letters of one list; a larger request is lowered, as it is for the next three limits. */
  listedMax: 1_000,
  listedBytesMax: 3 * 1024 * 1024,
  /** The ids that one findLetters gives. */
  foundMax: 10_000,
  groupsMax: 10_000,
} as const;

/** Reply: accepted, with an id for each, in order: the same ids when it is asked again. Rejected: invalid-argument. */
export type AcceptLetters = {
  readonly kind: 'acceptLetters';
  readonly shard: number;
  /** One to HAND_OVER_LETTERS_MAX letters of that shard, numbered one behind the other. */
  readonly letters: readonly Letter[];
  /** How many letters may be missing between the last one of the shard and these. Absent: any number, for it was the shard itself that counted. */
  readonly missingMax?: number | undefined;
};

export type IdRange = { readonly from: number; readonly to: number };

export const beganAnew =
  'the queue has started again since: its topic was deleted, or has lost all its records, and its message ids now belong to other dead letters';

/** Rejected: began-anew, where the queue is in another incarnation: its topic was deleted since, and its ids are given again. Absent: whichever. */
type OfIncarnation = { readonly incarnation?: number | undefined };

/**
 * Reply: purged. Rejected: not-claimed, invalid-argument. What is resolved already, or being merged, is told and left. A letter of which nobody knows
 * what came of its last merge is withdrawn by its shard before it is purged; what was executed is merged, and what may be executed stays.
 */
export type PurgeLetters = Authorship & {
  readonly kind: 'purgeLetters';
  readonly letters: readonly { readonly messageId: number; readonly generation: number }[];
};

/** The shell's own: `asksShards`: not all shards have said yet what they execute, so each of these may be outstanding. */
export type PurgeLettersHere = PurgeLetters & { readonly asksShards?: true };

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

/** The shell's own: what has come of one of those. Whoever has claimed it meanwhile hears of it himself. */
export type SettleLetter = {
  readonly kind: 'settleLetter';
  readonly messageId: number;
  /** The number that `maySettle` gave before the shard was asked. If another merge of the letter was asked for since, the outcome is out of date. */
  readonly nth: number;
  readonly outcome: Extract<MergeOutcome, { readonly kind: 'merged' | 'failed' }>;
};

export type CarryLetters = {
  readonly kind: 'carryLetters';
  readonly letters: readonly { readonly messageId: number; readonly letter: Letter }[];
};
/** Asks which of these letters were purged and can be put back. `purgedBy`: only those that this job purged; undefined: all. Reply: purgedFound. */
export type FindPurged = OfIncarnation & {
  readonly kind: 'findPurged';
  readonly ids: readonly IdRange[];
  readonly purgedBy: string | undefined;
};

/** They get back into the queue, as they were. Reply: restored. Rejected: not-claimed, invalid-argument. */
export type RestoreLetters = Authorship & {
  readonly kind: 'restoreLetters';
  readonly messageIds: readonly number[];
  /** Only what this job purged; absent: whoever did. */
  readonly purgedBy?: string | undefined;
};

/** The shell's own: what it has found of them in the journal. `lost`: nothing, or that is too long ago. */
export type PutBack = {
  readonly kind: 'putBack';
  readonly askId: number;
  readonly authorship: Authorship;
  readonly letters: readonly { readonly messageId: number; readonly letter: Letter }[];
  readonly lost: readonly number[];
};

/** What its shard has said of a letter that is to be purged. `withdrawn`: it will not execute it. */
export type WithdrawalOutcome = MergeOutcome | { readonly kind: 'withdrawn'; readonly generation: number };
// ── What the index knows: behind the read barrier, and of all that was committed before ──────────────────────────────────────

/** `condition`: over the fields of letters (filter/); undefined: all. */
export type ListLetters = OfIncarnation & {
  readonly kind: 'listLetters';
  readonly condition: Condition | undefined;
  /** The page begins behind this message; -1: at the first one. */
  readonly afterMessageId: number;
  readonly max: number;
  /** Limits the texts, and the contents if they are asked for. The first letter is given however large it is. */
  readonly bytesMax: number;
  /** Whether the contents of the records are read from the topic. */
  readonly withContent: boolean;
};

/** Reply: letter, with its content. Rejected: not-in-queue, with what became of it. */
export type ReadLetter = { readonly kind: 'readLetter'; readonly messageId: number };

/** What letters may have in common. */
export type LetterGrouping =
  | ('fingerprint' | 'cause' | 'disposition' | 'errorType' | 'taskType')
  | ('namespace' | 'workflowType' | 'node' | 'build' | 'sourceCluster');

/** Reply: groups, most letters first. */
export type GroupLetters = {
  readonly kind: 'groupLetters';
  readonly condition: Condition | undefined;
  readonly by: LetterGrouping;
  readonly max: number;
};

export type IndexRequest =
  | ListLetters
  | ReadLetter
  | GroupLetters
  /** Asks which letters fit, in the order of their ids. Reply: letterIds. */
  | (OfIncarnation & {
      readonly kind: 'findLetters';
      readonly condition: Condition | undefined;
      readonly afterMessageId: number;
      readonly max: number;
    })
  /** Reply: matched. */
  | { readonly kind: 'countMatching'; readonly condition: Condition | undefined };

/** What others ask for. */
export type DeadLetterRequest =
  | AcceptLetters
  | PurgeLetters
  | IndexRequest
  | FindPurged
  | RestoreLetters
  /**
   * Nobody else may have these letters until it is released. Asked again by the same job it replaces what that had. Reply: claimed. Rejected:
   * overlap, too-many-jobs, invalid-argument. A takeover forgets claims.
   */
  | (OfIncarnation & { readonly kind: 'claimLetters'; readonly jobId: string; readonly ranges: readonly IdRange[] })
  /** Reply: done. Rejected: being-merged, some of its letters are under way still. */
  | { readonly kind: 'releaseClaim'; readonly jobId: string }
  /**
   * The task of one letter is executed again, once; the shell does that (`executeLetter`), and comes back with `finishMerge`. Reply, then:
   * mergeEnded. Rejected: not-claimed, not-in-queue, being-merged, not-now. A job tries a letter once: asked again it is told how that ended.
   */
  | (Authorship & {
      readonly kind: 'mergeLetter';
      readonly messageId: number;
      /** However often it has failed. */
      readonly overridesLoopGuard: boolean;
      /** The time for the task, once its turn has come: letters of one run are merged one behind the other. Absent: 30 s. */
      readonly taskTimeoutMs?: number | undefined;
    })
  /** Reply: counted, behind the read barrier. */
  | { readonly kind: 'countLetters' }
  /** Asks which of these letters were merged, whoever asked for that: at most `foundMax` ids. Reply: mergedFound, behind the read barrier. */
  | (OfIncarnation & { readonly kind: 'findMerged'; readonly ids: readonly IdRange[] });
export type DeadLetterCommand =
  | DeadLetterRequest
  | PurgeLettersHere
  | SettleLetter
  | CarryLetters
  | PutBack
  | { readonly kind: 'finishMerge'; readonly messageId: number; readonly outcome: MergeOutcome }
  | { readonly kind: 'finishWithdrawal'; readonly messageId: number; readonly outcome: WithdrawalOutcome }
  /** The shell's own: shards tell of letters that they execute, or have executed, and nobody waits for that. */
  | { readonly kind: 'noteOutstanding'; readonly messageIds: readonly number[] }
  /**
   * The owner's own, for a journal that may begin later (carrying.ts). `beginCarrying`: what is written from now on is behind the cut. `carryLetters`:
   * these stand before it, and are written again as they are, but for those that have changed since. `finishCarrying`: that was all of them.
   */
  | { readonly kind: 'beginCarrying' }
  | { readonly kind: 'finishCarrying'; readonly cut: number };

/** What the owner of a queue answers. */

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
  readonly holders?: readonly string[] | undefined;
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
/** Ids in neither list are to be asked for again: they did not fit, or are in the queue. */
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
  /** How many purged letters may still come back. */
  readonly uncutPurges: number;
  /** Another one, whenever letters that were purged may have come back. */
  readonly comebacks: string;
  /** What its ids are good for. */
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
type LettersListed = { readonly kind: 'letters'; readonly letters: readonly ListedLetter[]; readonly isLast: boolean };
export type LetterRead = { readonly kind: 'letter'; readonly letter: ListedLetter };
type LettersFound = { readonly kind: 'letterIds'; readonly ids: PurgeLetters['letters']; readonly isLast: boolean };
type LettersMatched = { readonly kind: 'matched'; readonly count: number };
/** `key`: what its letters have in common; '' = it is not known of them. Times: when they became dead letters. */
export type LetterGroup = {
  readonly key: string;
  readonly count: number;
  readonly lowestId: number;
  readonly oldestMs: number;
  readonly newestMs: number;
  /** The error of the letter with the lowest id, for people. */
  readonly errorType: string;
  readonly errorMessage: string;
  readonly taskType: string;
};
type LettersGrouped = { readonly kind: 'groups'; readonly groups: readonly LetterGroup[] };
type Done = { readonly kind: 'done' };

export type IndexReply = LettersListed | LetterRead | LettersFound | LettersMatched | LettersGrouped;
export type DeadLetterReply =
  | LettersAccepted
  | LettersPurged
  | PurgedFound
  | { readonly kind: 'mergedFound'; readonly ids: readonly number[] }
  | LettersRestored
  | MergeEnded
  | LettersCounted
  | Done
  | IndexReply
  | DeadLetterRejected;

/** What others may ask, with the replies that each request may get besides a rejection. */
export const deadLetterRequests = {
  acceptLetters: { replies: ['accepted'] },
  claimLetters: { replies: ['done'] },
  releaseClaim: { replies: ['done'] },
  purgeLetters: { replies: ['purged'] },
  findPurged: { replies: ['purgedFound'] },
  findMerged: { replies: ['mergedFound'] },
  restoreLetters: { replies: ['restored'] },
  mergeLetter: { replies: ['mergeEnded'] },
  countLetters: { replies: ['counted'] },
  listLetters: { replies: ['letters'] },
  readLetter: { replies: ['letter'] },
  findLetters: { replies: ['letterIds'] },
  countMatching: { replies: ['matched'] },
  groupLetters: { replies: ['groups'] },
} satisfies RowsWithReplies<DeadLetterRequest['kind'], DeadLetterReply>;

export type DeadLetterReplyTo = ReplyTo<typeof deadLetterRequests, DeadLetterRequest['kind'], DeadLetterReply>;

/** Its task is executed again, by the shard that owns it now; `finishMerge` tells what came of it. */
export type ExecuteLetter = {
  readonly kind: 'executeLetter';
  readonly messageId: number;
  readonly jobId: string;
  readonly overridesLoopGuard: boolean;
  readonly taskTimeoutMs: number;
};

/** Its shard is asked not to execute it any more; `finishWithdrawal` tells what it has said. */
export type WithdrawLetter = { readonly kind: 'withdrawLetter'; readonly messageId: number; readonly jobId: string };

/** What was to be carried is committed: the next letters may come, or with `cut` the journal be cut there. */
type Carried = { readonly kind: 'carried'; readonly cut: number | undefined };

/** The journal is asked about purged letters; `putBack` follows if they are to come back. */
export type ReadPurged = { readonly kind: 'readPurged'; readonly askId: number; readonly request: FindPurged | RestoreLetters };
export type DeadLetterEffect =
  | ExecuteLetter
  | WithdrawLetter
  | Carried
  | ReadPurged
  | ReplyEffect<DeadLetterReply>
  /** Letters of a shard were taken once, and are not in the journal: people have to know. Sequences of its hand-overs. */
  | { readonly kind: 'lettersLost'; readonly shard: number; readonly from: number; readonly to: number }
  /** A shard hands over another task under a number that it has given before: its journal has lost what was there. The task got an id of its own. */
  | { readonly kind: 'handOverReused'; readonly shard: number; readonly sequence: number; readonly messageId: number }
  /** The index answers that, once it has what is committed. */
  | { readonly kind: 'readIndex'; readonly askId: number; readonly request: IndexRequest }
  /** Nobody waits for that answer any more, if it is the index that was asked. */
  | { readonly kind: 'giveUpIndex'; readonly askId: number };
