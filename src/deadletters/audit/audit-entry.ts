/**
 * One line of the audit: who did what to which letters, when and why, and what came of it. Never a payload, nor what a caller proves himself by.
 *
 *     record of a queue or of the jobs, committed ─▶ entry: names that record ─▶ `<prefix>.audit`
 *
 * An entry is known by the record that it tells of (`source`, `offset`), so the same one told twice is told once.
 */

import type { IdRange } from '../letter-commands.ts';
import type { AuditAction } from '../../kernel/letter-words.ts';

/** What the server knows of who called, beside the name. '' = not known. */
export type Caller = {
  /** How he proved who he is. */
  readonly authType: string;
  /** Address and port. */
  readonly peer: string;
  /** Program and version, as it calls itself. */
  readonly client: string;
  readonly requestId: string;
};

/** Texts that do not apply are ''. Times are ms since 1970. */
export type AuditEntry = {
  readonly timeMs: number;
  /** The topic of the letters. */
  readonly queue: string;
  readonly action: AuditAction;
  /** The topic that holds the record told of, and where; of several that are told as one the last. */
  readonly source: string;
  readonly offset: number;
  /** `anonymous`: nobody proved who he is. `system:…`: the server itself. */
  readonly subject: string;
  readonly caller: Caller;
  readonly reason: string;
  readonly jobId: string;
  readonly planHash: string;
  readonly filter: string;
  /** AUDIT_IDS_MAX at most. */
  readonly messageIds: readonly number[];
  /** Used instead of `messageIds` by plans and jobs with more ids. */
  readonly messageIdRanges: readonly IdRange[];
  readonly letters: number;
  readonly outcome: string;
  readonly errorType: string;
  /** The generation of the letters at that time. */
  readonly generation: number;
};

export const AUDIT_IDS_MAX = 1_000;

export const nobodyKnown: Caller = { authType: '', peer: '', client: '', requestId: '' };

export const noDetails = {
  caller: nobodyKnown,
  messageIdRanges: [],
  ...{ reason: '', jobId: '', planHash: '', filter: '', outcome: '', errorType: '', generation: 0 },
} as const;

/** Makes entries out of the records of one journal, in their order. */
export interface AuditStory<Record> {
  tell(record: Record, offset: number): void;
  /** Takes the entries so far. If a command's records are not all there, the rest comes later. */
  take(): readonly AuditEntry[];
}
