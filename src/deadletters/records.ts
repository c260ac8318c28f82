/**
 * The records of a queue's topic. Each is whole by itself: a command may write many, and after a crash some may be there without the rest.
 *
 *     letter       key `41`        a letter, or the same once more with what has changed (a merge that failed, quarantine, compaction)
 *     resolved     key `41`        a tombstone: merged or purged
 *     head         key `@head`     the ids that were given; behind the others of every command
 *     handedOver   key `@from:7`   what came from a shard last; likewise, and so that compaction may leave out old letters
 */
import type { HandedOver } from './hand-overs.ts';
import type { HandOver, Letter, LetterState } from './letter.ts';

/** Whoever asked for the change, and why: what a tombstone tells. */
export type Authorship = { readonly jobId: string; readonly who: string; readonly why: string };

export type LetterRecord = {
  readonly kind: 'letter';
  /** Of writing; a task's own times are in the letter. */
  readonly timeMs: number;
  readonly messageId: number;
  readonly letter: Letter;
};

export type ResolvedHow = 'merged' | 'merged-noop' | 'purged';

export type ResolvedRecord = {
  readonly kind: 'resolved';
  readonly timeMs: number;
  readonly messageId: number;
  readonly how: ResolvedHow;
  readonly who: string;
  /** '' = none given. */
  readonly why: string;
  readonly jobId: string;
  readonly generation: number;
  /** Of one that is merged: why nothing was left to do. Absent: something was, or an older version has written it. */
  readonly detail?: string;
};

export type HeadRecord = {
  readonly kind: 'head';
  readonly timeMs: number;
  readonly nextId: number;
  /** The lowest id in the queue; `nextId`: there is none. */
  readonly lowestOpen: number;
  /** All that counts of what stands before this offset stands behind it once more: the journal may begin there. 0: nothing was carried yet. */
  readonly cut: number;
  /** With a new cut: letters that were purged since it was begun, and can still be read behind it. Absent: none. */
  readonly uncutPurges?: number;
  /** Of the topic, from its first letter on. Absent: older than incarnations are, or there was no letter yet. */
  readonly incarnation?: number;
  /** Why the letters in front of it were written. Undefined: they are new, or there are none. */
  readonly act?: LettersAct;
};

/** `carried`: as they were, behind a cut. */
export type LettersAct = { readonly kind: 'carried' } | (Authorship & { readonly kind: 'mergeFailed' | 'restored' });

export type HandedOverRecord = {
  readonly kind: 'handedOver';
  readonly timeMs: number;
  readonly shard: number;
  /** Of the cluster that shard is of; '' = an older version has written it. */
  readonly clusterId: string;
  /** The oldest first. */
  readonly recent: readonly HandedOver[];
};

/** Written like a letter of ours, and not readable by this version: it stays in the queue as it is. */
export type DamagedLetterRecord = {
  readonly kind: 'damaged';
  readonly timeMs: number;
  readonly messageId: number;
  readonly reason: string;
  /** As far as it can be read: which letter of its shard it was, or the shard would wait for it for ever. */
  readonly handOver: HandOver | undefined;
  /** `open` when not even that can be read. */
  readonly state: LetterState;
};

export type DeadLetterRecord = LetterRecord | ResolvedRecord | HeadRecord | HandedOverRecord | DamagedLetterRecord;
