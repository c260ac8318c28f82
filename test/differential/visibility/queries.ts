/** Random filters of List and Count: right ones over what a data set has, and such with words exchanged, left out and doubled. */
import type { Prng } from '../../simulation/prng.ts';
import { taskQueuesOf, values, type Workflow } from './workflows.ts';

export type Asked =
  /** All rows; the count; the counts by status. */
  | { readonly kind: 'list' | 'count'; readonly query: string }
  | { readonly kind: 'pages'; readonly query: string; readonly size: number }
  /** Whether the query is taken: it may reach beyond the data set. */
  | { readonly kind: 'taken'; readonly query: string }
  /** Of the public API's older calls. */
  | { readonly kind: 'open' | 'closed'; readonly request: Readonly<Record<string, unknown>> };

type Column = {
  readonly name: string;
  readonly operands: (prng: Prng) => string;
  readonly terms: readonly Term[];
  /** Of STARTS_WITH. */
  readonly prefixes?: (prng: Prng) => string;
};

type Term = 'equal' | 'ordered' | 'in' | 'between' | 'startsWith' | 'isNull';

const keywordTerms: readonly Term[] = ['equal', 'ordered', 'in', 'between', 'startsWith', 'isNull'];
const numberTerms: readonly Term[] = ['equal', 'ordered', 'in', 'between', 'isNull'];
const listTerms: readonly Term[] = ['equal', 'in', 'isNull'];

const statuses = ['Running', 'Completed', 'Failed', 'Canceled', 'Terminated', 'ContinuedAsNew', 'TimedOut'];

type Drawn = { readonly seed: number; readonly workflows: readonly Workflow[] };

export function drawnQueries(
  prng: Prng,
  drawn: Drawn,
  counts: { readonly conditions: number; readonly mutated: number },
): readonly Asked[] {
  const { own, ofChildren } = taskQueuesOf(drawn);
  const columns = columnsOf(drawn);
  const asked: Asked[] = [];
  const conditions = Array.from({ length: counts.conditions }, () => drawnCondition(prng, columns, 0));
  for (const condition of conditions) {
    const query = `TaskQueue IN ('${own}', '${ofChildren}') AND (${condition})`;
    asked.push({ kind: 'list', query });
    asked.push({ kind: 'count', query: prng.chance(0.5) ? query : `${query} GROUP BY ExecutionStatus` });
    if (prng.chance(0.3)) asked.push({ kind: 'pages', query, size: prng.int(1, 5) });
  }
  const plain = conditions.map(withoutNames);
  const words = [...new Set(plain.flatMap(wordsOf))];
  for (let i = 0; i < counts.mutated; i++) {
    const query = `TaskQueue = '${own}' AND (${mutated(prng, prng.pick(plain), words)})`;
    asked.push({ kind: prng.chance(0.5) ? 'list' : 'taken', query });
  }
  for (let i = 0; i < 4; i++) asked.push(drawnOlder(prng, drawn));
  return asked;
}

function columnsOf({ workflows }: Drawn): readonly Column[] {
  // Temporal's SQLite does not find a backslash.
  const findable = values.keywords.filter((text) => !text.includes('\\'));
  const keyword = (prng: Prng): string => quoted(prng, prng.pick(findable));
  const ids = ['none', ...workflows.map(({ workflowId: id }) => id).filter((id) => !id.includes('\\'))];
  const workflowId = (prng: Prng): string => quoted(prng, prng.pick(ids));
  const time = (prng: Prng): string =>
    prng.chance(0.3) ? `$NS${prng.int(0, workflows.length)}$` : `'$T${prng.int(0, workflows.length)}$'`;
  const run = (prng: Prng): string => quoted(prng, prng.chance(0.1) ? prng.pick(['', 'no uuid']) : `$RUN${prng.int(0, 5)}$`);
  const number = (prng: Prng): string => String(prng.pick<number>([...values.ints, 0.5, -0.5, 1000.25]));
  const double = (prng: Prng): string => String(prng.pick<number>(values.doubles));
  const status = (prng: Prng): string =>
    prng.chance(0.2) ? String(prng.int(1, 7)) : quoted(prng, prng.chance(0.05) ? 'Nope' : prng.pick(statuses));
  return [
    { name: 'AText', operands: (prng) => quoted(prng, prng.pick(values.askedTexts)), terms: ['equal', 'isNull'] },
    { name: 'AKeyword', operands: keyword, prefixes: keyword, terms: keywordTerms },
    { name: 'with space', operands: keyword, prefixes: keyword, terms: keywordTerms },
    { name: 'AnInt', operands: number, terms: numberTerms },
    { name: 'ADouble', operands: double, terms: numberTerms },
    { name: 'ABool', operands: (prng) => String(prng.chance(0.5)), terms: ['equal', 'in', 'isNull'] },
    { name: 'ADate', operands: (prng) => quoted(prng, prng.pick(values.dates)), terms: numberTerms },
    { name: 'AList', operands: keyword, terms: listTerms },
    { name: 'WorkflowId', operands: workflowId, prefixes: keyword, terms: keywordTerms },
    { name: 'WorkflowType', operands: keyword, prefixes: keyword, terms: keywordTerms },
    { name: 'RunId', operands: run, terms: ['equal', 'in', 'isNull'] },
    { name: 'ParentWorkflowId', operands: workflowId, prefixes: keyword, terms: keywordTerms },
    { name: 'ParentRunId', operands: run, terms: ['equal', 'in', 'isNull'] },
    { name: 'RootWorkflowId', operands: workflowId, prefixes: keyword, terms: keywordTerms },
    { name: 'RootRunId', operands: run, terms: ['equal', 'in', 'isNull'] },
    { name: 'ExecutionStatus', operands: status, terms: ['equal', 'in', 'isNull'] },
    { name: 'StartTime', operands: time, terms: numberTerms },
    { name: 'ExecutionTime', operands: time, terms: numberTerms },
    { name: 'CloseTime', operands: time, terms: numberTerms },
    {
      name: 'ExecutionDuration',
      operands: (prng) => prng.pick([`'-1s'`, `'10h'`, `'1d12h'`, '-5', `'10:00:00'`]),
      terms: ['ordered', 'between', 'isNull'],
    },
    { name: 'HistoryLength', operands: (prng) => String(prng.int(1, 12)), terms: numberTerms },
    { name: 'HistorySizeBytes', operands: (prng) => prng.pick(['0', '1000000000']), terms: ['ordered', 'isNull'] },
    { name: 'StateTransitionCount', operands: (prng) => prng.pick(['0', '1000000000']), terms: ['ordered', 'isNull'] },
    { name: 'TemporalScheduledById', operands: keyword, prefixes: keyword, terms: keywordTerms },
    { name: 'ScheduledById', operands: keyword, prefixes: keyword, terms: keywordTerms },
    { name: 'TemporalNamespaceDivision', operands: (prng) => prng.pick([`'a'`, `'b'`]), terms: ['equal', 'in', 'isNull'] },
    { name: 'TemporalChangeVersion', operands: keyword, terms: listTerms },
    { name: 'BatcherUser', operands: keyword, prefixes: keyword, terms: keywordTerms },
  ];
}

