/**
 * What is written behind an operator, as a value of the attribute's type.
 *
 * Where a row has whole numbers (integers, statuses, milliseconds), a query may name others: 1.5, or nanoseconds. So such a value is kept
 * as the whole number below it and whether it is that number itself; `conditions.ts` makes comparisons of it that mean the same.
 */
import { printedFloat } from '../../kernel/printed-float.ts';
import { int64Max, int64Min } from '../attribute-value.ts';
import type { Column, ColumnKind } from '../condition.ts';
import { invalid } from './invalid-query.ts';
import { printed, quoted } from './printed.ts';
import type { Literal } from './syntax.ts';

export type Attribute = {
  /** As the query names it. */
  readonly alias: string;
  readonly column: Column;
};

/** A number or a text before its attribute has been asked, by the name of its type in messages. */
export type Written =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'int64'; readonly value: bigint }
  | { readonly type: 'float64'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean };

export type Value =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: 'whole'; readonly floor: bigint; readonly exact: boolean };

const typeNames: Readonly<Record<ColumnKind, string>> = {
  keyword: 'Keyword',
  text: 'Text',
  int: 'Int',
  double: 'Double',
  bool: 'Bool',
  datetime: 'Datetime',
  keywordList: 'KeywordList',
};

/** The type that an attribute has for people. */
export function queryKind({ name, kind }: Column): ColumnKind {
  return name === 'ExecutionStatus' ? 'keyword' : kind;
}

export function typeOf({ column }: Attribute): string {
  return typeNames[queryKind(column)];
}

export function written(literal: Literal): Written {
  const { type, text } = literal;
  if (type === 'string' || text === '') return { type: 'string', value: text };
  if (/^-?\d+$/.test(text)) {
    const value = BigInt(text);
    if (value >= int64Min && value <= int64Max) return { type: 'int64', value };
  }
  const value = type === 'hexNumber' || type === 'parameter' ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) throw invalid('expression', `unable to parse value ${quoted(printed(literal))}`);
  return { type: 'float64', value };
}

export function negated(value: Written): Written {
  if (value.type === 'int64') return { type: 'int64', value: -value.value };
  return value.type === 'float64' ? { type: 'float64', value: -value.value } : value;
}

export function valueOf(attribute: Attribute, value: Written): Value {
  if (value.type !== 'bool') {
    if (attribute.column.name === 'ExecutionStatus') return status(value);
    if (attribute.column.name === 'ExecutionDuration') return duration(value);
  }
  const kind = queryKind(attribute.column);
  switch (kind) {
    case 'keyword':
    case 'keywordList':
      if (value.type === 'string') return { kind: 'text', text: value.value };
      break;
    case 'text':
      if (value.type === 'string') return words(attribute, value.value);
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
      if (value.type === 'string') return datetime(value.value);
      break;
  }
  const shown = `${printedValue(value)} (type: ${value.type})`;
  throw invalid('expression', `invalid value type for search attribute ${attribute.alias} of type ${typeNames[kind]}: ${shown}`);
}

function printedValue({ type, value }: Written): string {
  if (type === 'string') return quoted(value);
  return type === 'float64' ? printedFloat(value) : String(value);
}

function whole(value: bigint): Value {
  return { kind: 'whole', floor: value, exact: true };
}

function milliseconds(nanoseconds: bigint): Value {
  const rest = ((nanoseconds % 1_000_000n) + 1_000_000n) % 1_000_000n;
  return { kind: 'whole', floor: (nanoseconds - rest) / 1_000_000n, exact: rest === 0n };
}

function words({ alias }: Attribute, text: string): Value {
  if (text.trim() === '') throw invalid('expression', `no tokens found filtering on Text type search attribute ${alias}`);
  return { kind: 'text', text };
}

