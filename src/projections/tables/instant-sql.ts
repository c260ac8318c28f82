/**
 * Instants in SQL. 64 bits have no room for the nanoseconds of the years 0 to 9999. So the column of an attribute has whole milliseconds, and its
 * index goes by these; a second column has what is beyond them, 0 to 999,999 ns, and NULL for 0.
 *
 * Each comparison begins with one of milliseconds, which the index serves; the second column is read where that does not decide.
 */
import { unreachable } from '../../kernel/assert.ts';
import { nsPerMs, splitInstant } from '../../kernel/instant.ts';
import type { Column, Comparison, Condition, Operand } from '../../filter/condition.ts';

export function partColumn(name: string): string {
  return `${name}_ns`;
}

export function nanosecondsOf(operand: Operand): bigint {
  return BigInt(operand);
}

/** NULL, and not 0, of a row without that attribute: what is asked of it is unknown. */
function partSql(name: string): string {
  return `coalesce(${partColumn(name)}, ${name} * 0)`;
}

type Put = (value: bigint) => string;

export function comparedInstantSql(name: string, operator: Comparison, nanoseconds: bigint, put: Put): string {
  const { ms, part } = splitInstant(nanoseconds);
  if (operator === '=') return `(${name} = ${put(ms)} AND ${partSql(name)} = ${put(part)})`;
  if (operator === '!=') return `(${name} <> ${put(ms)} OR ${partSql(name)} <> ${put(part)})`;
  if (part === decidedBy[operator]) return `(${name} ${operator} ${put(ms)})`;
  const [sign] = operator;
  return `(${name} ${sign}= ${put(ms)} AND (${name} ${sign} ${put(ms)} OR ${partSql(name)} ${operator} ${put(part)}))`;
}

/** The part of an operand with which the milliseconds alone decide. */
const decidedBy = { '<': 0n, '>=': 0n, '<=': nsPerMs - 1n, '>': nsPerMs - 1n } as const;

export function instantInSql(dialect: 'sqlite' | 'postgres', name: string, nanoseconds: readonly bigint[], put: Put): string {
  const instants = nanoseconds.map(splitInstant);
  const milliseconds = instants.map(({ ms }) => put(ms)).join(', ');
  const pairs = instants.map(({ ms, part }) => `(${put(ms)}, ${put(part)})`).join(', ');
  const list = dialect === 'sqlite' ? `VALUES ${pairs}` : pairs;
  return `(${name} IN (${milliseconds}) AND (${name}, ${partSql(name)}) IN (${list}))`;
}

type ColumnCondition = Extract<Condition, { readonly column: Column }>;

/** What an index alone says of a condition (`isFindable`): of instants their milliseconds, of any other column the condition itself. */
export function indexedPart(condition: ColumnCondition): ColumnCondition {
  if (condition.column.kind !== 'instant') return condition;
  const column: Column = { name: condition.column.name, kind: 'int' };
  const msOf = (operand: Operand): bigint => splitInstant(nanosecondsOf(operand)).ms;
  switch (condition.kind) {
    case 'compare': {
      const { operator, operand } = condition;
      const isStrict = operator === '<' || operator === '>';
      const isDecided = isStrict && splitInstant(nanosecondsOf(operand)).part === decidedBy[operator];
      return { ...condition, column, operator: isStrict && !isDecided ? `${operator}=` : operator, operand: msOf(operand) };
    }
    case 'in':
      return { ...condition, column, operands: condition.operands.map(msOf) };
    case 'between':
      return { ...condition, column, low: msOf(condition.low), high: msOf(condition.high) };
    case 'startsWith':
    case 'isNull':
      return { ...condition, column };
    default:
      return unreachable(condition);
  }
}
