/** What a client writes to List, Count and Scan, as a condition on rows. Language and texts are Temporal's; all of it is bounded. */
import { Checker, type Attributes } from '../../../filter/checker.ts';
import type { Condition } from '../../../filter/condition.ts';
import { fault, FilterFault } from '../../../filter/fault.ts';
import { parseSyntax } from '../../../filter/parser.ts';
import type { QuerySyntax, Syntax } from '../../../filter/syntax.ts';
import { typeOf } from '../../../filter/values.ts';
import { utf8Bytes } from '../../../kernel/utf8.ts';
import { columnNamed, type QueryAttributes } from '../columns.ts';
import { NotOfSchedules, openSchedules, scheduleAttributes } from './of-schedules.ts';
import { specialValues } from './special-values.ts';

/** A query that is longer is refused before it is read. */
const queryBytesMax = 8 * 1024;

export type CheckedQuery = {
  readonly condition: Condition | undefined;
  /** GROUP BY ExecutionStatus. */
  readonly byStatus: boolean;
};

export type ParsedQuery =
  | ({ readonly kind: 'query' } & CheckedQuery)
  /** `message`: for INVALID_ARGUMENT. */
  | { readonly kind: 'invalid'; readonly message: string };

/** What a list is of; no other rows are in it. */
export type Listed = 'workflows' | 'schedules';

export function parseQuery(text: string, attributes: QueryAttributes, listed: Listed = 'workflows'): ParsedQuery {
  try {
    if (utf8Bytes(text) > queryBytesMax) throw unsupported(`more than ${queryBytesMax} bytes`);
    return { kind: 'query', ...checked(parseSyntax(text.trim()), attributes, listed) };
  } catch (error) {
    if (error instanceof NotOfSchedules) return { kind: 'invalid', message: error.message };
    if (error instanceof FilterFault) return { kind: 'invalid', message: `invalid query: ${error.message}` };
    throw error;
  }
}

/** Keeps schedules' workflows and the like out of every list that does not ask for them. */
const division = 'TemporalNamespaceDivision';

/** Faults are looked for in the order of Temporal's server. */
function checked({ where, groupBy, having, orderBy, limit }: QuerySyntax, attributes: QueryAttributes, listed: Listed): CheckedQuery {
  if (limit) throw unsupported(`'LIMIT' clause`);
  let namesDivision = false;
  const named: Attributes = (name) => {
    const found = attributes(name);
    if (found === undefined) return undefined;
    if (found.column.name === division) namesDivision = true;
    return { ...specialValues.get(found.column.name), column: found.column };
  };
  const checker = new Checker(listed === 'schedules' ? scheduleAttributes(named) : named);
  const condition = where === undefined ? undefined : checker.condition(where);
  if (groupBy.length > 1) throw unsupported(`'GROUP BY' clause supports only a single field`);
  for (const by of groupBy) checkGroupBy(checker, by);
  if (having) throw unsupported(`'HAVING' clause`);
  for (const by of orderBy) checkOrderBy(checker, by);
  if (orderBy.length > 0) throw unsupported(`'ORDER BY' clause`);
  const byStatus = groupBy.length > 0;
  if (listed === 'schedules') return { condition: openSchedules(condition), byStatus };
  return { condition: namesDivision ? condition : withoutDivision(condition), byStatus };
}

function checkGroupBy(checker: Checker, by: Syntax): void {
  const { alias, column } = checker.attribute(by);
  if (column.name !== 'ExecutionStatus') throw unsupported(`'GROUP BY' clause is not supported for search attribute ${alias}`);
}

function checkOrderBy(checker: Checker, by: Syntax): void {
  const attribute = checker.attribute(by);
  if (attribute.column.kind === 'text') throw unsupported(`unable to sort by search attribute type ${typeOf(attribute)}`);
}

function withoutDivision(condition: Condition | undefined): Condition | undefined {
  const none: Condition = { kind: 'isNull', column: columnNamed(division), not: false };
  if (condition === undefined) return none;
  return { kind: 'and', conditions: condition.kind === 'and' ? [...condition.conditions, none] : [condition, none] };
}

/** A fault of a query as a whole: Temporal's texts have no place for it. */
function unsupported(what: string): FilterFault {
  return fault('unsupported', what, 0, '');
}
