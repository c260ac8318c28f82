/**
 * What a column holds of a search attribute, made of what a client has stored. Total: whatever a payload holds, a value comes of it that
 * every database takes, or none. Nothing that is stored may stop a page or a checkpoint later.
 *
 * A value that fits its type is checked when it is set, so what is left out here is seldom: numbers beyond 64 bits, dates that no calendar
 * has, attributes that were removed and defined anew with another type.
 */
import { unreachable } from '../../kernel/assert.ts';
import { int64Max, int64Min } from '../../kernel/int64.ts';
import type { PayloadValue } from '../../kernel/search-attributes.ts';
import { cutToUtf8Bytes } from '../../kernel/utf8.ts';
import type { ColumnKind } from '../../filter/condition.ts';
import { OPEN_SORT_MS, type SlotValue } from './row.ts';
import { storable } from './text.ts';

/** Of a text, as UTF-8; longer is cut. An index entry of PostgreSQL takes 2,704 bytes; a replaced character takes three times its room. */
export const COLUMN_TEXT_BYTES_MAX = 2_048;

/** A text as it is kept, not longer than an index takes. */
export function columnText(text: string): string {
  return cutToUtf8Bytes(storable(text), COLUMN_TEXT_BYTES_MAX);
}

/** Undefined = not set: nothing, null, an empty list, and what is no value of that kind. */
export function attributeValue(kind: ColumnKind, { encoding, text, dataBytes }: Omit<PayloadValue, 'generation'>): SlotValue | undefined {
  if (dataBytes === 0 || encoding !== 'json/plain') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (kind === 'keywordList') return keywordList(value);
  // Old clients wrap single values in a list.
  if (Array.isArray(value)) {
    if (value.length !== 1) return undefined;
    value = value[0];
  }
  switch (kind) {
    case 'text':
    case 'keyword':
      return typeof value === 'string' ? columnText(value) : undefined;
    case 'int':
      return intValue(value, text);
    case 'double':
      // 1e999 is a number in JSON.
      return typeof value === 'number' && Number.isFinite(value) ? withoutMinusZero(value) : undefined;
    case 'bool':
      return typeof value === 'boolean' ? value : undefined;
    case 'instant':
      return typeof value === 'string' ? instant(value) : undefined;
    case 'datetime':
      // No attribute is one.
      return undefined;
    default:
      return unreachable(kind);
  }
}

/** The words of a list, each once: to a search, a list is their set. */
function keywordList(value: unknown): readonly string[] | undefined {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const words = new Set<string>();
  for (const item of items) {
    if (typeof item !== 'string') return undefined;
    words.add(columnText(item));
  }
  return words.size === 0 ? undefined : [...words];
}

/** Makes 0 of -0: some databases keep its sign, and compare by it. */
function withoutMinusZero(value: number): number {
  return value === 0 ? 0 : value;
}

/** The number itself, in a list or not: what JSON.parse has made of it is rounded beyond 2^53. */
const wholeNumber = /^[\s[]*(-?\d+)[\s\]]*$/;

function intValue(value: unknown, text: string): number | bigint | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value)) return undefined;
  if (Number.isSafeInteger(value)) return withoutMinusZero(value);
  const exact = BigInt(wholeNumber.exec(text)?.[1] ?? value);
  return exact >= int64Min && exact <= int64Max ? exact : undefined;
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Days repeat after as many years, and `Date` takes years below 100 for others. */
const cycle = { years: 400, ms: 146_097 * 86_400_000 };
/** 0000-01-01T00:00:00Z, and the last millisecond of 9999. */
const datetimeMsMin = -62_167_219_200_000;
const datetimeMsMax = OPEN_SORT_MS;

/** Nanoseconds since 1970, of a date of the years 0 to 9999; what is finer is cut. */
function instant(text: string): bigint | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, zoneHour, zoneMinute] = [...match.slice(0, 7), match[9] ?? '0', match[10] ?? '0'].map(
    Number,
  );
  if (year === undefined || month === undefined || day === undefined || hour === undefined) return undefined;
  if (minute === undefined || second === undefined || zoneHour === undefined || zoneMinute === undefined) return undefined;
  if (hour > 23 || minute > 59 || second > 59 || zoneHour > 23 || zoneMinute > 59) return undefined;
  const midnight = new Date(Date.UTC(year + cycle.years, month - 1, day));
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return undefined;
  const local = midnight.getTime() - cycle.ms + ((hour * 60 + minute) * 60 + second) * 1_000;
  const ms = local - (match[8] === '-' ? -1 : 1) * (zoneHour * 60 + zoneMinute) * 60_000;
  if (ms < datetimeMsMin || ms > datetimeMsMax) return undefined;
  return BigInt(ms) * 1_000_000n + BigInt((match[7] ?? '').slice(0, 9).padEnd(9, '0'));
}
