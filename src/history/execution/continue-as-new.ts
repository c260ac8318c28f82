/** CONTINUE_AS_NEW_WORKFLOW_EXECUTION: this run closes, the next one begins, in one record. */
import { utf8Bytes } from '../../kernel/utf8.ts';
import { effectiveRunTimeout, effectiveTaskTimeout } from './begin-run.ts';
import { decideClose } from './close.ts';
import { memoProblem } from '../fields.ts';
import { searchAttributesProblem } from '../../kernel/search-attributes.ts';
import type { RunView } from '../state.ts';
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
  const backoffMs = chainedBackoff(old, a.backoffStartIntervalMs, draft.nowMs, limits.chainedRunIntervalMsMin);
  const { start } = old;
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
  const next = {
    key: { ...old.key, runId: request.newRunId },
    namespace: old.namespace,
    requestId: request.newRunId,
    retentionMs: request.retentionMs ?? old.retentionMs,
    workflowType,
    taskQueue,
    input: a.input,
    header: a.header,
    memo: a.memo,
    searchAttributes: a.searchAttributes,
    priority: start.priority,
    identity: '',
    executionTimeoutMs: start.executionTimeoutMs,
    runTimeoutMs,
    taskTimeoutMs,
    executionExpirationMs: start.executionExpirationMs,
    backoffMs,
    firstRunId: start.firstRunId,
    continuedRunId: old.key.runId,
    initiator: a.initiator === 0 ? continueAsNewInitiator.workflow : a.initiator,
    lastCompletionResult: a.lastCompletionResult,
    continuedFailure: a.failure === undefined ? undefined : draft.wire.limitCauses(a.failure, limits.failureCausesMax),
    parent: start.parent,
    root: start.parent === undefined ? undefined : start.root,
    // Not those of the runs before it alone: also what this one was given while it was open.
    callbacks: old.callbacks.map(({ callback }) => callback),
    meta: { links: start.links },
  };
  decideClose(closing, { kind: 'continuedAsNew', attributes, next }, commandMeta(command));
  return undefined;
}

function negativeDuration(a: NonNullable<CommandOfType<'continueAsNewWorkflowExecution'>['attributes']>): string | undefined {
  if (a.runTimeoutMs < 0) return 'WorkflowRunTimeout';
  if (a.taskTimeoutMs < 0) return 'WorkflowTaskTimeout';
  return a.backoffStartIntervalMs < 0 ? 'BackoffStartInterval' : undefined;
}

/** A workflow that continues as new at once, for ever, must not turn faster than this. */
function chainedBackoff(old: RunView, wantedMs: number, nowMs: number, intervalMsMin: number): number {
  const livedMs = Math.max(0, nowMs - old.start.executionTimeMs);
  return livedMs + wantedMs < intervalMsMin ? intervalMsMin - livedMs : wantedMs;
}
