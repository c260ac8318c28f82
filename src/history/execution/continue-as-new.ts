/** CONTINUE_AS_NEW_WORKFLOW_EXECUTION: this run closes, the next one begins, in one record. */
import { utf8Bytes } from '../../kernel/utf8.ts';
import { effectiveRunTimeout, effectiveTaskTimeout } from '../steps/begin-run.ts';
import { callbacksToHandOn, nextRun, type NextRunAttributes, successorOf } from '../steps/next-run.ts';
import { decideClose } from '../steps/close.ts';
import { withRetryDefaults } from '../../kernel/retry-policy.ts';
import { searchAttributesProblem } from '../../kernel/search-attributes.ts';
import { continueAsNewInitiator } from '../generated/enums.ts';
import { unhandledCommand } from './close-workflow.ts';
import { againProblem, sizeProblem } from '../steps/begun-run.ts';
import { bad, commandMeta, exceedsId, isKnown, tooLarge } from '../steps/completion.ts';
import type { CommandFailure, CommandOfType, Completion } from '../steps/completion.ts';
import { checkTaskQueue, taskQueueText } from '../run/task-queue.ts';

const cause = 'badContinueAsNewAttributes';
const on = 'ContinueAsNewWorkflowExecutionCommand';
const names = { input: `${on}Attributes. Input`, memo: `${on}Attributes. Memo` };

type Attributes = NonNullable<CommandOfType<'continueAsNewWorkflowExecution'>['attributes']>;

/** What the command leaves open is as in this run. */
type Settled = Pick<NextRunAttributes, 'workflowType' | 'taskQueue' | 'runTimeoutMs' | 'taskTimeoutMs' | 'retryPolicy'>;

export function continueAsNewWorkflowExecution(
  completion: Completion,
  command: CommandOfType<'continueAsNewWorkflowExecution'>,
): CommandFailure | undefined {
  if (completion.unhandledEvents) return unhandledCommand;
  const a = command.attributes;
  if (a === undefined) return bad(cause, `${on}Attributes is not set on ${on}.`);
  const { run: closing } = completion;
  const { run: old, draft } = closing;
  const { start } = old;
  const workflowType = a.workflowType === '' ? start.workflowType : a.workflowType;
  if (exceedsId(completion, workflowType)) return bad(cause, typeTooLong(workflowType, draft.limits.idBytesMax));
  const taskQueue = checkTaskQueue(a.taskQueue, start.taskQueue, draft.limits.idBytesMax);
  if (typeof taskQueue === 'string') {
    const where = `WorkflowType=${workflowType} TaskQueue=${taskQueueText(a.taskQueue?.name ?? '')}`;
    return bad(cause, `error validating ${on} TaskQueue: ${taskQueue}. ${where}`);
  }
  const runTimeoutMs = effectiveRunTimeout(a.runTimeoutMs === 0 ? start.runTimeoutMs : a.runTimeoutMs, start.executionTimeoutMs);
  const taskTimeoutMs = effectiveTaskTimeout(a.taskTimeoutMs === 0 ? start.taskTimeoutMs : a.taskTimeoutMs, runTimeoutMs, draft.limits);
  const retryPolicy = a.retryPolicy === undefined ? undefined : withRetryDefaults(a.retryPolicy);
  const settled = { workflowType, taskQueue, runTimeoutMs, taskTimeoutMs, retryPolicy };
  const failure = failureOf(completion, a, settled);
  if (failure !== undefined) return failure;
  const next = nextRun(draft, old, nextAttributes(completion, a, settled));
  decideClose(closing, { kind: 'continuedAsNew', attributes: eventAttributes(completion, a, settled), next }, commandMeta(command));
  return undefined;
}

function typeTooLong(workflowType: string, idBytesMax: number): string {
  const lengths = `Length=${utf8Bytes(workflowType)} Limit=${idBytesMax}`;
  return `WorkflowType on ${on} exceeds length limit. WorkflowType=${workflowType} ${lengths}`;
}

function failureOf(completion: Completion, a: Attributes, { workflowType, taskQueue, retryPolicy }: Settled): CommandFailure | undefined {
  const { run, draft } = completion.run;
  const where = `WorkflowType=${workflowType} TaskQueue=${taskQueueText(taskQueue.name)}`;
  const negative = negativeDuration(a);
  if (negative !== undefined) return bad(cause, `Invalid ${negative} on ${on}: negative duration. ${where}`);
  if (!isKnown(a.initiator, continueAsNewInitiator.cronSchedule)) {
    return bad(cause, `Invalid Initiator on ${on}: ${a.initiator}. WorkflowType=${workflowType}`);
  }
  const againIs = againProblem(completion, { retryPolicy, cronSchedule: a.cronSchedule }, on, where);
  if (againIs !== undefined) return bad(cause, againIs);
  const { searchAttributeTypes } = completion.request;
  const attributesAre = searchAttributesProblem(a.searchAttributes, searchAttributeTypes, run.namespace, draft.wire, draft.limits);
  if (attributesAre !== undefined) {
    return bad('badSearchAttributes', `invalid SearchAttributes on ${on}: ${attributesAre}. WorkflowType=${workflowType}`);
  }
  const sizeIs = sizeProblem(completion, a, names);
  return sizeIs === undefined ? undefined : tooLarge(cause, sizeIs);
}

function negativeDuration(a: Attributes): string | undefined {
  if (a.runTimeoutMs < 0) return 'WorkflowRunTimeout';
  if (a.taskTimeoutMs < 0) return 'WorkflowTaskTimeout';
  return a.backoffStartIntervalMs < 0 ? 'BackoffStartInterval' : undefined;
}

function eventAttributes({ request, completedEventId }: Completion, a: Attributes, settled: Settled) {
  return {
    newExecutionRunId: request.newRunId,
    workflowType: { name: settled.workflowType },
    taskQueue: settled.taskQueue,
    input: a.input,
    workflowRunTimeoutMs: settled.runTimeoutMs,
    workflowTaskTimeoutMs: settled.taskTimeoutMs,
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
}

function nextAttributes({ run: { run: old }, request }: Completion, a: Attributes, settled: Settled): NextRunAttributes {
  return {
    ...successorOf(request),
    ...settled,
    input: a.input,
    header: a.header,
    memo: a.memo,
    searchAttributes: a.searchAttributes,
    priority: old.start.priority,
    cronSchedule: a.cronSchedule,
    attempt: a.initiator === continueAsNewInitiator.retry ? old.start.attempt + 1 : 1,
    initiator: a.initiator === 0 ? continueAsNewInitiator.workflow : a.initiator,
    backoffMs: a.backoffStartIntervalMs,
    lastCompletionResult: a.lastCompletionResult,
    callbacks: callbacksToHandOn(old),
    failure: a.failure,
  };
}
