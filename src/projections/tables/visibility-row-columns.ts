/** The columns of a row of List and Count that every row has, for both databases: what is written, what of it is served, and what fits. */
import { storable } from '../visibility/text.ts';
import { numberOrNone, type RowReader } from './row-reader.ts';
import type { ListedRow, VisibilityRow } from '../visibility/row.ts';
import type { ColumnOf } from './state-tables.ts';

type Field = Exclude<keyof VisibilityRow, 'slots'>;
type TypeOf<Value> = Value extends string ? 'uuid' | 'text' : Value extends number ? 'integer' | 'bigint' : 'bytea';
type Described<Value> = { readonly name: string; readonly type: TypeOf<NonNullable<Value>>; readonly optional?: true };

/** A text that is optional is NULL where it is empty. */
const described: { readonly [Each in Field]: Described<VisibilityRow[Each]> } = {
  namespaceId: { name: 'namespace_id', type: 'uuid' },
  runId: { name: 'run_id', type: 'uuid' },
  shard: { name: 'shard', type: 'integer' },
  status: { name: 'status', type: 'integer' },
  version: { name: 'version', type: 'bigint' },
  startTimeMs: { name: 'start_ms', type: 'bigint' },
  executionTimeMs: { name: 'execution_ms', type: 'bigint' },
  closeTimeMs: { name: 'close_ms', type: 'bigint', optional: true },
  executionDurationMs: { name: 'execution_duration_ms', type: 'bigint', optional: true },
  historyLength: { name: 'history_length', type: 'bigint', optional: true },
  historySizeBytes: { name: 'history_size_bytes', type: 'bigint', optional: true },
  stateTransitionCount: { name: 'state_transition_count', type: 'bigint', optional: true },
  workflowId: { name: 'workflow_id', type: 'text' },
  workflowType: { name: 'workflow_type', type: 'text' },
  taskQueue: { name: 'task_queue', type: 'text' },
  parentWorkflowId: { name: 'parent_workflow_id', type: 'text', optional: true },
  parentRunId: { name: 'parent_run_id', type: 'text', optional: true },
  rootWorkflowId: { name: 'root_workflow_id', type: 'text', optional: true },
  rootRunId: { name: 'root_run_id', type: 'text', optional: true },
  memo: { name: 'memo', type: 'bytea', optional: true },
  searchAttributes: { name: 'search_attributes', type: 'bytea', optional: true },
};

type VisibilityColumn = Exclude<ColumnOf<VisibilityRow>, { readonly type: 'boolean' }> & { readonly field: Field };

export const visibilityColumns: readonly VisibilityColumn[] = Object.entries(described).map(([name, column]): VisibilityColumn => {
  const field = name as Field;
  if (column.type !== 'text') return { ...column, field, of: (row: VisibilityRow) => row[field] } as VisibilityColumn;
  const text = (row: VisibilityRow): string => storable(row[field] as string);
  const textOrNone = (row: VisibilityRow): string | undefined => text(row) || undefined;
  return { ...column, field, type: 'text', of: column.optional === true ? textOrNone : text };
});

const numbers = visibilityColumns.filter(({ type }) => type === 'integer' || type === 'bigint');

/** Whether a row with these ids and numbers can be stored; attributes that cannot are left out of it. */
export function fitsTable(row: VisibilityRow, isId: (text: string) => boolean): boolean {
  if (!isId(row.namespaceId) || !isId(row.runId)) return false;
  return numbers.every(({ field, optional }) => (optional === true && row[field] === undefined) || Number.isSafeInteger(row[field]));
}

/** What `listedRow` reads. */
export const servedColumns = visibilityColumns.flatMap(({ name }) => (name === 'version' ? [] : [name])).join(', ');

/** Written out, since a page has a thousand of them: a loop over the columns takes four times as long. */
export function listedRow<Row>(row: Row, of: RowReader<Row>): ListedRow {
  return {
    namespaceId: of.text(row, 'namespace_id'),
    runId: of.text(row, 'run_id'),
    shard: of.number(row, 'shard'),
    workflowId: of.text(row, 'workflow_id'),
    workflowType: of.text(row, 'workflow_type'),
    taskQueue: of.text(row, 'task_queue'),
    status: of.number(row, 'status'),
    startTimeMs: of.number(row, 'start_ms'),
    executionTimeMs: of.number(row, 'execution_ms'),
    closeTimeMs: numberOrNone(row, 'close_ms', of),
    executionDurationMs: numberOrNone(row, 'execution_duration_ms', of),
    historyLength: numberOrNone(row, 'history_length', of),
    historySizeBytes: numberOrNone(row, 'history_size_bytes', of),
    stateTransitionCount: numberOrNone(row, 'state_transition_count', of),
    parentWorkflowId: textOrEmpty(row, 'parent_workflow_id', of),
    parentRunId: textOrEmpty(row, 'parent_run_id', of),
    rootWorkflowId: textOrEmpty(row, 'root_workflow_id', of),
    rootRunId: textOrEmpty(row, 'root_run_id', of),
    memo: bytesOrNone(row, 'memo', of),
    searchAttributes: bytesOrNone(row, 'search_attributes', of),
  };
}

function textOrEmpty<Row>(row: Row, name: string, of: RowReader<Row>): string {
  return of.isNull(row, name) ? '' : of.text(row, name);
}

function bytesOrNone<Row>(row: Row, name: string, of: RowReader<Row>): Uint8Array | undefined {
  return of.isNull(row, name) ? undefined : of.bytes(row, name);
}
