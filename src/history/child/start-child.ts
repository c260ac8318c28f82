/** START_CHILD_WORKFLOW_EXECUTION: the child is started by an outbox task, in whichever shard it belongs to. */
import { assert } from '../../kernel/assert.ts';
import type { RunDraft } from '../draft/draft.ts';
import { utf8Bytes } from '../../kernel/utf8.ts';
import { effectiveRunTimeout, effectiveTaskTimeout } from '../steps/begin-run.ts';
import { withRetryDefaults } from '../../kernel/retry-policy.ts';
import { priorityProblem } from '../../kernel/priority.ts';
import { searchAttributesProblem } from '../../kernel/search-attributes.ts';
import type { ParentClosePolicy } from '../run/tasks.ts';
import { idReusePolicy, parentClosePolicy } from '../generated/enums.ts';
import type { StartChildWorkflowExecutionInitiatedAttributes, TaskQueue } from '../generated/public-api.ts';
import { againProblem, sizeProblem } from '../steps/begun-run.ts';
import { bad, commandMeta, exceedsId, isKnown, tooLarge } from '../steps/completion.ts';
import type { CommandFailure, CommandOfType, Completion } from '../steps/completion.ts';
import { checkTaskQueue, taskQueueText } from '../run/task-queue.ts';

const cause = 'badStartChildExecutionAttributes';
const on = 'StartChildWorkflowExecutionCommand';
const names = { input: `${on}Attributes. Input`, memo: `${on}Attributes.Memo` };

type Attributes = NonNullable<CommandOfType<'startChildWorkflowExecution'>['attributes']>;

/** What the command leaves open is the parent's. */
type Settled = Pick<StartChildWorkflowExecutionInitiatedAttributes, 'namespace' | 'retryPolicy'>;

export function startChildWorkflowExecution(
  completion: Completion,
  command: CommandOfType<'startChildWorkflowExecution'>,
): CommandFailure | undefined {
  const { run } = completion;
  const { limits } = run.draft;
  const a = command.attributes;
  if (a === undefined) return bad(cause, `${on}Attributes is not set on ${on}.`);
  const retryPolicy = a.retryPolicy === undefined ? undefined : withRetryDefaults(a.retryPolicy);
  const settled = { namespace: a.namespace === '' ? run.run.namespace : a.namespace, retryPolicy };
  const refused = meaningFailure(completion, a, settled);
  if (refused !== undefined) return refused;
  const taskQueue = checkTaskQueue(a.taskQueue, run.run.start.taskQueue, limits.idBytesMax);
  if (typeof taskQueue === 'string') {
    const queueText = taskQueueText(a.taskQueue?.name ?? '');
    return bad(cause, `invalid TaskQueue on ${on}: ${taskQueue}. ${whereOf(a)} TaskQueue=${queueText}`);
  }
  const sizeIs = sizeProblem(completion, a, names);
  if (sizeIs !== undefined) return tooLarge(cause, sizeIs);
  const pending = run.run.children.size;
  if (pending >= limits.pendingChildrenMax) {
    const detail = `the number of pending child workflow executions, ${pending}, has reached the per-workflow limit of ${limits.pendingChildrenMax}`;
    return bad('pendingChildWorkflowsLimitExceeded', detail);
  }
  const attributes = initiatedAttributes(completion, a, settled, taskQueue);
  const initiatedEventId = run.add('startChildWorkflowExecutionInitiated', attributes, commandMeta(command));
  completion.childrenStarted.add(a.workflowId);
  addStartChild(run, initiatedEventId);
  return undefined;
}

/** Looks in the order of Temporal; what comes of the queue, of sizes and of numbers is told behind it. */
function meaningFailure(completion: Completion, a: Attributes, { namespace, retryPolicy }: Settled): CommandFailure | undefined {
  const { request, run } = completion;
  const { limits, wire } = run.draft;
  const where = whereOf(a);
  const problem = problemOf(completion, a) ?? againProblem(completion, { retryPolicy, cronSchedule: a.cronSchedule }, on, where);
  if (problem !== undefined) return bad(cause, problem);
  const priorityIs = a.priority === undefined ? undefined : priorityProblem(wire.decodePriority(a.priority));
  if (priorityIs !== undefined) return bad(cause, priorityIs);
  const types = request.searchAttributeTypesElsewhere?.get(a.namespaceId) ?? request.searchAttributeTypes;
  const attributesAre = searchAttributesProblem(a.searchAttributes, types, namespace, wire, limits);
  if (attributesAre === undefined) return undefined;
  return bad('badSearchAttributes', `invalid SearchAttributes on StartChildWorkflowCommand: ${attributesAre}. ${where}`);
}

