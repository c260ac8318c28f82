/**
 * From what a query says to what it means: names become columns, values get the types of their columns, and whatever visibility cannot
 * answer is refused, in the order in which Temporal's server looks at a query, so that the first of several faults is the same.
 */
import type { Column, Comparison, Condition } from '../condition.ts';
import { predefinedColumns } from '../columns.ts';
import type { QueryAttributes } from '../query-attributes.ts';
import { between, compare, oneOf } from './conditions.ts';
import { invalid } from './invalid-query.ts';
import { printed, quoted } from './printed.ts';
import { typeName, type QuerySyntax, type Syntax } from './syntax.ts';
import { negated, queryKind, statusName, typeOf, valueOf, written, type Attribute, type Value } from './values.ts';

export type CheckedQuery = {
  readonly condition: Condition | undefined;
  /** GROUP BY ExecutionStatus. */
  readonly byStatus: boolean;
};

const termsMax = 200;

/** Keeps schedules' workflows and the like out of every list that does not ask for them. */
const division = 'TemporalNamespaceDivision';

const comparisons = ['=', '!=', '<', '<=', '>', '>='] as const satisfies readonly Comparison[];

export function checkQuery(query: QuerySyntax, attributes: QueryAttributes): CheckedQuery {
  return new Checker(attributes).query(query);
}

class Checker {
  readonly #attributes: QueryAttributes;
  #terms = 0;
  #namesDivision = false;

  constructor(attributes: QueryAttributes) {
    this.#attributes = attributes;
  }

  query({ where, groupBy, having, orderBy, limit }: QuerySyntax): CheckedQuery {
    if (limit) throw invalid('unsupported', `'LIMIT' clause`);
    const condition = where === undefined ? undefined : this.#condition(where);
    if (groupBy.length > 1) throw invalid('unsupported', `'GROUP BY' clause supports only a single field`);
    for (const by of groupBy) this.#groupBy(by);
    if (having) throw invalid('unsupported', `'HAVING' clause`);
    for (const by of orderBy) this.#orderBy(by);
    if (orderBy.length > 0) throw invalid('unsupported', `'ORDER BY' clause`);
    return { condition: this.#withDivision(condition), byStatus: groupBy.length > 0 };
  }

  #groupBy(by: Syntax): void {
    const { alias, column } = this.#attribute(by);
    if (column.name === 'ExecutionStatus') return;
    throw invalid('unsupported', `'GROUP BY' clause is not supported for search attribute ${alias}`);
  }

