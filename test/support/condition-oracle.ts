/**
 * What a condition means, in plain JavaScript: the oracle that every database is compared with, and what the twin in memory answers by.
 *
 * Three values, as in SQL: true, false, and undefined for unknown.
 */
import { unreachable } from '../../src/kernel/assert.ts';
import type { Column, ColumnKind, Comparison, Condition, Operand } from '../../src/filter/condition.ts';
import {
  OPEN_SORT_MS,
  servedBytes,
  type SlotValue,
  type VisibilityCount,
  type VisibilityKeyset,
  type VisibilityList,
  type VisibilityRow,
} from '../../src/projections/visibility/row.ts';
import { storable, wordsOf } from '../../src/projections/visibility/text.ts';

export type Truth = boolean | undefined;

/** Rows that the query asks for, in its order; `rows` may be of any namespace, in any order. */
export function listed(rows: Iterable<VisibilityRow>, query: VisibilityList): VisibilityRow[] {
  const { after, bytesMax = Infinity } = query;
  let bytes = 0;
  return matching(rows, query)
    .map((row) => ({ row, key: keysetOf(row) }))
    .filter(({ key }) => after === undefined || compareKeysets(key, after) > 0)
    .sort((one, other) => compareKeysets(one.key, other.key))
    .slice(0, query.max)
    .map(({ row }) => row)
    .filter((row) => {
      const hasRoom = bytes < bytesMax;
      bytes += servedBytes(row);
      return hasRoom;
    });
}

export function counted(rows: Iterable<VisibilityRow>, query: VisibilityCount): { status: number | undefined; count: number }[] {
  const found = matching(rows, query);
  if (!query.byStatus) return [{ status: undefined, count: found.length }];
  return [...Map.groupBy(found, ({ status }) => status)].map(([status, those]) => ({ status, count: those.length }));
}

export function keysetOf(row: {
  readonly closeTimeMs: number | undefined;
  readonly startTimeMs: number;
  readonly runId: string;
}): VisibilityKeyset {
  return { sortMs: row.closeTimeMs ?? OPEN_SORT_MS, startTimeMs: row.startTimeMs, runId: row.runId };
}

/** Below 0: `one` is listed before `other`. */
export function compareKeysets(one: VisibilityKeyset, other: VisibilityKeyset): number {
  return other.sortMs - one.sortMs || other.startTimeMs - one.startTimeMs || compareText(other.runId, one.runId);
}

function matching(
  rows: Iterable<VisibilityRow>,
  query: { readonly namespaceId: string; readonly condition: Condition | undefined },
): VisibilityRow[] {
  const { namespaceId, condition } = query;
  return [...rows].filter((row) => row.namespaceId === namespaceId && (condition === undefined || truthOf(condition, row) === true));
}

/** What a condition is asked of. `asked`: a text of the condition, as it is compared. */
export type Subject = {
  readonly valueOf: (column: Column) => SlotValue | undefined;
  readonly asked: (text: string) => string;
};

export function truthOf(condition: Condition, row: VisibilityRow): Truth {
  return truthAbout(condition, { valueOf: (column) => valueOf(column, row), asked: storable });
}

export function truthAbout(condition: Condition, row: Subject): Truth {
  switch (condition.kind) {
    case 'and':
      return all(condition.conditions.map((one) => truthAbout(one, row)));
    case 'or':
      return any(condition.conditions.map((one) => truthAbout(one, row)));
    case 'not':
      return not(truthAbout(condition.condition, row));
    case 'compare':
      return compared(condition.column, condition.operator, condition.operand, row);
    case 'in':
      return negatedIf(condition.not, any(condition.operands.map((operand) => compared(condition.column, '=', operand, row))));
    case 'between':
      return negatedIf(
        condition.not,
        all([compared(condition.column, '>=', condition.low, row), compared(condition.column, '<=', condition.high, row)]),
      );
    case 'startsWith':
      return negatedIf(condition.not, startsWith(condition.column, condition.prefix, row));
    case 'isNull':
      return negatedIf(condition.not, row.valueOf(condition.column) === undefined);
    default:
      return unreachable(condition);
  }
}

function all(truths: readonly Truth[]): Truth {
  if (truths.includes(false)) return false;
  return truths.includes(undefined) ? undefined : true;
}

function any(truths: readonly Truth[]): Truth {
  if (truths.includes(true)) return true;
  return truths.includes(undefined) ? undefined : false;
}

function not(truth: Truth): Truth {
  return truth === undefined ? undefined : !truth;
}

function negatedIf(negated: boolean, truth: Truth): Truth {
  return negated ? not(truth) : truth;
}

function compared(column: Column, operator: Comparison, operand: Operand, row: Subject): Truth {
  if (column.kind === 'keywordList' || column.kind === 'text') {
    const contains = containsAny(column, operand, row);
    return operator === '!=' ? !contains : contains;
  }
  const value = row.valueOf(column);
  return value === undefined
    ? undefined
    : ordered(operator, compareValues(value, typeof operand === 'string' ? row.asked(operand) : operand));
}

/** Never unknown: what is not there contains nothing. */
function containsAny(column: Column, operand: Operand, row: Subject): boolean {
  const value = row.valueOf(column);
  if (column.kind === 'text') {
    const words = new Set(typeof value === 'string' ? wordsOf(value) : []);
    return wordsOf(storable(String(operand))).some((word) => words.has(word));
  }
  return Array.isArray(value) && value.includes(storable(String(operand)));
}

