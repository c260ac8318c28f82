/** What of a search attribute fits the column of its kind, in either database. */
import { int64Max, int64Min } from '../../kernel/int64.ts';
import { splitInstant } from '../../kernel/instant.ts';
import { storable, wordsOf } from '../visibility/text.ts';
import type { ColumnKind } from '../../filter/condition.ts';
import type { SlotValue } from '../visibility/row.ts';

/** Words, of a list or a text; an empty list is none. undefined: it fits no column of that kind. */
export type Stored = readonly string[] | string | number | bigint | boolean | undefined;

export function storedSlot(kind: ColumnKind, value: SlotValue): Stored {
  switch (kind) {
    case 'keyword':
      return typeof value === 'string' ? storable(value) : undefined;
    case 'text':
      return typeof value === 'string' ? wordsOf(storable(value)) : undefined;
    case 'keywordList':
      return Array.isArray(value) && value.length > 0 ? value.map((item) => storable(String(item))) : undefined;
    case 'int':
    case 'datetime':
      return isInteger(value) ? value : undefined;
    case 'instant':
      return typeof value === 'bigint' ? storedSlot('int', splitInstant(value).ms) : undefined;
    case 'double':
      if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
      return isInteger(value) ? Number(value) : undefined;
    case 'bool':
      return typeof value === 'boolean' ? value : undefined;
  }
}

/** The nanoseconds of an instant beyond its millisecond. undefined: there are none, or it is no instant that fits. */
export function storedPart(kind: ColumnKind, value: SlotValue): bigint | undefined {
  return (kind === 'instant' && typeof value === 'bigint' && splitInstant(value).part) || undefined;
}

function isInteger(value: SlotValue): value is number | bigint {
  return typeof value === 'bigint' ? value >= int64Min && value <= int64Max : Number.isSafeInteger(value);
}
