import type { IdPolicies, StartAttributes } from '../../history/commands/history-commands.ts';
import { isBatchJobs } from '../../batches/job-id.ts';
import { isSchedules } from '../../schedules/schedule-id.ts';
import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from '../../wire/generated/lean/enums.ts';
import type { SignalWithStartWorkflowExecutionRequest, StartWorkflowExecutionRequest } from '../../wire/generated/lean/workflow_service.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import { cronProblem } from '../../kernel/cron-backoff.ts';
import { retryPolicyProblem, withRetryDefaults } from '../../kernel/retry-policy.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import { checkBound } from './bounds.ts';
import { checkBlob, checkMemo, checkOpaque } from './opaque.ts';
import { checkLength, checkWorkflowIdLength, type EdgeLimits, isTooLong, requireTaskQueue, taskQueueFields } from './names.ts';
import { checkPriority } from './options.ts';
import { checkSearchAttributes, withTypes } from './search-attributes.ts';

type StartFields = Pick<
  StartWorkflowExecutionRequest,
  keyof StartWorkflowExecutionRequest &
    keyof Omit<SignalWithStartWorkflowExecutionRequest, 'workflowIdReusePolicy' | 'workflowIdConflictPolicy'>
>;

const linksMax = 10;
const linkBytesMax = 4_000;

/** A signal-with-start says the same things in other words. */
type StartTexts = {
  readonly noType: string;
  readonly longType: (bytes: number, bytesMax: number) => string;
  readonly longRequestId: (bytes: number, bytesMax: number) => string;
};

const startTexts: StartTexts = {
  noType: 'WorkflowType is not set on request.',
  longType: () => 'WorkflowType length exceeds limit.',
  longRequestId: () => 'RequestId length exceeds limit.',
};

export const signalWithStartTexts: StartTexts = {
  noType: 'workflow type not set',
  longType: (bytes, bytesMax) => `workflow type name exceeds maximum allowed length (${bytes}/${bytesMax})`,
  longRequestId: (bytes, bytesMax) => `Request ID exceeds maximum allowed length (${bytes}/${bytesMax})`,
};

/** Checks a start in Temporal's order, so that clients get the same error first; answers what the shard needs. */
export function startAttributes(
  request: StartFields,
  namespace: Namespace,
  limits: EdgeLimits,
  nowMs: number,
  texts: StartTexts = startTexts,
): StartAttributes {
  if (request.workflowId === '') throw invalidArgument('WorkflowId is not set on request.');
  checkWorkflowIdLength(request.workflowId, limits);
  if (isBatchJobs(request)) throw invalidArgument(`WorkflowId ${request.workflowId} is a batch job's.`);
  if (isSchedules(request)) throw invalidArgument(`WorkflowId ${request.workflowId} is a schedule's.`);
  const retryPolicy = checkedRetryPolicy(request.retryPolicy);
  checkBound('StartWorkflowExecutionRequest.workflow_start_delay', request.workflowStartDelayMs);
  if (request.cronSchedule !== '' && request.workflowStartDelayMs !== 0) {
    throw invalidArgument('CronSchedule and WorkflowStartDelay may not be used together.');
  }
  const cronIs = cronProblem(request.cronSchedule, nowMs);
  if (cronIs !== undefined) throw invalidArgument(cronIs);
  const workflowType = request.workflowType?.name ?? '';
  if (workflowType === '') throw invalidArgument(texts.noType);
  if (isTooLong(workflowType, limits)) throw invalidArgument(texts.longType(Buffer.byteLength(workflowType), limits.idBytesMax));
  const taskQueue = requireTaskQueue(request.taskQueue, limits);
  checkBound('StartWorkflowExecutionRequest.workflow_execution_timeout', request.workflowExecutionTimeoutMs);
  checkBound('StartWorkflowExecutionRequest.workflow_run_timeout', request.workflowRunTimeoutMs);
  checkBound('StartWorkflowExecutionRequest.workflow_task_timeout', request.workflowTaskTimeoutMs);
  if (isTooLong(request.requestId, limits))
    throw invalidArgument(texts.longRequestId(Buffer.byteLength(request.requestId), limits.idBytesMax));
  checkLength(request.identity, 'Identity', limits);
  checkLinks(request.links);
  if (request.versioningOverride !== undefined) throw notBuilt('versioning_override');
  if (request.timeSkippingConfig !== undefined) throw notBuilt('time_skipping_config');
  checkBlob(request.input, 'payloads', limits);
  checkBlob(request.header, 'fields', limits);
  checkBlob(request.userMetadata, 'userMetadata', limits);
  checkPriority(request.priority);
  checkMemo(request.memo, limits);
  checkSearchAttributes(request.searchAttributes, namespace, limits);
  return {
    workflowType,
    taskQueue: taskQueueFields(taskQueue),
    input: request.input,
    header: request.header,
    memo: request.memo,
    searchAttributes: withTypes(request.searchAttributes, namespace, limits),
    executionTimeoutMs: request.workflowExecutionTimeoutMs,
    runTimeoutMs: request.workflowRunTimeoutMs,
    taskTimeoutMs: request.workflowTaskTimeoutMs,
    startDelayMs: request.workflowStartDelayMs,
    identity: request.identity,
    userMetadata: request.userMetadata,
    links: request.links,
    priority: request.priority,
    retryPolicy,
    cronSchedule: request.cronSchedule,
  };
}

