/**
 * Records of a dead letter topic. A letter's value is its task, untouched; everything else is in headers (dead-letter-headers.ts). Control
 * records are JSON under keys that begin with `@`, which no letter has.
 */
import { LogError, type LogRecord, type StoredRecord } from '../../actors/log.ts';
import type { EncodedRecord, RecordCodec } from '../../actors/partition/partition-core.ts';
import type { DeadLetterQueue } from '../../deadletters/letter.ts';
import type { DeadLetterRecord, LettersAct } from '../../deadletters/records.ts';
import { assert, unreachable } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import { letterHeaders, letterOfHeaders, readableOfHeaders, resolvedOfHeaders, tombstoneHeaders } from './dead-letter-headers.ts';

const schema = 1;
/** Of heads that tell an incarnation: whoever does not know of it would leave it out of the next one. */
const schemaIncarnation = 2;
const HEAD_KEY = '@head';
const FROM_KEY = '@from:';

export function deadLetterCodec(queue: DeadLetterQueue, prefix: string): RecordCodec<DeadLetterRecord> {
  return {
    encode: (record) => encode(record, queue, prefix),
    decode: (value, recordSchema, stored) => decode(value, recordSchema, stored),
  };
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
      const { nextId, lowestOpen, cut, uncutPurges, act, incarnation } = record;
      const head = { ...plain(HEAD_KEY, timeMs), value: json({ nextId, lowestOpen, cut, uncutPurges, act, incarnation }) };
      return incarnation === undefined ? head : { ...head, schema: schemaIncarnation };
    }
    case 'handedOver': {
      const recent = record.recent.map(({ sequence, messageId, task }) => [sequence, messageId, ...(task === undefined ? [] : [task])]);
      const clusterId = record.clusterId === '' ? undefined : record.clusterId;
      return { ...plain(`${FROM_KEY}${record.shard}`, timeMs), value: json({ clusterId, recent }) };
    }
    case 'damaged':
      throw new Error('what cannot be read is not written again');
    default:
      return unreachable(record);
  }
}

const nothing = new Uint8Array();

function plain(key: string, timeMs: number): EncodedRecord {
  return { key, schema, type: '', namespace: '', workflowId: '', runId: '', timeMs, value: nothing };
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function decode(value: Uint8Array, recordSchema: number, stored: StoredRecord): DeadLetterRecord {
  const { key, timeMs } = stored;
  if (key.startsWith('@')) return decodeControl(value, recordSchema, stored);
  const messageId = wholeOf(key);
  if (messageId === undefined) throw new LogError('corrupt', `a dead letter has the key "${key}", which is no message id`);
  try {
    if (recordSchema !== schema) throw new Error(`this version reads letters of schema ${schema}, found ${recordSchema}`);
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

/** They are the truth about ids: one that cannot be read stops the queue. */
function decodeControl(value: Uint8Array, recordSchema: number, { key, timeMs, offset }: StoredRecord): DeadLetterRecord {
  try {
    assert(recordSchema <= schemaIncarnation, `this version reads records of schemas up to ${schemaIncarnation}, found ${recordSchema}`);
    const body: unknown = JSON.parse(new TextDecoder().decode(value));
    if (key === HEAD_KEY) {
      const head = { nextId: idIn(body, 'nextId'), lowestOpen: idIn(body, 'lowestOpen'), cut: idIn(body, 'cut') };
      const uncut = valueIn(body, 'uncutPurges') === undefined ? {} : { uncutPurges: idIn(body, 'uncutPurges') };
      const incarnation = valueIn(body, 'incarnation') === undefined ? {} : { incarnation: idIn(body, 'incarnation') };
      return { kind: 'head', timeMs, ...head, ...uncut, ...incarnation, ...actIn(valueIn(body, 'act')) };
    }
    const shard = key.startsWith(FROM_KEY) ? wholeOf(key.slice(FROM_KEY.length)) : undefined;
    assert(shard !== undefined, 'there is no such control record');
    const recent = itemsIn(body, 'recent').map((item) => ({ sequence: idIn(item, 0), messageId: idIn(item, 1), ...taskIn(item) }));
    const clusterId = valueIn(body, 'clusterId') ?? '';
    assert(typeof clusterId === 'string', 'clusterId is no text');
    return { kind: 'handedOver', timeMs, shard, clusterId, recent };
  } catch (error) {
    throw new LogError('corrupt', `the control record "${key}" at offset ${offset} cannot be read: ${errorText(error)}`, { cause: error });
  }
}

/** Only the audit asks for it: what cannot be read is as if it were not there. */
function actIn(act: unknown): { readonly act?: LettersAct } {
  const kind = valueIn(act, 'kind');
  if (kind === 'carried') return { act: { kind } };
  const [jobId, who, why] = [valueIn(act, 'jobId'), valueIn(act, 'who'), valueIn(act, 'why')];
  const isWhole = typeof jobId === 'string' && typeof who === 'string' && typeof why === 'string';
  return isWhole && (kind === 'mergeFailed' || kind === 'restored') ? { act: { kind, jobId, who, why } } : {};
}

function valueIn(body: unknown, name: string | number): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}

function idIn(body: unknown, name: string | number): number {
  const value = valueIn(body, name);
  assert(typeof value === 'number' && Number.isSafeInteger(value) && value >= 0, `${name} is no id`);
  return value;
}

/** Older ones have none. */
function taskIn(item: unknown): { readonly task?: number } {
  return valueIn(item, 2) === undefined ? {} : { task: idIn(item, 2) };
}

function itemsIn(body: unknown, name: string): readonly unknown[] {
  const items = valueIn(body, name);
  assert(Array.isArray(items), `${name} is no list`);
  return items;
}

/** As it is written: no sign, no leading zero. */
function wholeOf(text: string): number | undefined {
  const value = Number(text);
  return /^(0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}
