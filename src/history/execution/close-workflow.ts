/** COMPLETE_, FAIL_ and CANCEL_WORKFLOW_EXECUTION. */
import { decideClose } from '../steps/close.ts';
import { successorOf } from '../steps/next-run.ts';
import { bad, commandMeta, type CommandFailure, type CommandOfType, type Completion, exceedsBlob, tooLarge } from '../steps/completion.ts';

/** Something happened that the workflow has not seen: it must look again before it closes. */
export const unhandledCommand: CommandFailure = bad('unhandledCommand', '');

export function completeWorkflowExecution(
  completion: Completion,
  command: CommandOfType<'completeWorkflowExecution'>,
): CommandFailure | undefined {
  if (completion.unhandledEvents) return unhandledCommand;
  const a = command.attributes;
  const cause = 'badCompleteWorkflowExecutionAttributes';
  if (a === undefined) return bad(cause, 'CompleteWorkflowExecutionCommandAttributes is not set on CompleteWorkflowExecutionCommand.');
  // The cause is upstream's slip, kept because clients see it.
  if (exceedsBlob(completion, a.result)) {
    return tooLarge('badScheduleActivityAttributes', 'CompleteWorkflowExecutionCommandAttributes.Result exceeds size limit.');
  }
  const { run, completedEventId, request } = completion;
  decideClose(run, { kind: 'completed', result: a.result, completedEventId, successor: successorOf(request) }, commandMeta(command));
  return undefined;
}

export function failWorkflowExecution(completion: Completion, command: CommandOfType<'failWorkflowExecution'>): CommandFailure | undefined {
  if (completion.unhandledEvents) return unhandledCommand;
  const a = command.attributes;
  const cause = 'badFailWorkflowExecutionAttributes';
  if (a === undefined) return bad(cause, 'FailWorkflowExecutionCommandAttributes is not set on FailWorkflowExecutionCommand.');
  if (a.failure === undefined) return bad(cause, 'Failure is not set on FailWorkflowExecutionCommand.');
  if (exceedsBlob(completion, a.failure.bytes)) {
    return tooLarge(cause, 'FailWorkflowExecutionCommandAttributes.Failure exceeds size limit.');
  }
  const { run, completedEventId, request } = completion;
  decideClose(run, { kind: 'failed', failure: a.failure, completedEventId, successor: successorOf(request) }, commandMeta(command));
  return undefined;
}

export function cancelWorkflowExecution(
  completion: Completion,
  command: CommandOfType<'cancelWorkflowExecution'>,
): CommandFailure | undefined {
  if (completion.unhandledEvents) return unhandledCommand;
  const a = command.attributes;
  const cause = 'badCancelWorkflowExecutionAttributes';
  if (a === undefined) return bad(cause, 'CancelWorkflowExecutionCommandAttributes is not set on CancelWorkflowExecutionCommand.');
  if (exceedsBlob(completion, a.details)) {
    return tooLarge(cause, 'CancelWorkflowExecutionCommandAttributes.Details exceeds size limit.');
  }
  const { run, completedEventId } = completion;
  decideClose(run, { kind: 'canceled', details: a.details, completedEventId }, commandMeta(command));
  return undefined;
}
