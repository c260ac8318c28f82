/** CONTINUE_AS_NEW_WORKFLOW_EXECUTION: this run closes, the next one begins, in one record. */
import { utf8Bytes } from '../../kernel/utf8.ts';
import { effectiveRunTimeout, effectiveTaskTimeout } from './begin-run.ts';
import { callbacksToHandOn, nextRun, successorOf } from './next-run.ts';
import { cronProblem } from '../../kernel/cron-backoff.ts';
import { decideClose } from './close.ts';
import { memoProblem } from '../fields.ts';
import { retryPolicyProblem, withRetryDefaults } from '../../kernel/retry-policy.ts';
import { searchAttributesProblem } from '../../kernel/search-attributes.ts';
import { continueAsNewInitiator } from '../generated/enums.ts';
import { unhandledCommand } from './close-workflow.ts';
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

const cause = 'badContinueAsNewAttributes';

export function continueAsNewWorkflowExecution(
  completion: Completion,
  command: CommandOfType<'continueAsNewWorkflowExecution'>,
): CommandFailure | undefined {
  if (completion.unhandledEvents) return unhandledCommand;
  const { request, completedEventId } = completion;
  const closing = completion.run;
  const old = closing.run;
  const { draft } = closing;
  const { limits } = draft;
  const a = command.attributes;
  if (a === undefined) {
    return bad(cause, 'ContinueAsNewWorkflowExecutionCommandAttributes is not set on ContinueAsNewWorkflowExecutionCommand.');
  }
  const workflowType = a.workflowType === '' ? old.start.workflowType : a.workflowType;
  if (exceedsId(completion, workflowType)) {
    const lengths = `Length=${utf8Bytes(workflowType)} Limit=${limits.idBytesMax}`;
    return bad(
      cause,
      `WorkflowType on ContinueAsNewWorkflowExecutionCommand exceeds length limit. WorkflowType=${workflowType} ${lengths}`,
    );
  }
  const taskQueue = checkTaskQueue(a.taskQueue, old.start.taskQueue, limits.idBytesMax);
  if (typeof taskQueue === 'string') {
    const where = `WorkflowType=${workflowType} TaskQueue=${taskQueueText(a.taskQueue?.name ?? '')}`;
    return bad(cause, `error validating ContinueAsNewWorkflowExecutionCommand TaskQueue: ${taskQueue}. ${where}`);
  }
  const negative = negativeDuration(a);
  if (negative !== undefined) {
    const where = `WorkflowType=${workflowType} TaskQueue=${taskQueueText(taskQueue.name)}`;
    return bad(cause, `Invalid ${negative} on ContinueAsNewWorkflowExecutionCommand: negative duration. ${where}`);
  }
  if (!isKnown(a.initiator, continueAsNewInitiator.cronSchedule)) {
    return bad(cause, `Invalid Initiator on ContinueAsNewWorkflowExecutionCommand: ${a.initiator}. WorkflowType=${workflowType}`);
  }
  const where = `WorkflowType=${workflowType} TaskQueue=${taskQueueText(taskQueue.name)}`;
  const retryPolicy = a.retryPolicy === undefined ? undefined : withRetryDefaults(a.retryPolicy);
  const retryIs = retryPolicy === undefined ? undefined : retryPolicyProblem(retryPolicy);
  if (retryIs !== undefined)
    return bad(cause, `invalid WorkflowRetryPolicy on ContinueAsNewWorkflowExecutionCommand: ${retryIs}. ${where}`);
  const cronIs = cronProblem(a.cronSchedule, draft.nowMs);
  if (cronIs !== undefined) return bad(cause, `invalid CronSchedule on ContinueAsNewWorkflowExecutionCommand: ${cronIs}. ${where}`);
  const problem = searchAttributesProblem(a.searchAttributes, request.searchAttributeTypes, old.namespace, draft.wire, limits);
  if (problem !== undefined) {
    const detail = `invalid SearchAttributes on ContinueAsNewWorkflowExecutionCommand: ${problem}. WorkflowType=${workflowType}`;
    return bad('badSearchAttributes', detail);
  }
  if (exceedsBlob(completion, a.input))
    return tooLarge(cause, 'ContinueAsNewWorkflowExecutionCommandAttributes. Input exceeds size limit.');
  const memoTooLarge = memoProblem(a.memo, draft.wire, limits);
  if (memoTooLarge !== undefined) return tooLarge(cause, `ContinueAsNewWorkflowExecutionCommandAttributes. Memo ${memoTooLarge}`);

  const runTimeoutMs = effectiveRunTimeout(a.runTimeoutMs === 0 ? old.start.runTimeoutMs : a.runTimeoutMs, old.start.executionTimeoutMs);
  const taskTimeoutMs = effectiveTaskTimeout(a.taskTimeoutMs === 0 ? old.start.taskTimeoutMs : a.taskTimeoutMs, runTimeoutMs, limits);
  const attributes = {
    newExecutionRunId: request.newRunId,
    workflowType: { name: workflowType },
    taskQueue,
    input: a.input,
    workflowRunTimeoutMs: runTimeoutMs,
    workflowTaskTimeoutMs: taskTimeoutMs,
    workflowTaskCompletedEventId: completedEventId,
    // As the command had it: the pause that keeps two runs apart stands in the next run's Started.
    backoffStartIntervalMs: a.backoffStartIntervalMs,
    initiator: a.initiator,
    failure: a.failure,
    lastCompletionResult: a.lastCompletionResult,
    header: a.header,
    memo: a.memo,
    searchAttributes: a.searchAttributes,
    inheritBuildId: a.inheritBuildId,
    initialVersioningBehavior: 0,
  };
  const next = nextRun(draft, old, {
    ...successorOf(request),
    workflowType,
    taskQueue,
    input: a.input,
    header: a.header,
    memo: a.memo,
    searchAttributes: a.searchAttributes,
    priority: old.start.priority,
    runTimeoutMs,
    taskTimeoutMs,
    retryPolicy,
    cronSchedule: a.cronSchedule,
    attempt: a.initiator === continueAsNewInitiator.retry ? old.start.attempt + 1 : 1,
    initiator: a.initiator === 0 ? continueAsNewInitiator.workflow : a.initiator,
    backoffMs: a.backoffStartIntervalMs,
    lastCompletionResult: a.lastCompletionResult,
    callbacks: callbacksToHandOn(old),
    failure: a.failure,
  });
  decideClose(closing, { kind: 'continuedAsNew', attributes, next }, commandMeta(command));
  return undefined;
}

function negativeDuration(a: NonNullable<CommandOfType<'continueAsNewWorkflowExecution'>['attributes']>): string | undefined {
  if (a.runTimeoutMs < 0) return 'WorkflowRunTimeout';
  if (a.taskTimeoutMs < 0) return 'WorkflowTaskTimeout';
  return a.backoffStartIntervalMs < 0 ? 'BackoffStartInterval' : undefined;
}
