/** Comparisons of a column with values that were written, as conditions on what a row has. */
import { int64Max, int64Min } from '../kernel/int64.ts';
import type { Column, Comparison, Condition, Operand } from './condition.ts';
import type { Value } from './values.ts';

/** Before every date that a row can have. */
const dateMsMin = -8_640_000_000_000_000;

/** False for whatever a row has there, unknown where it has nothing; `always`: true. */
function never(column: Column): Condition {
  return { kind: 'compare', column, operator: '<', operand: lowest(column) };
}

function always(column: Column): Condition {
  return { kind: 'compare', column, operator: '>=', operand: lowest(column) };
}

function lowest({ kind }: Column): Operand {
  return kind === 'datetime' ? dateMsMin : int64Min;
}

export function compare(column: Column, operator: Comparison, value: Value): Condition {
  if (value.kind !== 'whole') return { kind: 'compare', column, operator, operand: plainOperand(value) };
  if (!value.exact && operator === '=') return never(column);
  if (!value.exact && operator === '!=') return always(column);
  const bound = operator === '<' || operator === '>=' ? ceiling(value) : value.floor;
  if (bound >= int64Min && bound <= int64Max) return { kind: 'compare', column, operator, operand: wholeOperand(bound) };
  const isMet = operator === '!=' || (bound > 0n ? operator.startsWith('<') : operator.startsWith('>'));
  return isMet ? always(column) : never(column);
}

export function oneOf(column: Column, not: boolean, values: readonly Value[]): Condition {
  const operands = values.flatMap((value) => {
    if (value.kind !== 'whole') return [plainOperand(value)];
    return value.exact && value.floor >= int64Min && value.floor <= int64Max ? [wholeOperand(value.floor)] : [];
  });
  if (operands.length > 0) return { kind: 'in', column, not, operands };
  return not ? always(column) : never(column);
}

export function between(column: Column, not: boolean, from: Value, to: Value): Condition {
  if (from.kind !== 'whole' || to.kind !== 'whole')
    return { kind: 'between', column, not, low: plainOperand(from), high: plainOperand(to) };
  const low = ceiling(from);
  const high = to.floor;
  if (low > int64Max || high < int64Min || low > high) return not ? always(column) : never(column);
  const bounds = { low: wholeOperand(low < int64Min ? int64Min : low), high: wholeOperand(high > int64Max ? int64Max : high) };
  return { kind: 'between', column, not, ...bounds };
}

function ceiling({ floor, exact }: Value & { kind: 'whole' }): bigint {
  return exact ? floor : floor + 1n;
}

function wholeOperand(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function plainOperand(value: Value): Operand {
  switch (value.kind) {
    case 'text':
      return value.text;
    case 'bool':
    case 'double':
      return value.value;
    case 'whole':
      return wholeOperand(value.floor);
    case 'instant':
      return value.nanoseconds;
  }
}