function checkedRetryPolicy(given: StartFields['retryPolicy']): StartAttributes['retryPolicy'] {
  if (given === undefined) return undefined;
  const policy = withRetryDefaults(given);
  const problem = retryPolicyProblem(policy);
  if (problem !== undefined) throw invalidArgument(problem);
  return policy;
}

export function checkLinks(links: readonly Uint8Array[]): void {
  if (links.length > linksMax) throw invalidArgument(`cannot attach more than ${linksMax} links per request, got ${links.length}`);
  for (const link of links) {
    if (link.length > linkBytesMax) throw invalidArgument(`link exceeds allowed size of ${linkBytesMax}, got ${link.length}`);
    checkOpaque(link, 'link');
  }
}

/** Defaults, the old TERMINATE_IF_RUNNING, and combinations that make no sense. */
export function idPolicies(reuse: number, conflict: number, conflictDefault: 1 | 2): IdPolicies {
  checkBound('StartWorkflowExecutionRequest.workflow_id_reuse_policy', reuse);
  checkBound('StartWorkflowExecutionRequest.workflow_id_conflict_policy', conflict);
  if (reuse === WorkflowIdReusePolicy.TERMINATE_IF_RUNNING) {
    if (conflict !== WorkflowIdConflictPolicy.UNSPECIFIED) {
      throw invalidArgument(
        'Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING cannot be used together with a WorkflowIDConflictPolicy',
      );
    }
    return { reusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE, conflictPolicy: WorkflowIdConflictPolicy.TERMINATE_EXISTING };
  }
  if (conflict === WorkflowIdConflictPolicy.TERMINATE_EXISTING && reuse === WorkflowIdReusePolicy.REJECT_DUPLICATE) {
    throw invalidArgument(
      'Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE cannot be used together with WorkflowIdConflictPolicy WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING',
    );
  }
  const { ALLOW_DUPLICATE, ALLOW_DUPLICATE_FAILED_ONLY, REJECT_DUPLICATE } = WorkflowIdReusePolicy;
  return {
    reusePolicy: reuse === ALLOW_DUPLICATE_FAILED_ONLY || reuse === REJECT_DUPLICATE ? reuse : ALLOW_DUPLICATE,
    conflictPolicy: isConflictPolicy(conflict) ? conflict : conflictDefault,
  };
}

function isConflictPolicy(value: number): value is IdPolicies['conflictPolicy'] {
  return value !== WorkflowIdConflictPolicy.UNSPECIFIED;
}
