/** A condition as a query that means it. */
import { unreachable } from '../../../../src/kernel/assert.ts';
import type { Column, Condition, Operand } from '../../../../src/filter/condition.ts';
import { askedAttributes, askedTypes } from './asked-queries.ts';

const aliases = new Map([...askedTypes.keys()].map((alias) => [askedAttributes(alias)?.column.name ?? '', alias]));

/** Each inside parentheses, so that it keeps its place. */
export function printedCondition(condition: Condition): string {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.conditions.map((inner) => `(${printedCondition(inner)})`).join(` ${condition.kind} `);
    case 'not':
      return `NOT (${printedCondition(condition.condition)})`;
    case 'compare':
      return `${name(condition.column)} ${condition.operator} ${value(condition.column, condition.operand)}`;
    case 'in': {
      const list = condition.operands.map((operand) => value(condition.column, operand)).join(', ');
      return `${name(condition.column)} ${not(condition)}IN (${list})`;
    }
    case 'between': {
      const range = `${value(condition.column, condition.low)} AND ${value(condition.column, condition.high)}`;
      return `${name(condition.column)} ${not(condition)}BETWEEN ${range}`;
    }
    case 'startsWith':
      return `${name(condition.column)} ${not(condition)}STARTS_WITH ${value(condition.column, condition.prefix)}`;
    case 'isNull':
      return `${name(condition.column)} IS ${not(condition)}NULL`;
    default:
      return unreachable(condition);
  }
}

function not(condition: { readonly not: boolean }): string {
  return condition.not ? 'NOT ' : '';
}

function name(column: Column): string {
  return `\`${aliases.get(column.name) ?? column.name}\``;
}

function value(column: Column, operand: Operand): string {
  if (typeof operand === 'string') return `'${operand.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
  if (column.kind === 'datetime') return `'${new Date(Number(operand)).toISOString()}'`;
  if (column.kind === 'instant') return `'${printedInstant(BigInt(operand))}'`;
  if (column.name === 'ExecutionDuration') return String(BigInt(operand) * 1_000_000n);
  return Object.is(operand, -0) ? '0' : String(operand);
}

function printedInstant(nanoseconds: bigint): string {
  const part = ((nanoseconds % 1_000_000n) + 1_000_000n) % 1_000_000n;
  return new Date(Number((nanoseconds - part) / 1_000_000n)).toISOString().replace('Z', `${String(part).padStart(6, '0')}Z`);
}
