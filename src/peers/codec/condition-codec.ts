/** A condition on rows of dead letters, as bytes: a list of its terms, for filters nest deeper than messages may. */
import type { Column, ColumnKind, Comparison, Condition, Operand } from '../../filter/condition.ts';
import * as wire from '../../wire/generated/peer/condition.ts';
import { unreachable } from '../../kernel/assert.ts';
import { WireError } from '../../wire/wire-error.ts';
import { bigintOf, wordOf } from './union-codec.ts';
import { type Words, words } from '../../kernel/words.ts';

export function conditionToWire(condition: Condition): wire.Condition {
  return { terms: termsOf(condition) };
}

const noTerm = wire.emptyConditionTerm();

function termsOf(condition: Condition): readonly wire.ConditionTerm[] {
  const { kind } = condition;
  switch (kind) {
    case 'and':
    case 'or':
      return [{ ...noTerm, kind, conditions: condition.conditions.length }, ...condition.conditions.flatMap(termsOf)];
    case 'not':
      return [{ ...noTerm, kind, conditions: 1 }, ...termsOf(condition.condition)];
    case 'compare':
      return [{ ...noTerm, ...condition, operands: [operandToWire(condition.operand)] }];
    case 'in':
      return [{ ...noTerm, ...condition, operands: condition.operands.map(operandToWire) }];
    case 'between':
      return [{ ...noTerm, ...condition, operands: [condition.low, condition.high].map(operandToWire) }];
    case 'startsWith':
      return [{ ...noTerm, ...condition, operands: [operandToWire(condition.prefix)] }];
    case 'isNull':
      return [{ ...noTerm, ...condition }];
    default:
      return unreachable(kind);
  }
}

const noOperand = wire.emptyConditionOperand();

function operandToWire(operand: Operand): wire.ConditionOperand {
  switch (typeof operand) {
    case 'string':
      return { ...noOperand, text: operand };
    case 'number':
      return { ...noOperand, number: operand };
    case 'bigint':
      return { ...noOperand, whole: String(operand) };
    default:
      return { ...noOperand, flag: operand };
  }
}

/** Throws WireError. */
export function conditionFromWire({ terms }: wire.Condition): Condition {
  const rest = terms[Symbol.iterator]();
  const condition = nextCondition(rest);
  if (rest.next().done !== true) throw new WireError('Condition.terms has more than one condition');
  return condition;
}

const kinds: Words<Condition['kind']> = words('and or not compare in between startsWith isNull');
const comparisons: Words<Comparison> = words('= != < <= > >=');

function nextCondition(rest: Iterator<wire.ConditionTerm, undefined>): Condition {
  const term = rest.next().value ?? missing('terms');
  const { not } = term;
  const kind = wordOf(kinds, term.kind, 'ConditionTerm.kind');
  switch (kind) {
    case 'and':
    case 'or': {
      const conditions: Condition[] = [];
      while (conditions.length < term.conditions) conditions.push(nextCondition(rest));
      return { kind, conditions };
    }
    case 'not':
      return { kind, condition: nextCondition(rest) };
    case 'compare':
      return {
        kind,
        column: columnOf(term),
        operator: wordOf(comparisons, term.operator, 'ConditionTerm.operator'),
        operand: operandAt(term, 0),
      };
    case 'in':
      return { kind, column: columnOf(term), not, operands: term.operands.map(operandFromWire) };
    case 'between':
      return { kind, column: columnOf(term), not, low: operandAt(term, 0), high: operandAt(term, 1) };
    case 'startsWith':
      return { kind, column: columnOf(term), not, prefix: term.operands[0]?.text ?? missing('operands') };
    case 'isNull':
      return { kind, column: columnOf(term), not };
    default:
      return unreachable(kind);
  }
}

const columnKinds: Words<ColumnKind> = words('keyword text int double bool datetime instant keywordList');

function columnOf({ column = missing('column') }: wire.ConditionTerm): Column {
  return { name: column.name, kind: wordOf(columnKinds, column.kind, 'ConditionColumn.kind') };
}

function operandAt({ operands }: wire.ConditionTerm, at: number): Operand {
  return operandFromWire(operands[at] ?? missing('operands'));
}

function operandFromWire({ text, number, whole, flag }: wire.ConditionOperand): Operand {
  return text ?? number ?? (whole === undefined ? undefined : bigintOf(whole)) ?? flag ?? missing('operands');
}

function missing(field: string): never {
  throw new WireError(`ConditionTerm.${field} is missing`);
}
