/**
 * An operation of a batch job on one workflow, as the request that a client would send. Requests have ids that are made of the job's run and the
 * workflow's: what is sent again after a crash lands once.
 */
import { createHash } from 'node:crypto';
import { unreachable } from '../../kernel/assert.ts';
import type { BatchTarget } from '../../actors/batch-operations.ts';
import {
  encodeDeleteWorkflowExecutionRequest,
  encodeRequestCancelWorkflowExecutionRequest,
  encodeResetActivityRequest,
  encodeResetWorkflowExecutionRequest,
  encodeSignalWorkflowExecutionRequest,
  encodeTerminateWorkflowExecutionRequest,
  encodeUnpauseActivityRequest,
  encodeUpdateActivityOptionsRequest,
  encodeUpdateWorkflowExecutionOptionsRequest,
} from '../../wire/generated/lean/workflow_service.ts';
import type { BatchOperation } from './batch-definition.ts';
import type { ResetPoint } from './reset-point.ts';

/** What a job is to do, and in whose name. */
export type JobToPerform = {
  readonly operation: BatchOperation;
  readonly namespace: string;
  /** Of the job. */
  readonly runId: string;
  readonly reason: string;
};

export type OperationRequest = { readonly method: string; readonly bytes: Uint8Array };

/** `resetTo`: of a reset alone. */
export function operationRequest(job: JobToPerform, target: BatchTarget, resetTo: ResetPoint | undefined): OperationRequest {
  const { operation, namespace, reason } = job;
  const requestId = requestIdOf(job, target);
  const workflow = { namespace, workflowExecution: target };
  const activities = { namespace, execution: target, id: undefined };
  switch (operation.kind) {
    case 'terminate': {
      const { details, identity } = operation.of;
      const request = { ...workflow, reason, details, identity, firstExecutionRunId: '', links: [] };
      return { method: 'TerminateWorkflowExecution', bytes: encodeTerminateWorkflowExecutionRequest(request) };
    }
    case 'signal': {
      const { signal: signalName, input, header, identity } = operation.of;
      const request = { ...workflow, signalName, input, header, identity, requestId, control: '', links: [] };
      return { method: 'SignalWorkflowExecution', bytes: encodeSignalWorkflowExecutionRequest(request) };
    }
    case 'cancel': {
      const request = { ...workflow, identity: operation.of.identity, requestId, firstExecutionRunId: '', reason: '', links: [] };
      return { method: 'RequestCancelWorkflowExecution', bytes: encodeRequestCancelWorkflowExecutionRequest(request) };
    }
    case 'delete':
      return { method: 'DeleteWorkflowExecution', bytes: encodeDeleteWorkflowExecutionRequest(workflow) };
    case 'reset': {
      const { identity, postResetOperations, options, resetReapplyType } = operation.of;
      const request = {
        namespace,
        // Its events were looked at: by now another run may be the current one.
        workflowExecution: { ...target, runId: resetTo?.runId ?? target.runId },
        reason,
        requestId,
        workflowTaskFinishEventId: resetTo?.eventId ?? 0,
        resetReapplyType: options?.resetReapplyType ?? resetReapplyType,
        resetReapplyExcludeTypes: options?.resetReapplyExcludeTypes ?? [],
        postResetOperations,
        identity,
      };
      return { method: 'ResetWorkflowExecution', bytes: encodeResetWorkflowExecutionRequest(request) };
    }
    case 'update_options':
      return {
        method: 'UpdateWorkflowExecutionOptions',
        bytes: encodeUpdateWorkflowExecutionOptionsRequest({ ...operation.of, ...workflow }),
      };
    case 'unpause_activities': {
      const { matchAll: unpauseAll, ...request } = operation.of;
      return { method: 'UnpauseActivity', bytes: encodeUnpauseActivityRequest({ ...request, ...activities, unpauseAll }) };
    }
    case 'reset_activities':
      return { method: 'ResetActivity', bytes: encodeResetActivityRequest({ ...operation.of, ...activities }) };
    case 'update_activity_options':
      return { method: 'UpdateActivityOptions', bytes: encodeUpdateActivityOptionsRequest({ ...operation.of, ...activities }) };
    default:
      return unreachable(operation);
  }
}

/** The job's run, not its id: a later job of that id asks anew. */
export function requestIdOf({ runId }: JobToPerform, target: BatchTarget): string {
  const hex = createHash('sha256').update(`${runId}\n${target.runId}\n${target.workflowId}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
