/** What a batch job is to do, and whom it is for: its StartBatchOperationRequest in words of its own. */
import type {
  BatchOperationCancellation,
  BatchOperationDeletion,
  BatchOperationReset,
  BatchOperationResetActivities,
  BatchOperationSignal,
  BatchOperationTermination,
  BatchOperationUnpauseActivities,
  BatchOperationUpdateActivityOptions,
  BatchOperationUpdateWorkflowExecutionOptions,
  Execution,
  StartBatchOperationRequest,
} from '../../wire/generated/lean/batch.ts';
import { BatchOperationType, ExecutionType } from '../../wire/generated/lean/enums.ts';

export type BatchOperation =
  | { readonly kind: 'terminate'; readonly of: BatchOperationTermination }
  | { readonly kind: 'signal'; readonly of: BatchOperationSignal }
  | { readonly kind: 'cancel'; readonly of: BatchOperationCancellation }
  | { readonly kind: 'delete'; readonly of: BatchOperationDeletion }
  | { readonly kind: 'reset'; readonly of: BatchOperationReset }
  | { readonly kind: 'update_options'; readonly of: BatchOperationUpdateWorkflowExecutionOptions }
  | { readonly kind: 'unpause_activities'; readonly of: BatchOperationUnpauseActivities }
  | { readonly kind: 'reset_activities'; readonly of: BatchOperationResetActivities }
  | { readonly kind: 'update_activity_options'; readonly of: BatchOperationUpdateActivityOptions };

/** By the names that Temporal writes into the memo of a job. */
export const operationTypes: { readonly [kind in BatchOperation['kind']]: number } = {
  terminate: BatchOperationType.TERMINATE_WORKFLOW,
  signal: BatchOperationType.SIGNAL_WORKFLOW,
  cancel: BatchOperationType.CANCEL_WORKFLOW,
  delete: BatchOperationType.DELETE_WORKFLOW,
  reset: BatchOperationType.RESET_WORKFLOW,
  update_options: BatchOperationType.UPDATE_WORKFLOW_EXECUTION_OPTIONS,
  unpause_activities: BatchOperationType.UNPAUSE_ACTIVITY,
  reset_activities: BatchOperationType.RESET_ACTIVITY,
  update_activity_options: BatchOperationType.UPDATE_ACTIVITY_OPTIONS,
};

/** undefined: none that this server knows. */
export function operationOf(request: StartBatchOperationRequest): BatchOperation | undefined {
  const { terminationOperation, signalOperation, cancellationOperation, deletionOperation, resetOperation } = request;
  const { updateWorkflowOptionsOperation, unpauseActivitiesOperation, resetActivitiesOperation } = request;
  const { updateActivityOptionsOperation } = request;
  if (terminationOperation !== undefined) return { kind: 'terminate', of: terminationOperation };
  if (signalOperation !== undefined) return { kind: 'signal', of: signalOperation };
  if (cancellationOperation !== undefined) return { kind: 'cancel', of: cancellationOperation };
  if (deletionOperation !== undefined) return { kind: 'delete', of: deletionOperation };
  if (resetOperation !== undefined) return { kind: 'reset', of: resetOperation };
  if (updateWorkflowOptionsOperation !== undefined) return { kind: 'update_options', of: updateWorkflowOptionsOperation };
  if (unpauseActivitiesOperation !== undefined) return { kind: 'unpause_activities', of: unpauseActivitiesOperation };
  if (resetActivitiesOperation !== undefined) return { kind: 'reset_activities', of: resetActivitiesOperation };
  if (updateActivityOptionsOperation !== undefined) return { kind: 'update_activity_options', of: updateActivityOptionsOperation };
  return undefined;
}

/** What closed workflows do not take: the job is for those that are open, as in Temporal. */
export function isForOpenOnes({ kind }: BatchOperation): boolean {
  return kind !== 'delete' && kind !== 'reset';
}

/** Of a list; empty: the job has a query. */
export function executionsOf({ executions, targetExecutions }: StartBatchOperationRequest): readonly Execution[] {
  if (targetExecutions.length > 0) return targetExecutions;
  return executions.map(({ workflowId, runId }) => ({ type: ExecutionType.WORKFLOW, businessId: workflowId, runId }));
}
