/**
 * A checked filter: every name is a column, every value of the column's type. What a client may write is `filter/`; what a database makes
 * of it is the adapter's.
 *
 * NULL as in SQL: a comparison with what a row does not have is neither true nor false, and NOT leaves it so.
 */

export type ColumnKind = 'keyword' | 'text' | 'int' | 'double' | 'bool' | 'datetime' | 'keywordList';

/** A system column (`WorkflowId`), a predefined attribute (`TemporalChangeVersion`) or a slot (`Keyword07`). */
export type Column = { readonly name: string; readonly kind: ColumnKind };

/** Datetime: ms since 1970, a whole number. Int: bigint where it is beyond 2^53. */
export type Operand = string | number | bigint | boolean;

export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';

export type Condition =
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'not'; readonly condition: Condition }
  | { readonly kind: 'compare'; readonly column: Column; readonly operator: Comparison; readonly operand: Operand }
  | { readonly kind: 'in'; readonly column: Column; readonly not: boolean; readonly operands: readonly Operand[] }
  | { readonly kind: 'between'; readonly column: Column; readonly not: boolean; readonly low: Operand; readonly high: Operand }
  | { readonly kind: 'startsWith'; readonly column: Column; readonly not: boolean; readonly prefix: string }
  | { readonly kind: 'isNull'; readonly column: Column; readonly not: boolean };
