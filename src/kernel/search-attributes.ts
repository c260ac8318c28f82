/** Whether search attributes may be set: defined for the namespace, of the right type, within limits. Starts and commands ask alike. */
import { indexedValueTypes, searchAttributeTypeName, unsettableSearchAttributes } from './indexed-value-types.ts';
import { printedFloat } from './printed-float.ts';

export type SearchAttributeLimits = {
  readonly searchAttributeKeysMax: number;
  /** Limits the data of one value. */
  readonly searchAttributeValueBytesMax: number;
  /** Limits the whole message. */
  readonly searchAttributesBytesMax: number;
};

export type PayloadValue = {
  /** '' = not set. */
  readonly encoding: string;
  readonly dataBytes: number;
  readonly text: string;
  /** Which of several attributes of its name the value was set for (`searchAttributeGenerations`); 0: the first. */
  readonly generation: number;
};

/** The wire format as this check needs it. */
export interface SearchAttributeWire {
  fieldCount(message: Uint8Array): number;
  decodeFields(message: Uint8Array): ReadonlyMap<string, Uint8Array>;
  payloadValue(payload: Uint8Array): PayloadValue;
}

/** Temporal's text for the first attribute that cannot be set; undefined = all can. `types`: name → `IndexedValueType`. */
export function searchAttributesProblem(
  searchAttributes: Uint8Array | undefined,
  types: ReadonlyMap<string, number>,
  namespace: string,
  wire: SearchAttributeWire,
  limits: SearchAttributeLimits,
): string | undefined {
  if (searchAttributes === undefined || searchAttributes.length === 0) return undefined;
  if (searchAttributes.length > limits.searchAttributesBytesMax)
    return `total size of search attributes ${searchAttributes.length} exceeds size limit ${limits.searchAttributesBytesMax}`;
  const count = wire.fieldCount(searchAttributes);
  if (count > limits.searchAttributeKeysMax) return `number of search attributes ${count} exceeds limit ${limits.searchAttributeKeysMax}`;
  for (const [name, payload] of wire.decodeFields(searchAttributes)) {
    if (unsettableSearchAttributes.has(name)) return `${name} attribute can't be set in SearchAttributes`;
    const type = types.get(name);
    if (type === undefined) return `Namespace ${namespace} has no mapping defined for search attribute ${name}`;
    const value = wire.payloadValue(payload);
    if (value.dataBytes > limits.searchAttributeValueBytesMax) {
      return `search attribute ${name} value size ${value.dataBytes} exceeds size limit ${limits.searchAttributeValueBytesMax}`;
    }
    const problem = valueProblem(value, type);
    if (problem !== undefined) return `invalid value for search attribute ${name} of type ${searchAttributeTypeName(type)}: ${problem}`;
  }
  return undefined;
}

type Json = null | boolean | number | string | Json[] | { readonly [name: string]: Json };

/** Why this is no value of that IndexedValueType; undefined = it is. Null and an empty list unset the attribute. */
function valueProblem({ encoding, text }: PayloadValue, type: number): string | undefined {
  if (encoding === 'binary/null') return undefined;
  if (encoding !== 'json/plain') return `encoding ${encoding === '' ? 'is not set' : encoding}, expected json/plain`;
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return 'not valid JSON';
  }
  return isValue(value, text, type) ? undefined : goText(value);
}

function isValue(value: unknown, text: string, type: number): boolean {
  if (value === null) return true;
  if (type === indexedValueTypes.KeywordList) return Array.isArray(value) && value.every((item) => typeof item === 'string');
  // Old clients wrap single values in a list.
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.length === 0 || (values.length === 1 && fits(values[0], text, type));
}

/** Levels of a JSON value that a message prints; it is a stranger's, and may be nested as deep as 2 KiB allow. */
const printedLevelsMax = 8;

/** A JSON value as Temporal's messages print it. */
function goText(value: Json, levels = printedLevelsMax): string {
  if (levels === 0) return '...';
  if (Array.isArray(value)) return `[${value.map((item) => goText(item, levels - 1)).join(' ')}]`;
  if (value === null) return '<nil>';
  if (typeof value === 'number') return printedFloat(value);
  if (typeof value !== 'object') return String(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, item]) => `${key}:${goText(item, levels - 1)}`).join(' ')}]`;
}

/** A date as Temporal reads them: with seconds and a zone. */
const rfc3339 = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** `1.0` is no integer, nor is what 64 bits do not hold. The text knows: in `value` it is rounded. */
const integer = /^[\s[]*(-?\d+)[\s\]]*$/;

function isInteger(text: string): boolean {
  const digits = integer.exec(text)?.[1];
  return digits !== undefined && BigInt.asIntN(64, BigInt(digits)) === BigInt(digits);
}

function fits(value: unknown, text: string, type: number): boolean {
  switch (type) {
    case indexedValueTypes.Text:
    case indexedValueTypes.Keyword:
      return typeof value === 'string';
    case indexedValueTypes.Int:
      return typeof value === 'number' && isInteger(text);
    case indexedValueTypes.Double:
      return typeof value === 'number' && Number.isFinite(value);
    case indexedValueTypes.Bool:
      return typeof value === 'boolean';
    case indexedValueTypes.Datetime:
      return typeof value === 'string' && rfc3339.test(value);
    default:
      return false;
  }
}
