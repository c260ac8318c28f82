import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AskFailure } from '../../../src/actors/asks/asks.ts';
import type { AuditEntry } from '../../../src/deadletters/audit/audit-entry.ts';
import type { AuditReply, AuditRequest } from '../../../src/deadletters/audit/audit-requests.ts';
import { auditAsks } from '../../../src/peers/codec/audit-codec.ts';
import { askFailures } from './arbitrary-ask-failure.ts';
import { type ByKind, caller, count, flag, idRange, list, orNone, record, text, word } from './arbitrary.ts';
import { describeCodec, numbersOf } from './round-trip.ts';

const entry: fc.Arbitrary<AuditEntry> = record({
  timeMs: count,
  queue: text,
  action: word(
    ...(['dead-letter', 'merge-outcome', 'quarantine', 'purge', 'restore', 'plan'] as const),
    ...(['apply', 'pause', 'resume', 'cancel', 'update', 'finish'] as const),
  ),
  source: text,
  offset: count,
  subject: text,
  caller,
  reason: text,
  jobId: text,
  planHash: text,
  filter: text,
  messageIds: list(count),
  messageIdRanges: list(idRange),
  letters: count,
  outcome: text,
  errorType: text,
  generation: count,
});

const requests: ByKind<AuditRequest> = {
  tellAudit: record({ kind: fc.constant('tellAudit' as const), source: text, isAnew: flag, entries: list(entry) }),
  describeAudit: record({ kind: fc.constant('describeAudit' as const), source: text }),
  readAudit: record({
    kind: fc.constant('readAudit' as const),
    filter: record({ queue: orNone(text), jobId: orNone(text), messageId: orNone(count) }),
    before: orNone(count),
    max: count,
  }),
};

const answers: ByKind<AuditReply | AskFailure> = {
  ...askFailures,
  auditTold: record({ kind: fc.constant('auditTold' as const), offset: count, timeMs: count }),
  auditEntries: record({ kind: fc.constant('auditEntries' as const), entries: list(entry), before: orNone(count) }),
  rejected: record({ kind: fc.constant('rejected' as const), rejection: record({ reason: word('invalid-argument'), message: text }) }),
};

describeCodec('asks of the audit', auditAsks.requests, requests);
describeCodec('answers of the audit', auditAsks.answers, answers);

test('golden: the numbers of asks and answers', () => {
  expect(numbersOf(auditAsks.requests, requests)).toMatchInlineSnapshot(`
    {
      "describeAudit": 2,
      "readAudit": 3,
      "tellAudit": 1,
    }
  `);
  expect(numbersOf(auditAsks.answers, answers)).toMatchInlineSnapshot(`
    {
      "auditEntries": 3,
      "auditTold": 2,
      "busy": 103,
      "dataLoss": 107,
      "deadline": 102,
      "internal": 105,
      "notHere": 106,
      "rejected": 1,
      "tooLarge": 104,
      "unavailable": 101,
    }
  `);
});
