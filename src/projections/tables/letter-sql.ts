/** What the statements on letters have in common: the queue, a stretch of ids, and a condition. */
import type { Comparison, Condition, Operand } from '../../filter/condition.ts';
import { conditionSql, SqlBuilder, type Dialect } from './condition-sql.ts';
import { letterColumns, letterTable } from './letter-columns.ts';

/** A stretch of ids: behind `after`, up to `until`. */
export type Ids = { readonly after: number; readonly until: number };

export const allIds: Ids = { after: -1, until: Number.MAX_SAFE_INTEGER };

export function letterBuilder(dialect: Dialect): SqlBuilder {
  return new SqlBuilder(dialect, undefined, letterTable);
}

/** `partition`: a placeholder, written before. */
export function whereLetters(builder: SqlBuilder, partition: string, { after, until }: Ids, condition: Condition | undefined): string {
  const terms = [`partition = ${partition}`, `message_id > ${builder.parameter(after)}`, `message_id <= ${builder.parameter(until)}`];
  if (condition !== undefined) terms.push(conditionSql(builder, condition));
  return terms.join(' AND ');
}

/** What is selected of a letter; a number would lose the last of 64 bits, so these are read as text. */
export function selectedLetter(dialect: Dialect): string {
  return letterColumns
    .map(({ name, type }) => {
      if (type !== 'whole') return name;
      return dialect === 'sqlite' ? `CAST(${name} AS TEXT) AS ${name}` : `${name}::text AS ${name}`;
    })
    .join(', ');
}

/** What each letter must meet says of ids: nothing else is walked over. */
export function idsWithin({ after, until }: Ids, condition: Condition | undefined): Ids {
  let within = { after: bounded(after), until: bounded(until) };
  for (const term of requiredTerms(condition)) {
    if (!('column' in term) || term.column.name !== 'MessageId') continue;
    const { low, high } = rangeOf(term);
    within = { after: bounded(Math.max(within.after, Math.ceil(low) - 1)), until: bounded(Math.min(within.until, Math.floor(high))) };
  }
  return within;
}

/** No id is outside. */
function bounded(id: number): number {
  return Math.max(allIds.after, Math.min(allIds.until, id));
}

export function requiredTerms(condition: Condition | undefined): readonly Condition[] {
  if (condition === undefined) return [];
  return condition.kind === 'and' ? condition.conditions : [condition];
}

type Range = { readonly low: number; readonly high: number };

const everything: Range = { low: -Infinity, high: Infinity };

function rangeOf(term: Condition): Range {
  switch (term.kind) {
    case 'compare':
      return rangeOfComparison(term.operator, term.operand);
    case 'between':
      return term.not ? everything : { low: Number(term.low), high: Number(term.high) };
    case 'in': {
      const ids = term.operands.map(Number);
      return term.not ? everything : { low: Math.min(...ids), high: Math.max(...ids) };
    }
    case 'and':
    case 'or':
    case 'not':
    case 'startsWith':
    case 'isNull':
      return everything;
  }
}

/** Roughly, and never too narrow: the condition itself is asked as well. */
function rangeOfComparison(operator: Comparison, operand: Operand): Range {
  const id = Number(operand);
  switch (operator) {
    case '=':
      return { low: id, high: id };
    case '<':
    case '<=':
      return { low: -Infinity, high: id };
    case '>':
    case '>=':
      return { low: id, high: Infinity };
    case '!=':
      return everything;
  }
}