/** And, or and not with and without parentheses: what binds first is the server's to know. */
function drawnCondition(prng: Prng, columns: readonly Column[], depth: number): string {
  if (depth >= 3 || prng.chance(0.45)) return drawnTerm(prng, prng.pick(columns));
  if (prng.chance(0.2)) return `${anyCase(prng, 'NOT')} (${drawnCondition(prng, columns, depth + 1)})`;
  const parts = Array.from({ length: prng.int(2, 3) }, () => {
    const part = drawnCondition(prng, columns, depth + 1);
    return prng.chance(0.5) ? `(${part})` : part;
  });
  return parts.reduce((before, part) => `${before} ${anyCase(prng, prng.pick(['AND', 'OR']))} ${part}`);
}

function drawnTerm(prng: Prng, column: Column): string {
  const name = column.name.includes(' ') || prng.chance(0.2) ? `\`${column.name}\`` : column.name;
  const operand = (): string => column.operands(prng);
  const not = prng.chance(0.4) ? `${anyCase(prng, 'NOT')} ` : '';
  switch (prng.pick(column.terms)) {
    case 'equal':
      return `${name} ${prng.pick(['=', '!='])} ${operand()}`;
    case 'ordered':
      return `${name} ${prng.pick(['<', '<=', '>', '>='])} ${operand()}`;
    case 'in':
      return `${name} ${not}${anyCase(prng, 'IN')} (${Array.from({ length: prng.int(1, 4) }, operand).join(', ')})`;
    case 'between':
      return `${name} ${not}${anyCase(prng, 'BETWEEN')} ${operand()} ${anyCase(prng, 'AND')} ${operand()}`;
    case 'startsWith':
      return `${name} ${not}${anyCase(prng, 'STARTS_WITH')} ${(column.prefixes ?? column.operands)(prng)}`;
    case 'isNull':
      return `${name} ${anyCase(prng, 'IS')} ${not}${anyCase(prng, 'NULL')}`;
  }
}

/** ListOpen and ListClosed look at all of the namespace: the times of this data set are in each. */
function drawnOlder(prng: Prng, { workflows }: Drawn): Asked {
  const kind = prng.pick(['open', 'closed'] as const);
  // Quotes become a part of Temporal's own query.
  const plain = workflows.filter(({ workflowId, workflowType }) => !/['\\]/.test(workflowId + workflowType));
  const filters: Readonly<Record<string, unknown>>[] = [{}];
  if (kind === 'closed') filters.push({ statusFilter: { status: prng.int(1, 7) } });
  if (plain.length > 0) {
    const { workflowId, workflowType } = prng.pick(plain);
    filters.push({ executionFilter: { workflowId } }, { typeFilter: { name: workflowType } });
  }
  return { kind, request: prng.pick(filters) };
}

function quoted(prng: Prng, text: string): string {
  const escaped = text.replaceAll('\\', '\\\\');
  return prng.chance(0.2) ? `"${escaped.replaceAll('"', '""')}"` : `'${escaped.replaceAll("'", "''")}'`;
}

function anyCase(prng: Prng, word: string): string {
  return prng.chance(0.3) ? word.toLowerCase() : word;
}

/** A refusal tells the place of a mistake and what is written there: both are the same only for the same text. */
function withoutNames(query: string): string {
  return query
    .replaceAll(/\$RUN\d+\$/g, '0198a000-0000-7000-8000-000000000001')
    .replaceAll(/\$NS\d+\$/g, '1700000000001000000')
    .replaceAll(/\$T\d+\$/g, '2023-11-14T22:13:20.001Z');
}

function wordsOf(query: string): readonly string[] {
  return query.match(/'[^']*'|\w+|\s+|[^\w\s]/gu) ?? [];
}

function mutated(prng: Prng, query: string, words: readonly string[]): string {
  const pieces = [...wordsOf(query)];
  for (let change = prng.int(0, 2); change >= 0; change--) {
    const at = prng.int(0, pieces.length);
    pieces.splice(at, prng.int(0, 2), ...Array.from({ length: prng.int(0, 2) }, () => prng.pick(words)));
  }
  return pieces.join('');
}
