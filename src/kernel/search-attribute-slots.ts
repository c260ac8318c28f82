/** Columns for custom search attributes, as many of a type for all namespaces together: made with the tables, which never change while served. */
import { searchAttributeTypeName } from './indexed-value-types.ts';

/** How many slots each type has, in this order: Text, Keyword, Int, Double, Bool, Datetime, KeywordList. */
const slotsOfTypes = [6, 20, 6, 6, 6, 6, 6];

/** Slots by `temporal.api.enums.v1.IndexedValueType`: `Keyword01` … `Keyword20`. None is ever taken away: rows are kept in them. */
export const searchAttributeSlots: ReadonlyMap<number, readonly string[]> = new Map(
  slotsOfTypes.map((slots, index) => [index + 1, Array.from({ length: slots }, (_, slot) => slotName(index + 1, slot + 1))]),
);

function slotName(type: number, slot: number): string {
  return `${searchAttributeTypeName(type)}${String(slot).padStart(2, '0')}`;
}
