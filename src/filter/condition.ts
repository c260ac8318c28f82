/**
 * A checked filter: every name is a column, every value of the column's type. What a client may write is `filter/`; what a database makes
 * of it is the adapter's.
 *
 * NULL as in SQL: a comparison with what a row does not have is neither true nor false, and NOT leaves it so; an open run has no close time.
 * But lists and texts are as on Temporal's development server (1.32, where they are `rowid [NOT] IN (…)`): `=` asks whether the value is among
 * the items (of a text: any of its words, `text.ts`), `!=` whether it is not. What a row does not have contains nothing: `!=` and NOT IN are
 * true of it, and `NOT (list = 'x')` too. (On Temporal's PostgreSQL they are not.)
 *
 * Strings compare by the bytes of their UTF-8. Operands that no column can hold (NUL, half a surrogate pair) are taken as `storable` makes
 * them; a run id that is no UUID equals none.
 */

export type ColumnKind = 'keyword' | 'text' | 'int' | 'double' | 'bool' | 'datetime' | 'instant' | 'keywordList';

/** A system column (`WorkflowId`), a predefined attribute (`TemporalChangeVersion`) or a slot (`Keyword07`). */
export type Column = { readonly name: string; readonly kind: ColumnKind };

/**
 * Datetime: ms since 1970, a whole number; the times that the server itself notes are that. Instant: ns since 1970, a bigint; clients may set an
 * attribute to any of the years 0 to 9999. To people both are Datetime. Int: bigint where it is beyond 2^53; a fraction below 2^53 is legal. ExecutionStatus is an int:
 * the number. ExecutionDuration is an int in ms, perhaps with a fraction (clients write ns). Double: finite.
 */
export type Operand = string | number | bigint | boolean;

export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';

export type Condition =
  /** At least one. */
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'not'; readonly condition: Condition }
  | { readonly kind: 'compare'; readonly column: Column; readonly operator: Comparison; readonly operand: Operand }
  /** At least one operand. */
  | { readonly kind: 'in'; readonly column: Column; readonly not: boolean; readonly operands: readonly Operand[] }
  /** `low <= value and value <= high`; nothing where low is above high. */
  | { readonly kind: 'between'; readonly column: Column; readonly not: boolean; readonly low: Operand; readonly high: Operand }
  | { readonly kind: 'startsWith'; readonly column: Column; readonly not: boolean; readonly prefix: string }
  | { readonly kind: 'isNull'; readonly column: Column; readonly not: boolean };
