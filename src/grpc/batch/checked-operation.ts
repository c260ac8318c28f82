/** What a batch job may be, in Temporal's order and words. */
import { unreachable } from '../../kernel/assert.ts';
import type {
  BatchOperationReset,
  BatchOperationResetActivities,
  BatchOperationUnpauseActivities,
  BatchOperationUpdateActivityOptions,
  BatchOperationUpdateWorkflowExecutionOptions,
  StartBatchOperationRequest,
} from '../../wire/generated/lean/batch.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import { bounds, checkBound } from '../validation/bounds.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { priorityChangesOf } from '../validation/post-reset.ts';
import { checkPriority } from '../validation/priority.ts';
import { optionFields } from '../validation/workflow-options.ts';
import { type BatchOperation, operationOf } from './batch-definition.ts';
import { resetTarget } from './reset-point.ts';

const requestType = '*workflowservice.StartBatchOperationRequest_';

const fieldNames: { readonly [kind in BatchOperation['kind']]: string } = {
  terminate: 'TerminationOperation',
  signal: 'SignalOperation',
  cancel: 'CancellationOperation',
  delete: 'DeletionOperation',
  reset: 'ResetOperation',
  update_options: 'UpdateWorkflowOptionsOperation',
  unpause_activities: 'UnpauseActivitiesOperation',
  reset_activities: 'ResetActivitiesOperation',
  update_activity_options: 'UpdateActivityOptionsOperation',
};

export function checkedOperation(request: StartBatchOperationRequest): BatchOperation {
  checkNotOfActivities(request);
  const operation = operationOf(request);
  const { visibilityQuery, executions, targetExecutions, reason, jobId } = request;
  const selectors = [visibilityQuery, executions, targetExecutions].filter(({ length }) => length > 0).length;
  if (operation === undefined || reason === '' || selectors === 0) {
    throw invalidArgument(
      'must provide required parameters: BatchType,Reason,Namespace, AND one of (Query OR Executions OR TargetExecutions)',
    );
  }
  if (jobId === '') throw invalidArgument('JobId is not set on request.');
  if (selectors > 1) throw invalidArgument('visibility query, executions, and target executions are mutually exclusive');
  for (const [nth, { type }] of targetExecutions.entries()) {
    const problem = bounds['Execution.type'].problem(type);
    if (problem === undefined) continue;
    throw invalidArgument(
      `target_executions[${nth}] ${problem}, but operation ${requestType}${fieldNames[operation.kind]} requires Workflow`,
    );
  }
  checkBound('StartBatchOperationRequest.max_operations_per_second', request.maxOperationsPerSecond);
  checkOperation(operation);
  return operation;
}

/** Those that stand alone, which this server does not have. */
function checkNotOfActivities(request: StartBatchOperationRequest): void {
  const { cancelActivitiesOperation, terminateActivitiesOperation, deleteActivitiesOperation } = request;
  const name =
    (terminateActivitiesOperation && 'TerminateActivitiesOperation') ??
    (deleteActivitiesOperation && 'DeleteActivitiesOperation') ??
    (cancelActivitiesOperation && 'CancelActivitiesOperation');
  if (name !== undefined) throw invalidArgument(`The operation type ${requestType}${name} is not supported for this namespace`);
}

function checkOperation(operation: BatchOperation): void {
  switch (operation.kind) {
    case 'terminate':
      return checkOpaque(operation.of.details, 'payloads');
    case 'cancel':
    case 'delete':
      return;
    case 'signal':
      if (operation.of.signal === '') throw invalidArgument('must provide signal name');
      checkOpaque(operation.of.input, 'payloads');
      return checkOpaque(operation.of.header, 'fields');
    case 'reset':
      return checkReset(operation.of);
    case 'update_options':
      return checkOptions(operation.of);
    case 'unpause_activities':
      checkBound('BatchOperationUnpauseActivities.jitter', operation.of.jitterMs);
      return checkActivities(operation.of, 'activity filter must be set');
    case 'reset_activities':
      checkBound('BatchOperationResetActivities.jitter', operation.of.jitterMs);
      return checkActivities(operation.of, 'must provide ActivityType or MatchAll');
    case 'update_activity_options':
      return checkActivityOptions(operation.of);
    default:
      return unreachable(operation);
  }
}

/** What no workflow would take is told at once to who made the mistake. */
function checkOptions({ workflowExecutionOptions: options, updateMask }: BatchOperationUpdateWorkflowExecutionOptions): void {
  if (options === undefined) throw invalidArgument('must provide UpdateOptions');
  if (updateMask === undefined) throw invalidArgument('must provide UpdateMask');
  optionFields(updateMask.paths);
  checkPriority(options.priority);
}

function checkReset(reset: BatchOperationReset): void {
  const { options, resetType, postResetOperations } = reset;
  priorityChangesOf(postResetOperations);
  if (options === undefined) {
    checkBound('BatchOperationReset.reset_type', resetType);
    checkBound('BatchOperationReset.reset_reapply_type', reset.resetReapplyType);
    return;
  }
  if (options.buildId !== undefined) throw notBuilt('build_id of ResetOptions');
  if (resetTarget(reset) === undefined) throw invalidArgument('batch reset missing target');
  if (options.workflowTaskId !== undefined) checkBound('ResetOptions.workflow_task_id', options.workflowTaskId);
  checkBound('ResetOptions.reset_reapply_type', options.resetReapplyType);
  for (const type of options.resetReapplyExcludeTypes) checkBound('ResetOptions.reset_reapply_exclude_types', type);
}

type OfActivities = BatchOperationUnpauseActivities | BatchOperationResetActivities | BatchOperationUpdateActivityOptions;

const neither = 'Either activity type must be set, or match all should be set to true';

function checkActivities({ type, matchAll }: OfActivities, unset: string): void {
  if (type === undefined && matchAll === undefined) throw invalidArgument(unset);
  if (type === '' || matchAll === false) throw invalidArgument(neither);
}

function checkActivityOptions(operation: BatchOperationUpdateActivityOptions): void {
  const { activityOptions, restoreOriginal } = operation;
  if (activityOptions !== undefined && restoreOriginal) throw invalidArgument('cannot set both activity options and restore original');
  if (activityOptions === undefined && !restoreOriginal)
    throw invalidArgument('Either activity type must be set, or restore original should be set to true');
  checkActivities(operation, neither);
}
