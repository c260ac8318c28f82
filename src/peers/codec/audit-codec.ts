import type { AskFailure } from '../../actors/asks/asks.ts';
import type { AuditEntry } from '../../deadletters/audit/audit-entry.ts';
import type { AuditRejection, AuditReply, AuditRequest } from '../../deadletters/audit/audit-requests.ts';
import * as wire from '../../wire/generated/peer/audit.ts';
import { askFailureCodecs, plain, UnionCodec, wordOf, type KindCodecs } from './union-codec.ts';
import { auditActions } from '../../kernel/letter-words.ts';
import { type Words, words } from '../../kernel/words.ts';

const requestCodecs: KindCodecs<AuditRequest> = {
  tellAudit: plain(1, 'tellAudit', wire.writeTellAudit, (r) => {
    const request = wire.readTellAudit(r);
    return { ...request, entries: request.entries.map(entryFromWire) };
  }),
  describeAudit: plain(2, 'describeAudit', wire.writeDescribeAudit, wire.readDescribeAudit),
  readAudit: plain(3, 'readAudit', wire.writeReadAudit, wire.readReadAudit),
};

const rejectionReasons: Words<AuditRejection['reason']> = words('invalid-argument');

const answerCodecs: KindCodecs<AuditReply | AskFailure> = {
  ...askFailureCodecs,
  rejected: plain(1, 'rejected', wire.writeAuditRejected, (r) => {
    const { reason, message } = wire.readAuditRejected(r).rejection;
    return { rejection: { reason: wordOf(rejectionReasons, reason, 'AuditRejection.reason'), message } };
  }),
  auditTold: plain(2, 'auditTold', wire.writeAuditTold, wire.readAuditTold),
  auditEntries: plain(3, 'auditEntries', wire.writeAuditEntries, (r) => {
    const { entries, before } = wire.readAuditEntries(r);
    return { entries: entries.map(entryFromWire), before };
  }),
};

function entryFromWire(entry: wire.AuditEntry): AuditEntry {
  return { ...entry, action: wordOf(auditActions, entry.action, 'AuditEntry.action') };
}

export const auditAsks = {
  requests: new UnionCodec<AuditRequest>('ask of the audit', requestCodecs),
  answers: new UnionCodec<AuditReply | AskFailure>('answer of the audit', answerCodecs),
};
