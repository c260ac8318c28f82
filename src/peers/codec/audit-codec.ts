import type { AskFailure } from '../../actors/asks/asks.ts';
import type { AuditEntry } from '../../deadletters/audit/audit-entry.ts';
import type { AuditRejection, AuditReply, AuditRequest } from '../../deadletters/audit/audit-requests.ts';
import * as wire from '../../wire/generated/peer/audit.ts';
import { askFailureCodecs, plain, UnionCodec, wordOf, type KindCodecs, type Words } from './union-codec.ts';

const requestCodecs: KindCodecs<AuditRequest> = {
  tellAudit: plain(1, 'tellAudit', wire.writeTellAudit, (r) => {
    const request = wire.readTellAudit(r);
    return { ...request, entries: request.entries.map(entryFromWire) };
  }),
  describeAudit: plain(2, 'describeAudit', wire.writeDescribeAudit, wire.readDescribeAudit),
  readAudit: plain(3, 'readAudit', wire.writeReadAudit, wire.readReadAudit),
};

const rejectionReasons: Words<AuditRejection['reason']> = { 'invalid-argument': true };

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

const actions: Words<AuditEntry['action']> = {
  'dead-letter': true,
  'merge-outcome': true,
  quarantine: true,
  purge: true,
  restore: true,
  plan: true,
  apply: true,
  pause: true,
  resume: true,
  cancel: true,
  update: true,
  finish: true,
};

function entryFromWire(entry: wire.AuditEntry): AuditEntry {
  return { ...entry, action: wordOf(actions, entry.action, 'AuditEntry.action') };
}

export const auditAsks = {
  requests: new UnionCodec<AuditRequest>('ask of the audit', requestCodecs),
  answers: new UnionCodec<AuditReply | AskFailure>('answer of the audit', answerCodecs),
};
