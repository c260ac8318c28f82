/**
 * A condition as SQL, in the dialects of both databases: every value is a parameter, every column a name of our own. On visibility rows:
 *
 *     kind             SQLite                                    PostgreSQL
 *     keyword          TEXT, compared by bytes                   text COLLATE "C"
 *     int, datetime    INTEGER                                   bigint
 *     instant          two of them (instant-sql.ts)
 *     double           REAL                                      double precision
 *     bool             INTEGER, 0 or 1                           boolean
 *     keywordList,     its items or words in visibility_words    text[] of items or words
 *       text           (namespace_id, slot, word, run_id);
 *                      the column tells whether there is one
 *     ids              TEXT                                      uuid
 *
 * Letters have keywords, ints and datetimes alone, and their texts are bytes.
 *
 * Lists and texts have no unknown: what is not there contains nothing (`condition.ts`). A prefix is a range, which an index serves.
 */
import { unreachable } from '../../kernel/assert.ts';
import type { Column, Comparison, Condition, Operand } from '../../filter/condition.ts';
import { storable, wordsOf } from '../visibility/text.ts';
import { comparedInstantSql, instantInSql, nanosecondsOf } from './instant-sql.ts';
import { nameBytes } from './name-bytes.ts';

export type Dialect = 'sqlite' | 'postgres';

/** Booleans for PostgreSQL alone. */
export type SqlParameter = string | number | bigint | boolean | Uint8Array;

/** Placeholders are `?` in order, and `$1`, `$2` …, from 1. */
export type Sql = { readonly text: string; readonly parameters: readonly SqlParameter[] };

/** A table that queries filter. */
export type FilteredTable = {
  /** The names of columns that queries call otherwise. */
  readonly columns: Readonly<Record<string, string>>;
  /** `text`: as `storable` makes them; `bytes`: as they are (`nameBytes`). */
  readonly texts: 'text' | 'bytes';
  /** The column that has UUIDs to PostgreSQL. */
  readonly uuids?: string;
};

/** Attributes and slots keep their names (PostgreSQL folds them to lower case). */
const systemColumns: Readonly<Record<string, string>> = {
  WorkflowId: 'workflow_id',
  RunId: 'run_id',
  WorkflowType: 'workflow_type',
  TaskQueue: 'task_queue',
  StartTime: 'start_ms',
  ExecutionTime: 'execution_ms',
  CloseTime: 'close_ms',
  ExecutionStatus: 'status',
  ExecutionDuration: 'execution_duration_ms',
  HistoryLength: 'history_length',
  HistorySizeBytes: 'history_size_bytes',
  StateTransitionCount: 'state_transition_count',
  ParentWorkflowId: 'parent_workflow_id',
  ParentRunId: 'parent_run_id',
  RootWorkflowId: 'root_workflow_id',
  RootRunId: 'root_run_id',
};

const visibilityTable: FilteredTable = { columns: systemColumns, texts: 'text', uuids: 'RunId' };

export function columnSql({ name }: Column, { columns } = visibilityTable): string {
  return columns[name] ?? name;
}

/**
 * Most runs are their own root, and the index of roots has only the others. So what is asked of a root is asked of those, by that index, and of the
 * runs themselves where they are their own: by the index of this column. undefined: of other columns.
 */
export function ownColumn({ name }: Column): Column | undefined {
  return ownColumns[name];
}

const ownColumns: Readonly<Record<string, Column>> = {
  RootWorkflowId: { name: 'WorkflowId', kind: 'keyword' },
  RootRunId: { name: 'RunId', kind: 'keyword' },
};

