/** Records of a dead letter topic: a letter's value is its task, the rest is headers; the keys of control records (JSON) begin with `@`. */
import { LogError, type LogRecord, type StoredRecord } from '../ports/log.ts';
import type { EncodedRecord, RecordCodec } from '../actors/partition/partition-core.ts';
import type { HandedOver } from '../deadletters/hand-overs.ts';
import type { DeadLetterQueue } from '../deadletters/letter.ts';
import type { DeadLetterRecord, LettersAct } from '../deadletters/letter-records.ts';
import { unreachable } from '../kernel/assert.ts';
import { type Words, words } from '../kernel/words.ts';
import { errorText } from '../kernel/error-text.ts';
import { type Fields, fieldsOf, jsonBytes } from './json-fields.ts';
import { checkRecordSchema, recordSchema } from './record-schema.ts';
import { letterHeaders, letterOfHeaders, readableOfHeaders, resolvedOfHeaders, tombstoneHeaders } from './dead-letter-headers.ts';

const HEAD_KEY = '@head';
const FROM_KEY = '@from:';

export function deadLetterCodec(queue: DeadLetterQueue, prefix: string): RecordCodec<DeadLetterRecord> {
  return { encode: (record) => encode(record, queue, prefix), decode };
}

function encode(record: DeadLetterRecord, queue: DeadLetterQueue, prefix: string): EncodedRecord {
  const { timeMs } = record;
  switch (record.kind) {
    case 'letter': {
      const { value } = record.letter.task;
      return { ...plain(String(record.messageId), timeMs), value, headers: letterHeaders(queue, prefix, record) };
    }
    case 'resolved':
      return { ...plain(String(record.messageId), timeMs), isTombstone: true, headers: tombstoneHeaders(record) };
    case 'head': {
      const { kind: _, timeMs: _timeMs, ...head } = record;
      return { ...plain(HEAD_KEY, timeMs), value: jsonBytes(head) };
    }
    case 'handedOver': {
      const recent = record.recent.map(({ sequence, messageId, task }) => [sequence, messageId, ...(task === undefined ? [] : [task])]);
      return { ...plain(`${FROM_KEY}${record.shard}`, timeMs), value: jsonBytes({ clusterId: record.clusterId, recent }) };
    }
    case 'damaged':
      throw new Error('what cannot be read is not written again');
    default:
      return unreachable(record);
  }
}

const nothing = new Uint8Array();

function plain(key: string, timeMs: number): EncodedRecord {
  return { key, schema: recordSchema, type: '', namespace: '', workflowId: '', runId: '', timeMs, value: nothing };
}

function decode(value: Uint8Array, schema: number, stored: StoredRecord): DeadLetterRecord {
  const { key, timeMs } = stored;
  if (key.startsWith('@')) return decodeControl(value, schema, stored);
  const messageId = wholeOf(key);
  if (messageId === undefined) throw new LogError('corrupt', `a dead letter has the key "${key}", which is no message id`);
  try {
    checkRecordSchema(schema);
    return decodeLetter(stored, messageId);
  } catch (error) {
    if (stored.isTombstone === true) return { kind: 'resolved', timeMs, messageId, ...unknownResolution };
    return { kind: 'damaged', timeMs, messageId, reason: errorText(error), ...readableOfHeaders(stored.headers ?? []) };
  }
}

/** Whatever a tombstone says, its letter is gone. */
const unknownResolution = { how: 'purged', who: '', why: '', jobId: '', generation: 0 } as const;

function decodeLetter({ headers = [], value, isTombstone, timeMs }: LogRecord, messageId: number): DeadLetterRecord {
  if (isTombstone === true) return { kind: 'resolved', timeMs, messageId, ...resolvedOfHeaders(headers) };
  return { kind: 'letter', timeMs, messageId, letter: letterOfHeaders(headers, value) };
}

/** Control records are the truth about ids: one that cannot be read stops the queue. */
function decodeControl(value: Uint8Array, schema: number, { key, timeMs, offset }: StoredRecord): DeadLetterRecord {
  try {
    checkRecordSchema(schema);
    const fields = fieldsOf(value);
    if (key === HEAD_KEY) {
      const [nextId, lowestOpen, cut] = [fields.count('nextId'), fields.count('lowestOpen'), fields.count('cut')];
      const [uncutPurges, incarnation] = [fields.count('uncutPurges'), fields.count('incarnation')];
      return { kind: 'head', timeMs, nextId, lowestOpen, cut, uncutPurges, incarnation, ...actIn(fields) };
    }
    const shard = key.startsWith(FROM_KEY) ? wholeOf(key.slice(FROM_KEY.length)) : undefined;
    if (shard === undefined) throw new Error('there is no such control record');
    return { kind: 'handedOver', timeMs, shard, clusterId: fields.text('clusterId'), recent: fields.list('recent').map(handedOverOf) };
  } catch (error) {
    throw new LogError('corrupt', `the control record "${key}" at offset ${offset} cannot be read: ${errorText(error)}`, { cause: error });
  }
}

const actKinds: Words<LettersAct['kind']> = words('carried mergeFailed restored');

function actIn(fields: Fields): { readonly act?: LettersAct } {
  if (!fields.has('act')) return {};
  const act = fields.object('act');
  const kind = act.oneOf('kind', actKinds);
  if (kind === 'carried') return { act: { kind } };
  return { act: { kind, ...act.texts('jobId', 'who', 'why') } };
}

function handedOverOf(item: Fields): HandedOver {
  const known = { sequence: item.count('0'), messageId: item.count('1') };
  return item.has('2') ? { ...known, task: item.count('2') } : known;
}

/** A whole number as it is written: no sign, no leading zero. */
function wholeOf(text: string): number | undefined {
  const value = Number(text);
  return /^(0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}
