/** START_CHILD_WORKFLOW_EXECUTION: the child is started by an outbox task, in whichever shard it belongs to. */
import { assert } from '../../kernel/assert.ts';
import type { RunDraft } from '../draft.ts';
import { utf8Bytes } from '../../kernel/utf8.ts';
import { cronProblem } from '../../kernel/cron-backoff.ts';
import { effectiveRunTimeout, effectiveTaskTimeout } from '../execution/begin-run.ts';
import { retryPolicyProblem, withRetryDefaults } from '../../kernel/retry-policy.ts';
import { priorityProblem } from '../../kernel/priority.ts';
import { searchAttributesProblem } from '../../kernel/search-attributes.ts';
import { memoProblem } from '../fields.ts';
import type { ParentClosePolicy } from '../tasks.ts';
import { idReusePolicy, parentClosePolicy } from '../generated/enums.ts';
import {
  bad,
  commandMeta,
  type CommandFailure,
  type CommandOfType,
  type Completion,
  exceedsBlob,
  exceedsId,
  isKnown,
  tooLarge,
} from '../workflow-task/completion.ts';
import { checkTaskQueue, taskQueueText } from '../workflow-task/task-queue.ts';

const cause = 'badStartChildExecutionAttributes';

type Attributes = NonNullable<CommandOfType<'startChildWorkflowExecution'>['attributes']>;

export function startChildWorkflowExecution(
  completion: Completion,
  command: CommandOfType<'startChildWorkflowExecution'>,
): CommandFailure | undefined {
  const { run, request, completedEventId } = completion;
  const { limits, wire } = run.draft;
  const a = command.attributes;
  if (a === undefined) {
    return bad(cause, 'StartChildWorkflowExecutionCommandAttributes is not set on StartChildWorkflowExecutionCommand.');
  }
  const problem = problemOf(completion, a);
  if (problem !== undefined) return bad(cause, problem);
  const where = `WorkflowId=${a.workflowId} WorkflowType=${a.workflowType} Namespace=${a.namespace}`;
  const retryPolicy = a.retryPolicy === undefined ? undefined : withRetryDefaults(a.retryPolicy);
  const retryIs = retryPolicy === undefined ? undefined : retryPolicyProblem(retryPolicy);
  if (retryIs !== undefined) return bad(cause, `invalid WorkflowRetryPolicy on StartChildWorkflowExecutionCommand: ${retryIs}. ${where}`);
  const cronIs = cronProblem(a.cronSchedule, run.draft.nowMs);
  if (cronIs !== undefined) return bad(cause, `invalid CronSchedule on StartChildWorkflowExecutionCommand: ${cronIs}. ${where}`);
  const priorityIs = a.priority === undefined ? undefined : priorityProblem(wire.decodePriority(a.priority));
  if (priorityIs !== undefined) return bad(cause, priorityIs);
  const attributeTypes = request.searchAttributeTypesElsewhere?.get(a.namespaceId) ?? request.searchAttributeTypes;
  const namespace = a.namespace === '' ? run.run.namespace : a.namespace;
  const attributesProblem = searchAttributesProblem(a.searchAttributes, attributeTypes, namespace, wire, limits);
  if (attributesProblem !== undefined) {
    return bad('badSearchAttributes', `invalid SearchAttributes on StartChildWorkflowCommand: ${attributesProblem}. ${where}`);
  }
  const taskQueue = checkTaskQueue(a.taskQueue, run.run.start.taskQueue, limits.idBytesMax);
  if (typeof taskQueue === 'string')
    return bad(
      cause,
      `invalid TaskQueue on StartChildWorkflowExecutionCommand: ${taskQueue}. ${where} TaskQueue=${taskQueueText(a.taskQueue?.name ?? '')}`,
    );
  if (exceedsBlob(completion, a.input)) return tooLarge(cause, 'StartChildWorkflowExecutionCommandAttributes. Input exceeds size limit.');
  const memoTooLarge = memoProblem(a.memo, wire, limits);
  if (memoTooLarge !== undefined) return tooLarge(cause, `StartChildWorkflowExecutionCommandAttributes.Memo ${memoTooLarge}`);
  const pending = run.run.children.size;
  if (pending >= limits.pendingChildrenMax) {
    const detail = `the number of pending child workflow executions, ${pending}, has reached the per-workflow limit of ${limits.pendingChildrenMax}`;
    return bad('pendingChildWorkflowsLimitExceeded', detail);
  }

  const runTimeoutMs = effectiveRunTimeout(a.runTimeoutMs, a.executionTimeoutMs);
  const initiatedEventId = run.add(
    'startChildWorkflowExecutionInitiated',
    {
      namespace,
      workflowId: a.workflowId,
      workflowType: { name: a.workflowType },
      taskQueue,
      input: a.input,
      workflowExecutionTimeoutMs: a.executionTimeoutMs,
      workflowRunTimeoutMs: runTimeoutMs,
      workflowTaskTimeoutMs: effectiveTaskTimeout(a.taskTimeoutMs, runTimeoutMs, limits),
      parentClosePolicy: closePolicyOf(a.parentClosePolicy),
      control: a.control,
      workflowTaskCompletedEventId: completedEventId,
      workflowIdReusePolicy: a.workflowIdReusePolicy === 0 ? 1 : a.workflowIdReusePolicy,
      retryPolicy,
      cronSchedule: a.cronSchedule,
      header: a.header,
      memo: a.memo,
      searchAttributes: a.searchAttributes,
      namespaceId: a.namespaceId === '' ? run.run.key.namespaceId : a.namespaceId,
      inheritBuildId: a.inheritBuildId,
      priority: a.priority,
      timeSkippingConfig: undefined,
      timeSkippingStatePropagation: undefined,
      versioningOverride: undefined,
    },
    commandMeta(command),
  );
  completion.childrenStarted.add(a.workflowId);
  addStartChild(run, initiatedEventId);
  return undefined;
}

