/** What the owner of the audit is asked, what it answers, and what it writes. */
import type { ReplyTo, RowsWithReplies } from '../../kernel/handled.ts';
import type { AuditEntry } from './audit-entry.ts';

export const auditLimits = {
  entriesPerTellMax: 500,
  entriesPerPageMax: 1_000,
  /** Records that are looked at for one page: what fits may be rare. */
  recordsPerPageMax: 20_000,
} as const;

/** Reply: auditTold. What was told of before is left out. Rejected: invalid-argument. */
export type TellAudit = {
  readonly kind: 'tellAudit';
  /** The topic that is told of. */
  readonly source: string;
  /** It was lost, and begins anew: what was told of the earlier one counts no more. */
  readonly isAnew: boolean;
  /** Entries in the order of their offsets. */
  readonly entries: readonly AuditEntry[];
};

/** All of what is given fits; undefined: any. */
export type AuditFilter = {
  readonly queue: string | undefined;
  readonly jobId: string | undefined;
  readonly messageId: number | undefined;
};

/** The newest first. Reply: auditEntries. */
export type ReadAudit = {
  readonly kind: 'readAudit';
  readonly filter: AuditFilter;
  /** The page ends in front of this place in the audit; undefined: at its end. */
  readonly before: number | undefined;
  readonly max: number;
};

export type AuditRequest = TellAudit | { readonly kind: 'describeAudit'; readonly source: string } | ReadAudit;

/** The last record of the source that was told of; -1: none. A new topic of the same name has another record there. */
export type AuditTold = { readonly kind: 'auditTold'; readonly offset: number; readonly timeMs: number };
/** `before`: where the next page goes on; undefined: that was all. A page may be empty, and not the last. */
export type AuditEntries = { readonly kind: 'auditEntries'; readonly entries: readonly AuditEntry[]; readonly before: number | undefined };
export type AuditRejection = { readonly reason: 'invalid-argument'; readonly message: string };
export type AuditRejected = { readonly kind: 'rejected'; readonly rejection: AuditRejection };

/** What others may ask, with the replies that each request may get besides a rejection. */
export const auditRequests = {
  tellAudit: { replies: ['auditTold'] },
  describeAudit: { replies: ['auditTold'] },
  readAudit: { replies: ['auditEntries'] },
} satisfies RowsWithReplies<AuditRequest['kind'], AuditReply>;

export type AuditReplyTo = ReplyTo<typeof auditRequests, AuditRequest['kind'], AuditReply>;
export type AuditReply = AuditTold | AuditEntries | AuditRejected;

export type AuditRecord = { readonly kind: 'entry'; readonly timeMs: number; readonly entry: AuditEntry };

/** The log is read for it. */
export type ReadEntries = { readonly kind: 'readEntries'; readonly askId: number; readonly request: ReadAudit };
export type AuditEffect = ReadEntries;