  #orderBy(by: Syntax): void {
    const attribute = this.#attribute(by);
    if (attribute.column.kind === 'text') throw invalid('unsupported', `unable to sort by search attribute type ${typeOf(attribute)}`);
  }

  #withDivision(condition: Condition | undefined): Condition | undefined {
    const column = predefinedColumns.get(division);
    if (this.#namesDivision || column === undefined) return condition;
    const none: Condition = { kind: 'isNull', column, not: false };
    if (condition === undefined) return none;
    return { kind: 'and', conditions: condition.kind === 'and' ? [...condition.conditions, none] : [condition, none] };
  }

  #condition(syntax: Syntax): Condition {
    switch (syntax.kind) {
      case 'parenthesis':
        return this.#condition(syntax.inner);
      case 'not':
        return { kind: 'not', condition: this.#condition(syntax.operand) };
      case 'and':
      case 'or':
        return { kind: syntax.kind, conditions: syntax.terms.map((term) => this.#condition(term)) };
      case 'comparison':
        this.#countTerm();
        return this.#comparison(syntax);
      case 'range':
        this.#countTerm();
        return this.#range(syntax);
      case 'is':
        this.#countTerm();
        return this.#isNull(syntax);
      case 'call':
        throw invalid('unsupported', 'function expression');
      case 'name':
        throw invalid('expression', 'incomplete expression');
      case 'literal':
      case 'null':
      case 'boolean':
      case 'tuple':
      case 'unary':
      case 'binary':
      case 'listParameter':
      case 'subquery':
      case 'exists':
        throw invalid('unsupported', `expression of type ${typeName(syntax)}`);
    }
  }

  #countTerm(): void {
    this.#terms++;
    if (this.#terms > termsMax) throw invalid('unsupported', `more than ${termsMax} conditions`);
  }

  #comparison({ operator, left, right }: Syntax & { kind: 'comparison' }): Condition {
    const attribute = this.#attribute(left);
    const values = right.kind === 'tuple' ? right.items.map((item) => this.#value(attribute, item)) : [this.#value(attribute, right)];
    if (!isSupported(operator, attribute.column)) {
      const what = `operator '${operator.toUpperCase()}' not supported for ${typeOf(attribute)} type search attribute '${attribute.alias}'`;
      throw invalid('unsupported', what);
    }
    const { column } = attribute;
    if (operator === 'in' || operator === 'not in') return oneOf(column, operator === 'not in', values);
    const [value] = values;
    // Temporal's server hands a list behind another operator to its database, which fails.
    if (value === undefined || right.kind === 'tuple') throw invalid('expression', `unexpected value type ${typeName(right)}`);
    const comparison = comparisons.find((known) => known === operator);
    return comparison === undefined ? startsWith(column, operator, value, right) : compare(column, comparison, value);
  }

  #range({ not, left, low, high }: Syntax & { kind: 'range' }): Condition {
    const attribute = this.#attribute(left);
    if (!hasRanges(attribute.column)) {
      const what = `cannot do range condition on search attribute '${attribute.alias}' of type ${typeOf(attribute)}`;
      throw invalid('expression', what);
    }
    const from = this.#value(attribute, low);
    return between(attribute.column, not, from, this.#value(attribute, high));
  }

  #isNull({ suffix, operand }: Syntax & { kind: 'is' }): Condition {
    const { column } = this.#attribute(operand);
    if (suffix === 'null' || suffix === 'not null') return { kind: 'isNull', column, not: suffix === 'not null' };
    throw invalid('expression', `'IS' operator can only be used as 'IS NULL' or 'IS NOT NULL'`);
  }

  #attribute(syntax: Syntax): Attribute {
    if (syntax.kind !== 'name') throw invalid('expression', `must be a column name but was ${typeName(syntax)}`);
    const alias = syntax.parts.join('.').replaceAll('`', '');
    const found = this.#attributes(alias);
    if (found === undefined) throw invalid('attribute', alias);
    if (found.column.name === division) this.#namesDivision = true;
    return { alias, column: found.column };
  }

  #value(attribute: Attribute, syntax: Syntax): Value {
    switch (syntax.kind) {
      case 'literal':
        return valueOf(attribute, written(syntax));
      case 'boolean':
        return valueOf(attribute, { type: 'bool', value: syntax.value });
      case 'unary':
        return signedValue(attribute, syntax);
      case 'call':
        throw invalid('unsupported', syntax.name.toLowerCase() === 'group_concat' ? `'group_concat'` : 'nested func');
      case 'name': {
        const hint = `did you forget to quote ${quoted(printed(syntax))}?`;
        throw invalid('unsupported', `column name on the right side of comparison expression (${hint})`);
      }
      case 'null':
      case 'parenthesis':
      case 'tuple':
      case 'binary':
      case 'listParameter':
      case 'subquery':
      case 'exists':
      case 'and':
      case 'or':
      case 'not':
      case 'comparison':
      case 'range':
      case 'is':
        throw invalid('expression', `unexpected value type ${typeName(syntax)}`);
    }
  }
}

/** Of integers the parser has taken the sign already. */
function signedValue(attribute: Attribute, syntax: Syntax & { kind: 'unary' }): Value {
  const { operator, operand } = syntax;
  if (operator !== '-' && operator !== '+') throw invalid('unsupported', `unary operator ${quoted(operator)}`);
  if (operand.kind !== 'literal' || operand.type === 'string') {
    throw invalid('expression', `unary operator not supported in ${quoted(printed(syntax))}`);
  }
  const number = written(operand);
  const value = valueOf(attribute, number);
  return operator === '-' ? valueOf(attribute, negated(number)) : value;
}

function isSupported(operator: string, column: Column): boolean {
  switch (queryKind(column)) {
    case 'keyword':
      return !['<=>', 'like', 'not like', 'regexp', 'not regexp'].includes(operator);
    case 'keywordList':
      return ['=', '!=', 'in', 'not in'].includes(operator);
    case 'text':
      return ['=', '!='].includes(operator);
    case 'int':
    case 'double':
    case 'bool':
    case 'datetime':
      return operator === 'in' || operator === 'not in' || comparisons.some((known) => known === operator);
  }
}

function hasRanges(column: Column): boolean {
  return ['datetime', 'double', 'int', 'keyword'].includes(queryKind(column));
}

function startsWith(column: Column, operator: string, value: Value, right: Syntax): Condition {
  if (value.kind === 'text') return { kind: 'startsWith', column, not: operator.startsWith('not'), prefix: value.text };
  const isNumber = right.kind !== 'literal' || right.type !== 'string';
  const got = isNumber && value.kind === 'whole' ? statusName(value.floor) : right.kind === 'literal' ? right.text : printed(right);
  throw invalid('expression', `right-hand side of ${quoted(operator)} operator must be a literal string (got: ${got})`);
}
