/**
 * What is written behind an operator, as a value of the attribute's type.
 *
 * Where a row has whole numbers (integers, statuses, milliseconds), a query may name others: 1.5, or parts of a millisecond. So such a value is kept
 * as the whole number below it and whether it is that number itself; `conditions.ts` makes comparisons of it that mean the same.
 */
import { nsPerMs, splitInstant } from '../kernel/instant.ts';
import { int64Max, int64Min } from '../kernel/int64.ts';
import { printedFloat } from '../kernel/printed-float.ts';
import type { Column, ColumnKind } from './condition.ts';
import { fault } from './fault.ts';
import { printed, quoted } from './printed.ts';
import type { Literal } from './syntax.ts';

export type Attribute = {
  /** The name that the query has for it. */
  readonly alias: string;
  readonly column: Column;
  /** What it is to people, where that is not what the column holds. */
  readonly asKind?: ColumnKind;
  /** Values that are written otherwise than those of their kind. */
  readonly special?: SpecialValues;
};

export type SpecialValues = {
  readonly valueOf: (value: SpecialWritten, at: number) => Value;
  /** The name of a whole number. */
  readonly nameOf: (value: bigint) => string;
};

/** A number or a text before its attribute has been asked, by the name of its type in messages. */
export type Written =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'int64'; readonly value: bigint }
  | { readonly type: 'float64'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean };
export type SpecialWritten = Exclude<Written, { readonly type: 'bool' }>;

export type Value =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: 'whole'; readonly floor: bigint; readonly exact: boolean }
  | { readonly kind: 'instant'; readonly nanoseconds: bigint };

const typeNames: Readonly<Record<ColumnKind, string>> = {
  keyword: 'Keyword',
  text: 'Text',
  int: 'Int',
  double: 'Double',
  bool: 'Bool',
  datetime: 'Datetime',
  instant: 'Datetime',
  keywordList: 'KeywordList',
};

/** The type that an attribute has for people. */
export function kindOf({ column, asKind }: Attribute): ColumnKind {
  return asKind ?? column.kind;
}

export function typeOf(attribute: Attribute): string {
  return typeNames[kindOf(attribute)];
}

export function written(literal: Literal): Written {
  const { type, text, at } = literal;
  if (type === 'string' || text === '') return { type: 'string', value: text };
  if (/^-?\d+$/.test(text)) {
    const value = BigInt(text);
    if (value >= int64Min && value <= int64Max) return { type: 'int64', value };
  }
  const value = type === 'hexNumber' || type === 'parameter' ? Number.NaN : Number(text);
  if (!Number.isFinite(value))
    throw fault('expression', `unable to parse value ${quoted(printed(literal))}`, at, 'a text in quotes or a decimal number');
  return { type: 'float64', value };
}

export function negated(value: Written): Written {
  if (value.type === 'int64') return { type: 'int64', value: -value.value };
  return value.type === 'float64' ? { type: 'float64', value: -value.value } : value;
}

/** `at`: where it is written. */
export function valueOf(attribute: Attribute, value: Written, at: number): Value {
  if (value.type !== 'bool' && attribute.special !== undefined) return attribute.special.valueOf(value, at);
  const kind = kindOf(attribute);
  switch (kind) {
    case 'keyword':
    case 'keywordList':
      if (value.type === 'string') return { kind: 'text', text: value.value };
      break;
    case 'text':
      if (value.type === 'string') return words(attribute, value.value, at);
      break;
    case 'bool':
      if (value.type === 'bool') return { kind: 'bool', value: value.value };
      break;
    case 'int':
      if (value.type === 'int64') return whole(value.value);
      if (value.type === 'float64') return { kind: 'whole', floor: BigInt(Math.floor(value.value)), exact: Number.isInteger(value.value) };
      break;
    case 'double':
      if (value.type === 'int64' || value.type === 'float64') return { kind: 'double', value: Number(value.value) };
      break;
    case 'datetime':
      if (value.type === 'int64') return milliseconds(value.value);
      if (value.type === 'string') return milliseconds(datetime(value.value, at));
      break;
    case 'instant':
      if (value.type === 'int64') return { kind: 'instant', nanoseconds: value.value };
      if (value.type === 'string') return { kind: 'instant', nanoseconds: datetime(value.value, at) };
      break;
  }
  const shown = `${printedValue(value)} (type: ${value.type})`;
  const what = `invalid value type for search attribute ${attribute.alias} of type ${typeNames[kind]}: ${shown}`;
  throw fault('expression', what, at, expectedOf[kind]);
}

const text = 'a text in quotes';
const time = `a time ('2026-01-31T12:00:00Z', or nanoseconds since 1970)`;
const expectedOf: Readonly<Record<ColumnKind, string>> = {
  keyword: text,
  text,
  keywordList: text,
  int: 'a number',
  double: 'a number',
  bool: 'true or false',
  datetime: time,
  instant: time,
};

function printedValue({ type, value }: Written): string {
  if (type === 'string') return quoted(value);
  return type === 'float64' ? printedFloat(value) : String(value);
}

export function whole(value: bigint): Value {
  return { kind: 'whole', floor: value, exact: true };
}

export function milliseconds(nanoseconds: bigint): Value {
  const { ms, part } = splitInstant(nanoseconds);
  return { kind: 'whole', floor: ms, exact: part === 0n };
}

function words({ alias }: Attribute, asked: string, at: number): Value {
  if (asked.trim() === '') throw fault('expression', `no tokens found filtering on Text type search attribute ${alias}`, at, 'words');
  return { kind: 'text', text: asked };
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Nanoseconds since 1970. */
function datetime(asked: string, at: number): bigint {
  const nanoseconds = instant(asked);
  if (nanoseconds === undefined) throw fault('expression', `unable to parse datetime '${asked}'`, at, time);
  return nanoseconds;
}

/** A time of RFC 3339 in milliseconds since 1970, perhaps with a fraction; undefined: the text is none. */
export function parseInstant(text: string): number | undefined {
  const nanoseconds = instant(text);
  return nanoseconds === undefined ? undefined : Number(nanoseconds) / 1_000_000;
}

/** Nanoseconds since 1970. */
function instant(asked: string): bigint | undefined {
  const [, ...fields] = rfc3339.exec(asked) ?? [];
  const [year = 0, month = 0, day = 0, hour = 24, minute = 0, second = 0] = fields.slice(0, 6).map(Number);
  const [fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = fields.slice(6);
  // Date.UTC takes the years before 100 for those of the last century.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isDay = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!isDay || hour > 23 || minute > 59 || second > 59 || Number(offsetHours) > 24 || Number(offsetMinutes) > 59) return undefined;
  const offsetMs = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -60_000 : 60_000);
  const wholeMs = date.setUTCHours(hour, minute, second) - offsetMs;
  return BigInt(wholeMs) * nsPerMs + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}