/** Whether it is the run's own id that stands in a column of roots; as the index says it. */
export function isOwnSql(dialect: Dialect, root: Column, own: Column, is: '=' | '<>'): string {
  return `${columnSql(root)} ${is} ${columnSql(own)}${dialect === 'postgres' && own.name === 'RunId' ? '::text' : ''}`;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text is a UUID as ids are written: in lower case. */
export function isUuidText(text: string): boolean {
  return uuid.test(text);
}

/** On SQLite: the condition whose runs are found first, then each by its id. Of other lists and texts each row's words are looked up. */
export type ByRuns = {
  readonly condition: Condition;
  /** A SELECT of their ids. */
  readonly runs: (builder: SqlBuilder) => string;
};

/** Parameters of one statement, in the order in which they are written. */
export class SqlBuilder {
  readonly dialect: Dialect;
  readonly parameters: SqlParameter[] = [];
  readonly byRuns: ByRuns | undefined;
  readonly table: FilteredTable;

  constructor(dialect: Dialect, byRuns?: ByRuns, table = visibilityTable) {
    this.dialect = dialect;
    this.byRuns = byRuns;
    this.table = table;
  }

  /** The placeholder. `type`: PostgreSQL's, where it could not tell. */
  parameter(value: SqlParameter, type?: string): string {
    this.parameters.push(value);
    if (this.dialect === 'sqlite') return '?';
    return type === undefined ? `$${this.parameters.length}` : `$${this.parameters.length}::${type}`;
  }

  /** A text that is compared with a column. */
  text(value: string): string {
    return this.parameter(this.table.texts === 'bytes' ? nameBytes(value.toWellFormed()) : storable(value));
  }

  /** The id of a namespace or run, compared with a column. */
  id(value: string): string {
    return this.parameter(value, 'uuid');
  }
}

export function conditionSql(builder: SqlBuilder, condition: Condition): string {
  if (builder.byRuns?.condition === condition) return `(run_id IN (${builder.byRuns.runs(builder)}))`;
  const own = builder.dialect === 'postgres' && 'column' in condition ? ownColumn(condition.column) : undefined;
  return own !== undefined && isFindable(condition) ? rootSql(builder, condition, own) : plainSql(builder, condition);
}

export type ColumnCondition = Extract<Condition, { readonly column: Column }>;

/** Whether what it names is found by an index of its column, and not by what it lacks. */
export function isFindable(condition: Condition): condition is ColumnCondition {
  switch (condition.kind) {
    case 'compare':
      return condition.operator !== '!=';
    case 'in':
    case 'between':
    case 'startsWith':
      return !condition.not;
    case 'isNull':
      return condition.not;
    case 'and':
    case 'or':
    case 'not':
      return false;
    default:
      return unreachable(condition);
  }
}

/** PostgreSQL goes by both indexes then. */
function rootSql(builder: SqlBuilder, condition: ColumnCondition, own: Column): string {
  const of = (column: Column, is: '=' | '<>'): string =>
    `${plainSql(builder, { ...condition, column })} AND ${isOwnSql(builder.dialect, condition.column, own, is)}`;
  return `((${of(condition.column, '<>')}) OR (${of(own, '=')}))`;
}

function plainSql(builder: SqlBuilder, condition: Condition): string {
  const recurse = (inner: Condition): string => conditionSql(builder, inner);
  switch (condition.kind) {
    case 'and':
    case 'or':
      return `(${joined(condition.kind, condition.conditions).map(recurse).join(` ${condition.kind.toUpperCase()} `)})`;
    case 'not':
      return `NOT ${recurse(condition.condition)}`;
    case 'compare':
      return compareSql(builder, condition);
    case 'in':
      return inSql(builder, condition);
    case 'between':
      return betweenSql(builder, condition);
    case 'startsWith':
      return startsWithSql(builder, condition);
    case 'isNull':
      return `(${columnSql(condition.column, builder.table)} IS ${condition.not ? 'NOT ' : ''}NULL)`;
    default:
      return unreachable(condition);
  }
}

type ListCondition = Extract<Condition, { readonly kind: 'compare' | 'in' }>;

/** What is said several times of one list is looked up once: it has none of these values and none of those, or one of these or of those. */
function joined(kind: 'and' | 'or', conditions: readonly Condition[]): readonly Condition[] {
  const lists = Map.groupBy(conditions.filter(isOfList), ({ column }) => column.name);
  return conditions.flatMap((condition) => {
    const same = isOfList(condition) ? (lists.get(condition.column.name) ?? []) : [];
    const alike = same.filter((one) => isNegated(one) === (kind === 'and'));
    const [first] = alike;
    if (first === undefined || alike.length < 2 || !alike.some((one) => one === condition)) return [condition];
    if (first !== condition) return [];
    return [{ kind: 'in', column: first.column, not: kind === 'and', operands: alike.flatMap(operandsOf) }];
  });
}

function isOfList(condition: Condition): condition is ListCondition {
  return (condition.kind === 'in' || (condition.kind === 'compare' && isEquality(condition.operator))) && isList(condition.column);
}

function isEquality(operator: Comparison): boolean {
  return operator === '=' || operator === '!=';
}

function isNegated(condition: ListCondition): boolean {
  return condition.kind === 'in' ? condition.not : condition.operator === '!=';
}

function operandsOf(condition: ListCondition): readonly Operand[] {
  return condition.kind === 'in' ? condition.operands : [condition.operand];
}

function compareSql(builder: SqlBuilder, condition: Condition & { kind: 'compare' }): string {
  const { column, operator, operand } = condition;
  if (isList(column)) return containsSql(builder, condition, operator === '!=');
  if (isUuidColumn(builder, column) && (operator === '=' || operator === '!=')) return runIdSql(builder, operator === '!=', [operand]);
  if (column.kind === 'instant') return comparedInstantSql(columnSql(column), operator, nanosecondsOf(operand), wholeIn(builder));
  const sign = operator === '!=' ? '<>' : operator;
  return `(${comparedSql(builder, column)} ${sign} ${operandSql(builder, column, operand)})`;
}

function inSql(builder: SqlBuilder, condition: Condition & { kind: 'in' }): string {
  const { column, not, operands } = condition;
  if (isList(column)) return containsSql(builder, condition, not);
  if (isUuidColumn(builder, column)) return runIdSql(builder, not, operands);
  if (column.kind === 'instant') {
    const found = instantInSql(builder.dialect, columnSql(column), operands.map(nanosecondsOf), wholeIn(builder));
    return not ? `NOT ${found}` : found;
  }
  const list = operands.map((operand) => operandSql(builder, column, operand)).join(', ');
  return `(${comparedSql(builder, column)} ${not ? 'NOT ' : ''}IN (${list}))`;
}

function betweenSql(builder: SqlBuilder, { column, not, low, high }: Condition & { kind: 'between' }): string {
  if (column.kind === 'instant') {
    const bounds = [compareSql(builder, { kind: 'compare', column, operator: '>=', operand: low })];
    bounds.push(compareSql(builder, { kind: 'compare', column, operator: '<=', operand: high }));
    return `${not ? 'NOT ' : ''}(${bounds.join(' AND ')})`;
  }
  const range = `${operandSql(builder, column, low)} AND ${operandSql(builder, column, high)}`;
  return `(${comparedSql(builder, column)} ${not ? 'NOT ' : ''}BETWEEN ${range})`;
}

function startsWithSql(builder: SqlBuilder, { column, not, prefix }: Condition & { kind: 'startsWith' }): string {
  const end = successor(builder.table.texts === 'bytes' ? prefix.toWellFormed() : storable(prefix));
  const compared = comparedSql(builder, column);
  const lower = `${compared} >= ${builder.text(prefix)}`;
  const range = end === undefined ? lower : `${lower} AND ${compared} < ${builder.text(end)}`;
  return `${not ? 'NOT ' : ''}(${range})`;
}

/** The least text that is above all that begin so; undefined: there is none. UTF-8 orders texts by their code points. */
export function successor(prefix: string): string | undefined {
  const points = Array.from(prefix, (char) => char.codePointAt(0) ?? 0);
  const last = points.findLastIndex((point) => point < 0x10_ffff);
  if (last < 0) return undefined;
  const point = points[last] ?? 0;
  // Between them stand halves of surrogate pairs, which no text has.
  const next = point === 0xd7ff ? 0xe000 : point + 1;
  return String.fromCodePoint(...points.slice(0, last)) + String.fromCodePoint(next);
}

export function isList({ kind }: Column): boolean {
  return kind === 'keywordList' || kind === 'text';
}

/** Run ids are uuids to PostgreSQL, and some order and begin of them is that of texts. */
function isUuidColumn({ dialect, table }: SqlBuilder, { name }: Column): boolean {
  return dialect === 'postgres' && name === table.uuids;
}

/** What is no UUID equals none. */
function runIdSql(builder: SqlBuilder, not: boolean, operands: readonly Operand[]): string {
  const ids = operands.map(String).filter((operand) => isUuidText(operand));
  if (ids.length === 0) return not ? 'TRUE' : 'FALSE';
  return `(run_id ${not ? 'NOT ' : ''}IN (${ids.map((id) => builder.id(id)).join(', ')}))`;
}

function comparedSql(builder: SqlBuilder, column: Column): string {
  return isUuidColumn(builder, column) ? `(run_id::text COLLATE "C")` : columnSql(column, builder.table);
}

/** A query with more words than these looks through the words of each row, which are fewer. */
const wordsSoughtMax = 8;

function containsSql(builder: SqlBuilder, condition: ListCondition, not: boolean): string {
  const words = wordsAsked(condition);
  const name = columnSql(condition.column);
  if (words.length === 0) return not ? 'TRUE' : 'FALSE';
  if (builder.dialect === 'postgres') {
    const overlap = `${name} && ARRAY[${words.map((word) => builder.parameter(word)).join(', ')}]::text[]`;
    return not ? `(${name} IS NULL OR NOT (${overlap}))` : `(${name} IS NOT NULL AND ${overlap})`;
  }
  const how = words.length > wordsSoughtMax ? 'among those of the run' : 'one by one';
  const ofRow = `${wordsSql(builder, condition, 'visibility.namespace_id', how)} AND w.run_id = visibility.run_id`;
  return `(${not ? 'NOT ' : ''}EXISTS (SELECT 1 ${ofRow}))`;
}

/** SQLite's entries of a list or text that a condition looks for; `namespace`: a placeholder or column, written before the words. */
export function wordsSql(
  builder: SqlBuilder,
  condition: ListCondition,
  namespace: string,
  how: 'one by one' | 'among those of the run' = 'one by one',
): string {
  const list = wordsAsked(condition).map((word) => builder.parameter(word));
  const slot = columnSql(condition.column);
  // With a plus no index serves the word.
  const [index, word] = how === 'one by one' ? ['', 'w.word'] : [' INDEXED BY visibility_words_of_run', '+w.word'];
  return `FROM visibility_words AS w${index} WHERE w.namespace_id = ${namespace} AND w.slot = '${slot}' AND ${word} IN (${list.join(', ')})`;
}

function wordsAsked(condition: ListCondition): readonly string[] {
  const texts = operandsOf(condition).map((operand) => storable(String(operand)));
  return condition.column.kind === 'text' ? texts.flatMap(wordsOf) : texts;
}

function operandSql(builder: SqlBuilder, column: Column, operand: Operand): string {
  if (typeof operand === 'string') return builder.text(operand);
  if (typeof operand !== 'boolean') return numberSql(builder, column, operand);
  return builder.parameter(builder.dialect === 'sqlite' ? Number(operand) : operand);
}

function wholeIn(builder: SqlBuilder): (value: bigint) => string {
  return (value) => numberSql(builder, { kind: 'int' }, value);
}

/** No whole number, or beyond 64 bits: PostgreSQL would not take it for a bigint, nor SQLite for an INTEGER. */
function numberSql(builder: SqlBuilder, { kind }: Pick<Column, 'kind'>, operand: number | bigint): string {
  const fits = typeof operand === 'bigint' ? BigInt.asIntN(64, operand) === operand : kind === 'double' || Number.isSafeInteger(operand);
  if (fits) return builder.parameter(operand);
  return builder.dialect === 'sqlite' ? builder.parameter(Number(operand)) : builder.parameter(operand, 'numeric');
}