/** The task that starts it. */
export function addStartChild(run: RunDraft, initiatedEventId: number): void {
  const child = run.run.children.get(initiatedEventId);
  assert(child !== undefined, 'a child that starts is pending');
  const { namespaceId, workflowId, parentClosePolicy: policy } = child.attributes;
  run.addTask({
    kind: 'startChild',
    taskId: run.draft.nextTaskId(),
    key: run.run.key,
    version: 0,
    initiatedEventId,
    target: { namespaceId, workflowId, runId: '' },
    parentClosePolicy: closePolicyOf(policy),
  });
}

/** What the enum does not name counts as its default. */
function closePolicyOf(value: number): ParentClosePolicy {
  return value === parentClosePolicy.abandon || value === parentClosePolicy.requestCancel ? value : parentClosePolicy.terminate;
}

function problemOf(completion: Completion, a: Attributes): string | undefined {
  const { workflowId, workflowType, namespace } = a;
  const command = 'StartChildWorkflowExecutionCommand';
  const where = `WorkflowId=${workflowId} WorkflowType=${workflowType} Namespace=${namespace}`;
  const limit = `Limit=${completion.run.draft.limits.idBytesMax}`;
  if (workflowId === '') return `Required field WorkflowId is not set on ${command}. WorkflowType=${workflowType} Namespace=${namespace}`;
  if (workflowType === '') return `Required field WorkflowType is not set on ${command}. WorkflowId=${workflowId} Namespace=${namespace}`;
  if (exceedsId(completion, workflowId)) {
    return `WorkflowId on ${command} exceeds length limit. WorkflowId=${workflowId} Length=${utf8Bytes(workflowId)} ${limit} WorkflowType=${workflowType} Namespace=${namespace}`;
  }
  if (exceedsId(completion, workflowType)) {
    return `WorkflowType on ${command} exceeds length limit. WorkflowId=${workflowId} WorkflowType=${workflowType} Length=${utf8Bytes(workflowType)} ${limit} Namespace=${namespace}`;
  }
  if (!isKnown(a.parentClosePolicy, parentClosePolicy.requestCancel))
    return `Invalid ParentClosePolicy on ${command}: ${a.parentClosePolicy}. ${where}`;
  if (!isKnown(a.workflowIdReusePolicy, idReusePolicy.terminateIfRunning))
    return `Invalid WorkflowIdReusePolicy on ${command}: ${a.workflowIdReusePolicy}. ${where}`;
  if (a.executionTimeoutMs < 0) return `Invalid WorkflowExecutionTimeout on ${command}: negative duration. ${where}`;
  if (a.runTimeoutMs < 0) return `Invalid WorkflowRunTimeout on ${command}: negative duration. ${where}`;
  if (a.taskTimeoutMs < 0) return `Invalid WorkflowTaskTimeout on ${command}: negative duration. ${where}`;
  return undefined;
}
