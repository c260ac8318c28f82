/**
 * From what a query says to what it means: names become columns, values get the types of their columns, and whatever rows cannot answer is
 * refused, in the order in which Temporal's server looks at a query, so that the first of several faults is the same.
 */
import type { ColumnKind, Comparison, Condition } from './condition.ts';
import { between, compare, oneOf } from './conditions.ts';
import { fault } from './fault.ts';
import { printed, quoted } from './printed.ts';
import { typeName, type Syntax } from './syntax.ts';
import { kindOf, negated, typeOf, valueOf, written, type Attribute, type Value } from './values.ts';

/** What a name in a query means; undefined: nothing. */
export type Attributes = (name: string) => Omit<Attribute, 'alias'> | undefined;

const termsMax = 200;

const comparison = 'a comparison';
const ordered = '=, !=, <, <=, >, >=, IN, NOT IN, BETWEEN or IS NULL';
const supportedBy: Readonly<Record<ColumnKind, string>> = {
  keyword: '=, !=, <, <=, >, >=, IN, NOT IN, BETWEEN, STARTS_WITH or IS NULL',
  keywordList: '=, !=, IN, NOT IN or IS NULL',
  text: '=, != or IS NULL',
  bool: '=, !=, <, <=, >, >=, IN, NOT IN or IS NULL',
  int: ordered,
  double: ordered,
  datetime: ordered,
  instant: ordered,
};

const comparisons = ['=', '!=', '<', '<=', '>', '>='] as const satisfies readonly Comparison[];

/** One for each query. Throws FilterFault. */
export class Checker {
  readonly #attributes: Attributes;
  readonly #names: string;
  #terms = 0;

  /** `names`: those that mean something, for people. */
  constructor(attributes: Attributes, names = 'a name that is known') {
    this.#attributes = attributes;
    this.#names = names;
  }

  condition(syntax: Syntax): Condition {
    switch (syntax.kind) {
      case 'parenthesis':
        return this.condition(syntax.inner);
      case 'not':
        return { kind: 'not', condition: this.condition(syntax.operand) };
      case 'and':
      case 'or':
        return { kind: syntax.kind, conditions: syntax.terms.map((term) => this.condition(term)) };
      case 'comparison':
        this.#countTerm(syntax);
        return this.#comparison(syntax);
      case 'range':
        this.#countTerm(syntax);
        return this.#range(syntax);
      case 'is':
        this.#countTerm(syntax);
        return this.#isNull(syntax);
      case 'call':
        throw fault('unsupported', 'function expression', syntax.at, comparison);
      case 'name':
        throw fault('expression', 'incomplete expression', syntax.at, `${comparison}, not a name alone`);
      case 'literal':
      case 'null':
      case 'boolean':
      case 'tuple':
      case 'unary':
      case 'binary':
      case 'listParameter':
      case 'subquery':
      case 'exists':
        throw fault('unsupported', `expression of type ${typeName(syntax)}`, syntax.at, comparison);
    }
  }

  #countTerm({ at }: Syntax): void {
    this.#terms++;
    if (this.#terms > termsMax) throw fault('unsupported', `more than ${termsMax} conditions`, at, `at most ${termsMax} conditions`);
  }

  #comparison({ operator, operatorAt, left, right }: Syntax & { kind: 'comparison' }): Condition {
    const attribute = this.attribute(left);
    const values = right.kind === 'tuple' ? right.items.map((item) => this.#value(attribute, item)) : [this.#value(attribute, right)];
    if (!isSupported(operator, attribute)) {
      const what = `operator '${operator.toUpperCase()}' not supported for ${typeOf(attribute)} type search attribute '${attribute.alias}'`;
      throw fault('unsupported', what, operatorAt, supportedBy[kindOf(attribute)]);
    }
    const { column } = attribute;
    if (operator === 'in' || operator === 'not in') return oneOf(column, operator === 'not in', values);
    const [value] = values;
    // Temporal's server hands a list behind another operator to its database, which fails.
    if (value === undefined || right.kind === 'tuple')
      throw fault('expression', `unexpected value type ${typeName(right)}`, right.at, 'one value');
    const comparison = comparisons.find((known) => known === operator);
    return comparison === undefined ? startsWith(attribute, operator, value, right) : compare(column, comparison, value);
  }