function startsWith(column: Column, prefix: string, row: Subject): Truth {
  const value = row.valueOf(column);
  return value === undefined ? undefined : String(value).startsWith(row.asked(prefix));
}

function ordered(operator: Comparison, order: number): boolean {
  switch (operator) {
    case '=':
      return order === 0;
    case '!=':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    default:
      return unreachable(operator);
  }
}

function compareValues(value: SlotValue, operand: Operand): number {
  if (typeof value === 'string') return compareText(value, String(operand));
  // Numbers and bigints compare with each other exactly.
  if (value < operand) return -1;
  return value > operand ? 1 : 0;
}

/** By the bytes of UTF-8: JavaScript's own order, by UTF-16 units, puts U+FFFD behind every emoji. */
function compareText(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** undefined: NULL. */
function valueOf(column: Column, row: VisibilityRow): SlotValue | undefined {
  const read = systemColumns[column.name];
  return read === undefined ? row.slots.get(column.name) : read(row);
}

const unlessEmpty = (text: string): string | undefined => (text === '' ? undefined : text);

const systemColumns: Readonly<Record<string, (row: VisibilityRow) => string | number | undefined>> = {
  WorkflowId: (row) => row.workflowId,
  RunId: (row) => row.runId,
  WorkflowType: (row) => row.workflowType,
  TaskQueue: (row) => row.taskQueue,
  ExecutionStatus: (row) => row.status,
  StartTime: (row) => row.startTimeMs,
  ExecutionTime: (row) => row.executionTimeMs,
  CloseTime: (row) => row.closeTimeMs,
  ExecutionDuration: (row) => row.executionDurationMs,
  HistoryLength: (row) => row.historyLength,
  HistorySizeBytes: (row) => row.historySizeBytes,
  StateTransitionCount: (row) => row.stateTransitionCount,
  ParentWorkflowId: (row) => unlessEmpty(row.parentWorkflowId),
  ParentRunId: (row) => unlessEmpty(row.parentRunId),
  RootWorkflowId: (row) => unlessEmpty(row.rootWorkflowId),
  RootRunId: (row) => unlessEmpty(row.rootRunId),
};

const int64Max = 2n ** 63n - 1n;

/**
 * A row as a database keeps it: texts that can be stored, slots without what fits none. undefined: it does not fit at all. A slot's kind
 * is the beginning of its name; predefined attributes are told by what they hold.
 */
export function storedRow(row: VisibilityRow, isUuid: (text: string) => boolean): VisibilityRow | undefined {
  const numbers = [row.shard, row.status, row.startTimeMs, row.executionTimeMs, row.version];
  const ofClosed = [row.closeTimeMs, row.executionDurationMs, row.historyLength, row.historySizeBytes, row.stateTransitionCount];
  const fits =
    numbers.every(Number.isSafeInteger) &&
    ofClosed.every((value) => value === undefined || Number.isSafeInteger(value)) &&
    isUuid(row.namespaceId) &&
    isUuid(row.runId);
  if (!fits) return undefined;
  const slots = new Map<string, SlotValue>();
  for (const [name, value] of row.slots) {
    const kind =
      name === 'TemporalScheduledStartTime' ? 'Datetime' : /^(KeywordList|Keyword|Text|Int|Double|Bool|Datetime)\d\d$/.exec(name)?.[1];
    const stored = storedSlot(kind ?? '', value);
    if (stored !== undefined) slots.set(name, stored);
  }
  return {
    ...row,
    workflowId: storable(row.workflowId),
    workflowType: storable(row.workflowType),
    taskQueue: storable(row.taskQueue),
    parentWorkflowId: storable(row.parentWorkflowId),
    parentRunId: storable(row.parentRunId),
    rootWorkflowId: storable(row.rootWorkflowId),
    rootRunId: storable(row.rootRunId),
    slots,
  };
}

const typesOfKinds: Readonly<Record<Capitalize<Exclude<ColumnKind, 'datetime' | 'instant'>>, readonly string[]>> = {
  Keyword: ['string'],
  Text: ['string'],
  Int: ['int'],
  Double: ['int', 'double'],
  Bool: ['boolean'],
  KeywordList: ['list'],
};

function storedSlot(kind: string, value: SlotValue): SlotValue | undefined {
  if (kind === 'Datetime') return typeof value === 'bigint' && typeOf(value / 1_000_000n) === 'int' ? value : undefined;
  const type = typeOf(value);
  const expected = Object.entries(typesOfKinds).find(([name]) => name === kind)?.[1];
  if (type === undefined || expected?.includes(type) === false) return undefined;
  if (typeof value === 'string') return storable(value);
  return Array.isArray(value) ? value.map(storable) : value;
}

function typeOf(value: SlotValue): 'string' | 'int' | 'double' | 'boolean' | 'list' | undefined {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'bigint') return value <= int64Max && value >= -int64Max - 1n ? 'int' : undefined;
  if (typeof value !== 'number') return value.length === 0 ? undefined : 'list';
  if (Number.isSafeInteger(value)) return 'int';
  return Number.isFinite(value) ? 'double' : undefined;
}
