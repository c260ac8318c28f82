import { decodePayload, decodeSearchAttributes, encodePayload, encodeSearchAttributes } from '../../wire/generated/lean/common.ts';
import { IndexedValueType } from '../../wire/generated/lean/enums.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { checkOpaque } from './opaque.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import { unsettableSearchAttributes } from '../../kernel/unsettable-search-attributes.ts';

const keysMax = 100;
const valueBytesMax = 2 * 1024;
const totalBytesMax = 40 * 1024;

/** Search attributes of a start: known, settable, of the right type, and not too large. */
export function checkSearchAttributes(bytes: Uint8Array | undefined, namespace: Namespace): void {
  if (bytes === undefined || bytes.length === 0) return;
  if (bytes.length > totalBytesMax)
    throw invalidArgument(`total size of search attributes ${bytes.length} exceeds size limit ${totalBytesMax}`);
  checkOpaque(bytes, 'fields');
  const fields = decodeSearchAttributes(bytes).indexedFields;
  if (fields.size > keysMax) throw invalidArgument(`number of search attributes ${fields.size} exceeds limit ${keysMax}`);
  for (const [name, payload] of fields) {
    if (unsettableSearchAttributes.has(name)) throw invalidArgument(`${name} attribute can't be set in SearchAttributes`);
    const type = namespace.searchAttributeTypes.get(name);
    if (type === undefined) throw invalidArgument(`Namespace ${namespace.name} has no mapping defined for search attribute ${name}`);
    const { length } = decodePayload(payload).data;
    if (length > valueBytesMax) {
      throw invalidArgument(`search attribute ${name} value size ${length} exceeds size limit ${valueBytesMax}`);
    }
    const problem = valueProblem(payload, type);
    if (problem !== undefined) throw invalidArgument(`invalid value for search attribute ${name} of type ${typeName(type)}: ${problem}`);
  }
}

/**
 * The same search attributes, each payload naming its type: a reader that decodes typed attributes needs it, and whoever set the value
 * may not have known it. Unknown names stay as they are, for whoever refuses them.
 */
export function withTypes(bytes: Uint8Array | undefined, types: ReadonlyMap<string, number>): Uint8Array | undefined {
  if (bytes === undefined || bytes.length === 0) return bytes;
  const typed = new Map<string, Uint8Array>();
  for (const [name, encoded] of decodeSearchAttributes(bytes).indexedFields) {
    const type = types.get(name);
    const payload = decodePayload(encoded);
    if (type === undefined || payload.metadata.has('type')) typed.set(name, encoded);
    else typed.set(name, encodePayload({ ...payload, metadata: new Map([...payload.metadata, ['type', Buffer.from(typeName(type))]]) }));
  }
  return encodeSearchAttributes({ indexedFields: typed });
}

/** Why this payload is no value of that IndexedValueType; undefined = it is. A null or an empty list unsets the attribute. */
export function valueProblem(bytes: Uint8Array, type: number): string | undefined {
  const payload = decodePayload(bytes);
  const encoding = Buffer.from(payload.metadata.get('encoding') ?? []).toString('latin1');
  if (encoding === 'binary/null') return undefined;
  if (encoding !== 'json/plain') return `encoding ${encoding === '' ? 'is not set' : encoding}, expected json/plain`;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(payload.data).toString('utf8'));
  } catch {
    return 'not valid JSON';
  }
  if (value === null) return undefined;
  if (type === IndexedValueType.KEYWORD_LIST) {
    const isList = typeof value === 'string' || (Array.isArray(value) && value.every((item) => typeof item === 'string'));
    return isList ? undefined : goText(value);
  }
  // Old clients wrap single values in a list.
  if (Array.isArray(value)) {
    if (value.length === 0) return undefined;
    if (value.length > 1) return goText(value);
    value = value[0];
  }
  return fits(value, type) ? undefined : goText(value);
}

/** A JSON value as Temporal's messages print it. */
function goText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, item]) => `${key}:${goText(item)}`).join(' ')}]`;
}

function fits(value: unknown, type: number): boolean {
  switch (type) {
    case IndexedValueType.TEXT:
    case IndexedValueType.KEYWORD:
      return typeof value === 'string';
    case IndexedValueType.INT:
      return typeof value === 'number' && Number.isInteger(value);
    case IndexedValueType.DOUBLE:
      return typeof value === 'number';
    case IndexedValueType.BOOL:
      return typeof value === 'boolean';
    case IndexedValueType.DATETIME:
      return typeof value === 'string' && !Number.isNaN(Date.parse(value));
    default:
      return false;
  }
}

export function typeName(type: number): string {
  switch (type) {
    case IndexedValueType.TEXT:
      return 'Text';
    case IndexedValueType.KEYWORD:
      return 'Keyword';
    case IndexedValueType.INT:
      return 'Int';
    case IndexedValueType.DOUBLE:
      return 'Double';
    case IndexedValueType.BOOL:
      return 'Bool';
    case IndexedValueType.DATETIME:
      return 'Datetime';
    case IndexedValueType.KEYWORD_LIST:
      return 'KeywordList';
    default:
      return `IndexedValueType(${type})`;
  }
}
