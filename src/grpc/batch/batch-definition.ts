/** What a batch job is to do, and whom it is for: its StartBatchOperationRequest in words of its own. */
import type { Namespace } from '../../cluster/cluster-state.ts';
import type { Condition } from '../../filter/condition.ts';
import { parseQuery } from '../../projections/visibility/filter/parse-query.ts';
import { columnNamed, queryAttributes } from '../../projections/visibility/columns.ts';
import type { BatchOperationReset, Execution, StartBatchOperationRequest } from '../../wire/generated/lean/batch.ts';
import { BatchOperationType, ExecutionType, ResetType, WorkflowExecutionStatus } from '../../wire/generated/lean/enums.ts';
import type { RpcNameOf } from '../rpcs/rpc.ts';
import type { workflowRpcs } from '../rpcs/workflow-rpcs.ts';

type Row = {
  readonly field: keyof StartBatchOperationRequest;
  readonly type: number;
  readonly method: RpcNameOf<typeof workflowRpcs>;
};

/** Operations by the names that Temporal writes into the memo of a job. */
export const operations = {
  terminate: { field: 'terminationOperation', type: BatchOperationType.TERMINATE_WORKFLOW, method: 'TerminateWorkflowExecution' },
  signal: { field: 'signalOperation', type: BatchOperationType.SIGNAL_WORKFLOW, method: 'SignalWorkflowExecution' },
  cancel: { field: 'cancellationOperation', type: BatchOperationType.CANCEL_WORKFLOW, method: 'RequestCancelWorkflowExecution' },
  delete: { field: 'deletionOperation', type: BatchOperationType.DELETE_WORKFLOW, method: 'DeleteWorkflowExecution' },
  reset: { field: 'resetOperation', type: BatchOperationType.RESET_WORKFLOW, method: 'ResetWorkflowExecution' },
  update_options: {
    field: 'updateWorkflowOptionsOperation',
    type: BatchOperationType.UPDATE_WORKFLOW_EXECUTION_OPTIONS,
    method: 'UpdateWorkflowExecutionOptions',
  },
  unpause_activities: { field: 'unpauseActivitiesOperation', type: BatchOperationType.UNPAUSE_ACTIVITY, method: 'UnpauseActivity' },
  reset_activities: { field: 'resetActivitiesOperation', type: BatchOperationType.RESET_ACTIVITY, method: 'ResetActivity' },
  update_activity_options: {
    field: 'updateActivityOptionsOperation',
    type: BatchOperationType.UPDATE_ACTIVITY_OPTIONS,
    method: 'UpdateActivityOptions',
  },
} as const satisfies Readonly<Record<string, Row>>;

type Operations = typeof operations;

export type BatchOperation = {
  readonly [Kind in keyof Operations]: {
    readonly kind: Kind;
    readonly of: NonNullable<StartBatchOperationRequest[Operations[Kind]['field']]>;
  };
}[keyof Operations];

export function operationOf(request: StartBatchOperationRequest): BatchOperation | undefined {
  for (const [kind, { field }] of Object.entries(operations)) {
    const of = request[field];
    if (of !== undefined) return { kind, of } as BatchOperation;
  }
  return undefined;
}

/** What closed workflows do not take: the job is for those that are open, as in Temporal. */
export function isForOpenOnes({ kind }: BatchOperation): boolean {
  return kind !== 'delete' && kind !== 'reset';
}

/** The executions that a request lists; none: its job has a query. */
export function executionsOf({ executions, targetExecutions }: StartBatchOperationRequest): readonly Execution[] {
  if (targetExecutions.length > 0) return targetExecutions;
  return executions.map(({ workflowId, runId }) => ({ type: ExecutionType.WORKFLOW, businessId: workflowId, runId }));
}

/** To which event a reset goes: what a job is told is the first workflow task or the last, and each workflow has its own. */
export type ResetTarget = { readonly kind: 'event'; readonly eventId: number } | { readonly kind: 'first' | 'last' };

export function resetTarget({ options, resetType }: BatchOperationReset): ResetTarget | undefined {
  if (options === undefined) {
    if (resetType === ResetType.FIRST_WORKFLOW_TASK) return { kind: 'first' };
    return resetType === ResetType.LAST_WORKFLOW_TASK ? { kind: 'last' } : undefined;
  }
  if (options.workflowTaskId !== undefined) return { kind: 'event', eventId: options.workflowTaskId };
  if (options.firstWorkflowTask !== undefined) return { kind: 'first' };
  return options.lastWorkflowTask === undefined ? undefined : { kind: 'last' };
}

export type BatchQuery = { readonly kind: 'query'; readonly condition: Condition } | { readonly kind: 'invalid'; readonly message: string };

export function batchQuery(text: string, namespace: Namespace, forOpenOnes: boolean): BatchQuery {
  const attributes = queryAttributes({ types: namespace.searchAttributeTypes, slots: namespace.searchAttributeSlots });
  const parsed = parseQuery(text, attributes);
  if (parsed.kind === 'invalid') return { kind: 'invalid', message: withoutPrefix(parsed.message) };
  if (parsed.byStatus) return { kind: 'invalid', message: `'GROUP BY' clause is not supported` };
  const asked = parsed.condition === undefined ? [] : [parsed.condition];
  return { kind: 'query', condition: { kind: 'and', conditions: forOpenOnes ? [...asked, open] : asked } };
}

/** Where a job begins, Temporal says no more than its parser does, to which it gives one character less in front of the query. */
function withoutPrefix(message: string): string {
  const plain = message.replace(/^invalid query: (malformed SQL query: )?/, '');
  return plain.replace(/(?<=^syntax error at position )\d+/, (position) => String(Number(position) - 1));
}

const open: Condition = {
  kind: 'or',
  conditions: [WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.PAUSED].map((operand) => ({
    kind: 'compare',
    column: columnNamed('ExecutionStatus'),
    operator: '=',
    operand,
  })),
};
