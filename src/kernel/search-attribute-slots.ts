/**
 * The columns in which a database keeps custom search attributes. There is a fixed number for each type, made with the tables: an attribute
 * that is added takes one, and no table changes while somebody serves.
 *
 * What a namespace may define follows from it: those of its own and those of every namespace together.
 */
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