function whereOf({ workflowId, workflowType, namespace }: Attributes): string {
  return `WorkflowId=${workflowId} WorkflowType=${workflowType} Namespace=${namespace}`;
}

function initiatedAttributes(
  { run, completedEventId }: Completion,
  a: Attributes,
  { namespace, retryPolicy }: Settled,
  taskQueue: TaskQueue,
): StartChildWorkflowExecutionInitiatedAttributes {
  const runTimeoutMs = effectiveRunTimeout(a.runTimeoutMs, a.executionTimeoutMs);
  return {
    namespace,
    workflowId: a.workflowId,
    workflowType: { name: a.workflowType },
    taskQueue,
    input: a.input,
    workflowExecutionTimeoutMs: a.executionTimeoutMs,
    workflowRunTimeoutMs: runTimeoutMs,
    workflowTaskTimeoutMs: effectiveTaskTimeout(a.taskTimeoutMs, runTimeoutMs, run.draft.limits),
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
  };
}

export function addStartChild(run: RunDraft, initiatedEventId: number): void {
  const child = run.run.children.get(initiatedEventId);
  assert(child !== undefined, 'a child that starts is pending');
  const { namespaceId, workflowId, parentClosePolicy: policy } = child.attributes;
  const target = { namespaceId, workflowId, runId: '' };
  run.addTask({ kind: 'startChild', initiatedEventId, target, parentClosePolicy: closePolicyOf(policy) });
}

/** What the enum does not name counts as its default. */
function closePolicyOf(value: number): ParentClosePolicy {
  return value === parentClosePolicy.abandon || value === parentClosePolicy.requestCancel ? value : parentClosePolicy.terminate;
}

function problemOf(completion: Completion, a: Attributes): string | undefined {
  const { workflowId, workflowType, namespace } = a;
  const where = whereOf(a);
  const limit = `Limit=${completion.run.draft.limits.idBytesMax}`;
  if (workflowId === '') return `Required field WorkflowId is not set on ${on}. WorkflowType=${workflowType} Namespace=${namespace}`;
  if (workflowType === '') return `Required field WorkflowType is not set on ${on}. WorkflowId=${workflowId} Namespace=${namespace}`;
  if (exceedsId(completion, workflowId)) {
    return `WorkflowId on ${on} exceeds length limit. WorkflowId=${workflowId} Length=${utf8Bytes(workflowId)} ${limit} WorkflowType=${workflowType} Namespace=${namespace}`;
  }
  if (exceedsId(completion, workflowType)) {
    return `WorkflowType on ${on} exceeds length limit. WorkflowId=${workflowId} WorkflowType=${workflowType} Length=${utf8Bytes(workflowType)} ${limit} Namespace=${namespace}`;
  }
  if (!isKnown(a.parentClosePolicy, parentClosePolicy.requestCancel))
    return `Invalid ParentClosePolicy on ${on}: ${a.parentClosePolicy}. ${where}`;
  if (!isKnown(a.workflowIdReusePolicy, idReusePolicy.terminateIfRunning))
    return `Invalid WorkflowIdReusePolicy on ${on}: ${a.workflowIdReusePolicy}. ${where}`;
  if (a.executionTimeoutMs < 0) return `Invalid WorkflowExecutionTimeout on ${on}: negative duration. ${where}`;
  if (a.runTimeoutMs < 0) return `Invalid WorkflowRunTimeout on ${on}: negative duration. ${where}`;
  if (a.taskTimeoutMs < 0) return `Invalid WorkflowTaskTimeout on ${on}: negative duration. ${where}`;
  return undefined;
}
