/** What a query says, before anybody knows what its names mean. Each part knows where it stands. */

/** Where its text begins, in UTF-16 units from 0. */
type Placed = { readonly at: number };

export type Literal = Placed & {
  readonly kind: 'literal';
  readonly type: 'string' | 'integer' | 'float' | 'hexNumber' | 'hex' | 'bits' | 'parameter';
  /** The content of a string; the digits of a number, and of an integer its sign. */
  readonly text: string;
};

export type Syntax = Literal | (Placed & Composed);

/** `operatorAt`: where its operator begins. */
type Composed =
  | { readonly kind: 'null' }
  | { readonly kind: 'boolean'; readonly value: boolean }
  /** A name with its qualifiers: `a.b` is one with a dot. */
  | { readonly kind: 'name'; readonly parts: readonly string[] }
  | { readonly kind: 'parenthesis'; readonly inner: Syntax }
  | { readonly kind: 'tuple'; readonly items: readonly Syntax[] }
  | { readonly kind: 'unary'; readonly operator: string; readonly operand: Syntax }
  | { readonly kind: 'binary'; readonly operator: string; readonly left: Syntax; readonly right: Syntax }
  | { readonly kind: 'call'; readonly name: string }
  | { readonly kind: 'listParameter' | 'subquery' | 'exists' }
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Syntax[] }
  | { readonly kind: 'not'; readonly operand: Syntax }
  | { readonly kind: 'comparison'; readonly operator: string; readonly operatorAt: number; readonly left: Syntax; readonly right: Syntax }
  | {
      readonly kind: 'range';
      readonly not: boolean;
      readonly operatorAt: number;
      readonly left: Syntax;
      readonly low: Syntax;
      readonly high: Syntax;
    }
  /** `suffix`: `null`, `not null`, `true` … */
  | { readonly kind: 'is'; readonly suffix: string; readonly operatorAt: number; readonly operand: Syntax };

export type QuerySyntax = {
  readonly where: Syntax | undefined;
  readonly groupBy: readonly Syntax[];
  readonly having: boolean;
  readonly orderBy: readonly Syntax[];
  readonly limit: boolean;
  /** Where the first of these clauses begins; undefined: there are none. */
  readonly clausesAt: number | undefined;
};

/** How Temporal's messages call it: its parser's types. */
const typeNames: Readonly<Record<Syntax['kind'], string>> = {
  literal: '*sqlparser.SQLVal',
  null: '*sqlparser.NullVal',
  boolean: 'sqlparser.BoolVal',
  name: '*sqlparser.ColName',
  parenthesis: '*sqlparser.ParenExpr',
  tuple: 'sqlparser.ValTuple',
  unary: '*sqlparser.UnaryExpr',
  binary: '*sqlparser.BinaryExpr',
  call: '*sqlparser.FuncExpr',
  listParameter: 'sqlparser.ListArg',
  subquery: '*sqlparser.Subquery',
  exists: '*sqlparser.ExistsExpr',
  and: '*sqlparser.AndExpr',
  or: '*sqlparser.OrExpr',
  not: '*sqlparser.NotExpr',
  comparison: '*sqlparser.ComparisonExpr',
  range: '*sqlparser.RangeCond',
  is: '*sqlparser.IsExpr',
};

export function typeName({ kind }: Syntax): string {
  return typeNames[kind];
}
