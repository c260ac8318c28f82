/**
 * Records of `<prefix>.audit`: entries as JSON, under the topic of the letters, for people with any tool for Kafka. Times are RFC 3339. What this
 * version does not know it leaves alone.
 */
import { LogError, type StoredRecord } from '../../actors/log.ts';
import type { EncodedRecord, RecordCodec } from '../../actors/partition/partition-core.ts';
import type { AuditAction, AuditEntry } from '../../deadletters/audit/audit-entry.ts';
import type { AuditRecord } from '../../deadletters/audit/audit-requests.ts';
import { errorText } from '../../kernel/error-text.ts';

const schema = 1;

export const auditCodec: RecordCodec<AuditRecord> = { encode, decode };

function encode({ entry, timeMs }: AuditRecord): EncodedRecord {
  const { timeMs: toldMs, subject, caller, letters, source, messageIdRanges, ...same } = entry;
  const { authType, peer, client, requestId } = caller;
  const ranges = messageIdRanges.length === 0 ? {} : { messageIdRanges };
  const time = new Date(toldMs).toISOString();
  const value = { time, ...same, ...ranges, source, letters, actor: { subject, authType, peer }, client, requestId };
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  return { key: entry.queue, schema, type: 'DeadLetterAudit', namespace: '', workflowId: '', runId: '', timeMs, value: bytes };
}

function decode(value: Uint8Array, recordSchema: number, { key, timeMs, offset }: StoredRecord): AuditRecord {
  try {
    if (recordSchema !== schema) throw new Error(`this version reads schema ${schema}, found ${recordSchema}`);
    return { kind: 'entry', timeMs, entry: entryOf(JSON.parse(new TextDecoder().decode(value)), key) };
  } catch (error) {
    throw new LogError('corrupt', `the audit entry at offset ${offset} cannot be read: ${errorText(error)}`, { cause: error });
  }
}

/** By the names that this version knows; of another one an action is told as it is written. */
const actions: ReadonlySet<string> = new Set<AuditAction>([
  ...(['dead-letter', 'merge-outcome', 'quarantine', 'purge', 'restore'] as const),
  ...(['plan', 'apply', 'pause', 'resume', 'cancel', 'update', 'finish'] as const),
]);

function entryOf(body: unknown, queue: string): AuditEntry {
  const actor = valueIn(body, 'actor');
  const caller = {
    authType: textIn(actor, 'authType'),
    peer: textIn(actor, 'peer'),
    client: textIn(body, 'client'),
    requestId: textIn(body, 'requestId'),
  };
  const [ids, ranges] = [valueIn(body, 'messageIds'), valueIn(body, 'messageIdRanges')];
  const action = textIn(body, 'action');
  if (!isAction(action)) throw new Error(`this version does not know the action ${action}`);
  const { jobId, planHash, filter, outcome, errorType, reason, source, time } = textsIn(body);
  return {
    ...{ queue, action, caller, jobId, planHash, filter, outcome, errorType, reason, source },
    timeMs: timeOf(time),
    offset: numberIn(body, 'offset'),
    subject: textIn(actor, 'subject'),
    messageIds: Array.isArray(ids) ? ids.map(Number) : [],
    // Earlier versions told of none.
    messageIdRanges: Array.isArray(ranges) ? ranges.map((range) => ({ from: numberIn(range, 'from'), to: numberIn(range, 'to') })) : [],
    letters: numberIn(body, 'letters'),
    generation: numberIn(body, 'generation'),
  };
}

function isAction(text: string): text is AuditAction {
  return actions.has(text);
}

function textsIn(body: unknown) {
  const text = (name: string): string => textIn(body, name);
  const [jobId, planHash, filter, outcome] = [text('jobId'), text('planHash'), text('filter'), text('outcome')];
  return {
    jobId,
    planHash,
    filter,
    outcome,
    errorType: text('errorType'),
    reason: text('reason'),
    source: text('source'),
    time: text('time'),
  };
}

function timeOf(text: string): number {
  const timeMs = Date.parse(text);
  if (Number.isNaN(timeMs)) throw new Error(`no time: ${text}`);
  return timeMs;
}

function valueIn(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}

function textIn(body: unknown, name: string): string {
  const value = valueIn(body, name);
  if (typeof value !== 'string') throw new Error(`${name} is no text`);
  return value;
}

function numberIn(body: unknown, name: string): number {
  const value = valueIn(body, name);
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new Error(`${name} is no number`);
  return value;
}
