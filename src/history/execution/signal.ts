/** Signals, from clients and from other workflows. */
import { hasAnswered, operation } from '../run/answered-requests.ts';
import type { ParentLink, SignalAttributes, SignalWorkflow } from '../commands/history-commands.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { findRun, reject, rejectInvalid, workflowClosed, workflowNotFound } from '../run/reject.ts';
import type { HistoryReply, Rejected, SignaledReply } from '../run/history-replies.ts';
import { isInFirstBackoff, isRunning, type RunView } from '../run/state.ts';
import { scheduleWorkflowTask, ensureWorkflowTask } from '../steps/workflow-task.ts';

export function signalWorkflow(draft: Draft, command: SignalWorkflow): HistoryReply {
  const run = findRun(draft.shard, command.key);
  if (run === undefined) return workflowNotFound(command.key);
  if (command.childOf !== undefined && !isChildOf(run, command.childOf)) return workflowNotFound(command.key);
  // A repeat is answered even when the run has closed meanwhile.
  if (run.signalRequestIds.has(command.signal.requestId)) return signaled(run);
  if (command.key.runId === '' && hadBefore(run, command.signal)) return signaled(run);
  if (!isRunning(run)) return workflowClosed;
  const problem = signalProblem(draft, run);
  if (problem !== undefined) return problem;
  writeSignal(draft.open(run), command.signal, {});
  return signaled(run);
}

/** A run before it in its chain has had this signal. */
export function hadBefore({ answered }: RunView, { requestId }: SignalAttributes): boolean {
  return hasAnswered(answered, operation.signal, requestId);
}

function signaled(run: RunView): SignaledReply {
  return { kind: 'signaled', runId: run.key.runId };
}

export function isChildOf(run: RunView, parent: ParentLink): boolean {
  const own = run.start.parent;
  return own !== undefined && own.workflowId === parent.workflowId && own.runId === parent.runId && own.namespaceId === parent.namespaceId;
}

export function signalProblem(draft: Draft, run: RunView): Rejected | undefined {
  const { signalsPerRunMax } = draft.limits;
  let signals = run.signalCount;
  if (signals + run.buffered.length >= signalsPerRunMax) {
    for (const event of run.buffered) if (event.type === 'workflowExecutionSignaled') signals++;
    if (signals >= signalsPerRunMax) return rejectInvalid('exceeded workflow execution limit for signal events');
  }
  // A close failed because events like this one had come in between: while the next attempt is with a worker, no more are taken.
  if (run.closeAttempted && run.workflowTask !== undefined && run.workflowTask.startedEventId !== 0) {
    return reject({ reason: 'busy-workflow', message: 'workflow operation can not be applied because workflow is closing' });
  }
  return undefined;
}

export type AfterSignal = {
  /** The workflow has to look at it; default: true. */
  readonly scheduleWorkflowTask?: boolean;
  /** The signal ends the pause before the first workflow task. */
  readonly skipBackoff?: boolean;
};

export function writeSignal(run: RunDraft, signal: SignalAttributes, after: AfterSignal): void {
  const attributes = {
    signalName: signal.signalName,
    input: signal.input,
    identity: signal.identity,
    header: signal.header,
    skipGenerateWorkflowTask: false,
    externalWorkflowExecution: signal.externalWorkflowExecution,
    requestId: signal.requestId,
  };
  run.addOrBuffer('workflowExecutionSignaled', attributes, { links: signal.links });
  if (after.scheduleWorkflowTask === false) return;
  if (!isInFirstBackoff(run.run)) ensureWorkflowTask(run);
  else if (after.skipBackoff === true) {
    run.finishTask(run.run.backoffTaskId);
    scheduleWorkflowTask(run);
  }
}
