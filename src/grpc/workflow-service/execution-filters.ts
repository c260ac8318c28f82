/** What ListOpen and ListClosed filter by, as a query and conditions beside it: names of strangers are operands, never a query's text. */
import { assert } from '../../kernel/assert.ts';
import { nsPerMs, splitInstant } from '../../kernel/instant.ts';
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
const zeroTimeNs = BigInt(Date.parse('0001-01-01T00:00:00Z')) * nsPerMs;

/** The times of runs are whole milliseconds: the first from `earliest` on, the last up to `latest`. */
function within(column: string, filter: StartTimeFilter | undefined): readonly Condition[] {
  const earliest = moment('StartTimeFilter.earliest_time', filter?.earliestTimeNs);
  const latest = moment('StartTimeFilter.latest_time', filter?.latestTimeNs);
  if (earliest !== undefined && latest !== undefined && earliest > latest) {
    throw invalidArgument('EarliestTime in StartTimeFilter should not be larger than LatestTime.');
  }
  return [
    ...(earliest === undefined ? [] : [compared(column, '>=', firstMsFrom(earliest))]),
    ...(latest === undefined ? [] : [compared(column, '<=', Number(splitInstant(latest).ms))]),
  ];
}

function firstMsFrom(instant: bigint): number {
  const { ms, part } = splitInstant(instant);
  return Number(part === 0n ? ms : ms + 1n);
}

function moment(field: Parameters<typeof checkBound>[0], ns: bigint | undefined): bigint | undefined {
  if (ns === undefined) return undefined;
  checkBound(field, Number(splitInstant(ns).ms));
  return ns === zeroTimeNs ? undefined : ns;
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
