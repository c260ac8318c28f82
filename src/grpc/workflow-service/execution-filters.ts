/** What ListOpen and ListClosed filter by, as a query and conditions beside it: names of strangers are operands, never a query's text. */
import { assert } from '../../kernel/assert.ts';
import { systemColumns } from '../../visibility/columns.ts';
import type { Comparison, Condition, Operand } from '../../filter/condition.ts';
import type {
  ListClosedWorkflowExecutionsRequest,
  ListOpenWorkflowExecutionsRequest,
  StartTimeFilter,
} from '../../wire/generated/lean/visibility_service.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { checkBound } from '../validation/bounds.ts';

export type FilteredQuery = {
  readonly query: string;
  /** Throws INVALID_ARGUMENT for a filter that makes no sense. */
  readonly filters: () => readonly Condition[];
};

export function openQuery(request: ListOpenWorkflowExecutionsRequest): FilteredQuery {
  return {
    query: `ExecutionStatus = 'Running'`,
    filters: () => [...within('StartTime', request.startTimeFilter), ...named(request)],
  };
}

/** The time filter is on the close here, whatever its name. */
export function closedQuery(request: ListClosedWorkflowExecutionsRequest): FilteredQuery {
  return {
    query: `ExecutionStatus != 'Running'`,
    filters: () => [...within('CloseTime', request.startTimeFilter), ...named(request), ...ofStatus(request)],
  };
}

/** What Go takes for no time at all. */
const zeroTimeMs = Date.parse('0001-01-01T00:00:00Z');

function within(column: string, filter: StartTimeFilter | undefined): readonly Condition[] {
  const earliestMs = moment('StartTimeFilter.earliest_time', filter?.earliestTimeMs);
  const latestMs = moment('StartTimeFilter.latest_time', filter?.latestTimeMs);
  if (earliestMs !== undefined && latestMs !== undefined && earliestMs > latestMs) {
    throw invalidArgument('EarliestTime in StartTimeFilter should not be larger than LatestTime.');
  }
  return [
    ...(earliestMs === undefined ? [] : [compared(column, '>=', earliestMs)]),
    ...(latestMs === undefined ? [] : [compared(column, '<=', latestMs)]),
  ];
}

function moment(field: Parameters<typeof checkBound>[0], ms: number | undefined): number | undefined {
  if (ms === undefined) return undefined;
  checkBound(field, ms);
  return ms === zeroTimeMs ? undefined : ms;
}

function named({
  executionFilter,
  typeFilter,
}: Pick<ListOpenWorkflowExecutionsRequest, 'executionFilter' | 'typeFilter'>): readonly Condition[] {
  const conditions: Condition[] = [];
  if (executionFilter !== undefined) {
    conditions.push(compared('WorkflowId', '=', executionFilter.workflowId));
    if (executionFilter.runId !== '') conditions.push(compared('RunId', '=', executionFilter.runId));
  }
  if (typeFilter !== undefined) conditions.push(compared('WorkflowType', '=', typeFilter.name));
  return conditions;
}

function ofStatus({ statusFilter }: ListClosedWorkflowExecutionsRequest): readonly Condition[] {
  if (statusFilter === undefined) return [];
  checkBound('StatusFilter.status', statusFilter.status);
  return [compared('ExecutionStatus', '=', statusFilter.status)];
}

function compared(name: string, operator: Comparison, operand: Operand): Condition {
  const column = systemColumns.get(name);
  assert(column !== undefined, `${name} is a column of every run`);
  return { kind: 'compare', column, operator, operand };
}
