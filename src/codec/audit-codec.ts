/** Records of `<prefix>.audit`: entries as JSON, under the topic of the letters. Times are RFC 3339; what is not known is left alone. */
import { LogError, type StoredRecord } from '../ports/log.ts';
import type { EncodedRecord, RecordCodec } from '../actors/partition/partition-core.ts';
import type { AuditEntry } from '../deadletters/audit/audit-entry.ts';
import type { AuditRecord } from '../deadletters/audit/audit-requests.ts';
import { errorText } from '../kernel/error-text.ts';
import { type Fields, fieldsOf, jsonBytes } from './json-fields.ts';
import { checkRecordSchema, recordSchema } from './record-schema.ts';
import { auditActions } from '../kernel/letter-words.ts';

export const auditCodec: RecordCodec<AuditRecord> = { encode, decode };

function encode({ entry, timeMs }: AuditRecord): EncodedRecord {
  const { timeMs: toldMs, subject, caller, letters, source, ...same } = entry;
  const { authType, peer, client, requestId } = caller;
  const time = new Date(toldMs).toISOString();
  const value = jsonBytes({ time, ...same, source, letters, actor: { subject, authType, peer }, client, requestId });
  return { key: entry.queue, schema: recordSchema, type: 'DeadLetterAudit', namespace: '', workflowId: '', runId: '', timeMs, value };
}

function decode(value: Uint8Array, schema: number, { key, timeMs, offset }: StoredRecord): AuditRecord {
  try {
    checkRecordSchema(schema);
    return { kind: 'entry', timeMs, entry: entryOf(fieldsOf(value), key) };
  } catch (error) {
    throw new LogError('corrupt', `the audit entry at offset ${offset} cannot be read: ${errorText(error)}`, { cause: error });
  }
}

function entryOf(fields: Fields, queue: string): AuditEntry {
  const actor = fields.object('actor');
  return {
    queue,
    action: fields.oneOf('action', auditActions),
    timeMs: fields.time('time'),
    offset: fields.count('offset'),
    subject: actor.text('subject'),
    caller: { ...actor.texts('authType', 'peer'), ...fields.texts('client', 'requestId') },
    ...fields.texts('jobId', 'planHash', 'filter', 'outcome', 'errorType', 'reason', 'source'),
    messageIds: fields.counts('messageIds'),
    messageIdRanges: fields.list('messageIdRanges').map((range) => ({ from: range.count('from'), to: range.count('to') })),
    letters: fields.count('letters'),
    generation: fields.count('generation'),
  };
}
