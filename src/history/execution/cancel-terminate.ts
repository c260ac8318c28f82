/** Requests to end a workflow: a cancellation, to which the workflow reacts itself, and a termination, which it never sees. */
import { beginFirstWorkflowTask } from '../steps/begin-run.ts';
import { decideClose } from '../steps/close.ts';
import type { RequestCancelWorkflow, ScheduleFirstWorkflowTask, TerminateWorkflow } from '../commands/history-commands.ts';
import type { Draft } from '../draft/draft.ts';
import { findRun, findRunning, isRejected, reject, workflowNotFound } from '../run/reject.ts';
import type { HistoryReply, Rejected } from '../run/history-replies.ts';
import { isChildOf } from './signal.ts';
import { isInFirstBackoff, isRunning, type RunView } from '../run/state.ts';
import { ensureWorkflowTask } from '../steps/workflow-task.ts';

export function requestCancelWorkflow(draft: Draft, command: RequestCancelWorkflow): HistoryReply {
  const run = findRun(draft.shard, command.key);
  if (run === undefined) return workflowNotFound(command.key);
  // The run is closed, or its cancellation is requested already: nothing is left to do.
  if (!isRunning(run)) return { kind: 'done' };
  const refusal = wrongTarget(run, command);
  if (refusal !== undefined) return refusal;
  if (run.cancelRequested) return { kind: 'done' };
  const cancelling = draft.open(run);
  const attributes = {
    cause: command.cause,
    externalInitiatedEventId: command.external?.initiatedEventId ?? 0,
    externalWorkflowExecution: command.external?.execution,
    identity: command.identity,
  };
  cancelling.addOrBuffer('workflowExecutionCancelRequested', attributes, { links: command.links });
  // Unlike a signal, a cancellation does not wait for the end of a backoff.
  cancelling.finishTask(run.backoffTaskId);
  ensureWorkflowTask(cancelling);
  return { kind: 'done' };
}

export function terminateWorkflow(draft: Draft, command: TerminateWorkflow): HistoryReply {
  const run = findRunning(draft.shard, command.key);
  if (isRejected(run)) return run;
  const refusal = wrongTarget(run, command);
  if (refusal !== undefined) return refusal;
  const { reason, details, identity, links } = command;
  decideClose(draft.open(run), { kind: 'terminated', reason, details, identity, links });
  return { kind: 'done' };
}

/** The open run may belong to another chain, or be nobody's child, when the caller names one. */
function wrongTarget(run: RunView, { firstExecutionRunId, childOf }: RequestCancelWorkflow | TerminateWorkflow): Rejected | undefined {
  if (firstExecutionRunId !== '' && run.start.firstRunId !== firstExecutionRunId) return executionNotFound;
  if (childOf !== undefined && !isChildOf(run, childOf)) return executionNotFound;
  return undefined;
}

const executionNotFound = reject({ reason: 'workflow-not-found', message: 'workflow execution not found' });

/** The parent has recorded this child's start. Whatever woke the child before is as good; on a cron schedule it waits for its time. */
export function scheduleFirstWorkflowTask(draft: Draft, command: ScheduleFirstWorkflowTask): HistoryReply {
  const run = findRun(draft.shard, command.key);
  if (run === undefined) return workflowNotFound(command.key);
  if (!isRunning(run) || run.workflowTask !== undefined || run.previousStartedEventId !== 0 || run.backoffTaskId !== 0)
    return { kind: 'done' };
  const first = draft.open(run);
  if (isInFirstBackoff(run)) beginFirstWorkflowTask(first);
  else ensureWorkflowTask(first);
  return { kind: 'done' };
}