/** `temporal.api.enums.v1.WorkflowExecutionStatus`, from 0. */
const statuses = [
  'Unspecified',
  'Running',
  'Completed',
  'Failed',
  'Canceled',
  'Terminated',
  'ContinuedAsNew',
  'TimedOut',
  'Paused',
] as const;
const statusNumbers: ReadonlyMap<string, number> = new Map(
  statuses.flatMap((name, number) => {
    const enumName = `WORKFLOW_EXECUTION_STATUS${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
    return [[name, number] as const, [enumName, number] as const];
  }),
);

export function statusName(number: bigint): string {
  return statuses[Number(number)] ?? String(number);
}

function status(value: Exclude<Written, { type: 'bool' }>): Value {
  switch (value.type) {
    case 'int64':
      if (value.value >= 0n && value.value < BigInt(statuses.length)) return whole(value.value);
      throw invalid('expression', `invalid ExecutionStatus value ${value.value}`);
    case 'string': {
      const number = statusNumbers.get(value.value);
      if (number === undefined) throw invalid('expression', `invalid ExecutionStatus value '${value.value}'`);
      return whole(BigInt(number));
    }
    case 'float64':
      throw invalid('expression', 'unexpected value type float64 for search attribute ExecutionStatus');
  }
}

function duration(value: Exclude<Written, { type: 'bool' }>): Value {
  switch (value.type) {
    case 'int64':
      return milliseconds(value.value);
    case 'string': {
      const nanoseconds = parseDuration(value.value);
      if (nanoseconds !== undefined) return milliseconds(nanoseconds);
      throw invalid('expression', `invalid duration value for search attribute ExecutionDuration: ${value.value}`);
    }
    case 'float64':
      throw invalid('expression', 'unexpected value type float64 for search attribute ExecutionDuration');
  }
}

const unitNanoseconds: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
  ['d', 86_400_000_000_000n],
]);
const durationPart = /(\d*)(?:\.(\d*))?([a-zµμ]+)/y;
/** More than int64 has. A longer fraction is cut; a longer whole part is none. */
const digitsMax = 20;

/** `90000000000` in nanoseconds, `1h30m`, `1.5d` or `01:30:00`. */
function parseDuration(text: string): bigint | undefined {
  const isNumber = /^[+-]?\d+$/.test(text) && text.length <= digitsMax;
  const nanoseconds = isNumber ? BigInt(text.replace('+', '')) : (parseUnits(text) ?? parseClock(text));
  return nanoseconds !== undefined && nanoseconds >= int64Min && nanoseconds <= int64Max ? nanoseconds : undefined;
}

function parseUnits(text: string): bigint | undefined {
  const parts = text.replace(/^[+-]/, '');
  let nanoseconds = 0n;
  for (let at = 0; at < parts.length || at === 0; at = durationPart.lastIndex) {
    durationPart.lastIndex = at;
    const [, digits = '', fraction = '', unit = ''] = durationPart.exec(parts) ?? [];
    const scale = unitNanoseconds.get(unit);
    if (scale === undefined || digits + fraction === '' || digits.length > digitsMax) return undefined;
    const cut = fraction.slice(0, digitsMax);
    nanoseconds += BigInt(digits) * scale + (BigInt(cut) * scale) / 10n ** BigInt(cut.length);
    if (nanoseconds > int64Max) return undefined;
  }
  return text.startsWith('-') ? -nanoseconds : nanoseconds;
}

function parseClock(text: string): bigint | undefined {
  const [, hours = '', minutes = '', seconds = ''] = /^ *\+?(\d{1,9}): *\+?(\d{1,9}): *\+?(\d{1,9})/.exec(text) ?? [];
  if (hours === '' || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  return (BigInt(hours) * 3_600n + BigInt(minutes) * 60n + BigInt(seconds)) * 1_000_000_000n;
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

function datetime(text: string): Value {
  const [, ...fields] = rfc3339.exec(text) ?? [];
  const [year = 0, month = 0, day = 0, hour = 24, minute = 0, second = 0] = fields.slice(0, 6).map(Number);
  const [fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = fields.slice(6);
  // Date.UTC takes the years before 100 for those of the last century.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isDay = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!isDay || hour > 23 || minute > 59 || second > 59 || Number(offsetHours) > 24 || Number(offsetMinutes) > 59) {
    throw invalid('expression', `unable to parse datetime '${text}'`);
  }
  const offsetMs = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -60_000 : 60_000);
  const wholeMs = date.setUTCHours(hour, minute, second) - offsetMs;
  return milliseconds(BigInt(wholeMs) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0')));
}