  #range({ not, operatorAt, left, low, high }: Syntax & { kind: 'range' }): Condition {
    const attribute = this.attribute(left);
    if (!hasRanges(attribute)) {
      const what = `cannot do range condition on search attribute '${attribute.alias}' of type ${typeOf(attribute)}`;
      throw fault('expression', what, operatorAt, supportedBy[kindOf(attribute)]);
    }
    const from = this.#value(attribute, low);
    return between(attribute.column, not, from, this.#value(attribute, high));
  }

  #isNull({ suffix, operatorAt, operand }: Syntax & { kind: 'is' }): Condition {
    const { column } = this.attribute(operand);
    if (suffix === 'null' || suffix === 'not null') return { kind: 'isNull', column, not: suffix === 'not null' };
    throw fault('expression', `'IS' operator can only be used as 'IS NULL' or 'IS NOT NULL'`, operatorAt, 'IS NULL or IS NOT NULL');
  }

  attribute(syntax: Syntax): Attribute {
    if (syntax.kind !== 'name') throw fault('expression', `must be a column name but was ${typeName(syntax)}`, syntax.at, 'a name');
    const alias = syntax.parts.join('.').replaceAll('`', '');
    const found = this.#attributes(alias);
    if (found === undefined) throw fault('attribute', alias, syntax.at, this.#names);
    return { alias, ...found };
  }

  #value(attribute: Attribute, syntax: Syntax): Value {
    switch (syntax.kind) {
      case 'literal':
        return valueOf(attribute, written(syntax), syntax.at);
      case 'boolean':
        return valueOf(attribute, { type: 'bool', value: syntax.value }, syntax.at);
      case 'unary':
        return signedValue(attribute, syntax);
      case 'call':
        throw fault('unsupported', syntax.name.toLowerCase() === 'group_concat' ? `'group_concat'` : 'nested func', syntax.at, 'a value');
      case 'name': {
        const what = `column name on the right side of comparison expression (did you forget to quote ${quoted(printed(syntax))}?)`;
        throw fault('unsupported', what, syntax.at, 'a value; texts stand in quotes');
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
        throw fault('expression', `unexpected value type ${typeName(syntax)}`, syntax.at, 'a value');
    }
  }
}

/** A value with a sign; the parser has taken that of integers already. */
function signedValue(attribute: Attribute, syntax: Syntax & { kind: 'unary' }): Value {
  const { operator, operand, at } = syntax;
  if (operator !== '-' && operator !== '+') throw fault('unsupported', `unary operator ${quoted(operator)}`, at, 'a value');
  if (operand.kind !== 'literal' || operand.type === 'string') {
    throw fault('expression', `unary operator not supported in ${quoted(printed(syntax))}`, at, 'a value');
  }
  const number = written(operand);
  const value = valueOf(attribute, number, at);
  return operator === '-' ? valueOf(attribute, negated(number), at) : value;
}

function isSupported(operator: string, attribute: Attribute): boolean {
  switch (kindOf(attribute)) {
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
    case 'instant':
      return operator === 'in' || operator === 'not in' || comparisons.some((known) => known === operator);
  }
}

function hasRanges(attribute: Attribute): boolean {
  return ['datetime', 'instant', 'double', 'int', 'keyword'].includes(kindOf(attribute));
}

function startsWith({ column, special }: Attribute, operator: string, value: Value, right: Syntax): Condition {
  if (value.kind === 'text') return { kind: 'startsWith', column, not: operator.startsWith('not'), prefix: value.text };
  const isNumber = right.kind !== 'literal' || right.type !== 'string';
  const got =
    isNumber && value.kind === 'whole' && special !== undefined
      ? special.nameOf(value.floor)
      : right.kind === 'literal'
        ? right.text
        : printed(right);
  const what = `right-hand side of ${quoted(operator)} operator must be a literal string (got: ${got})`;
  throw fault('expression', what, right.at, 'a text in quotes');
}
