/** Signals and cancel requests to other workflows. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { OutboxOutcome } from '../commands/history-commands.ts';
import { linkTo, type OutboxKind, requestId, to } from '../steps/outbox-kind.ts';
import type { HistoryReply } from '../run/history-replies.ts';
import { isRunning, type RunView } from '../run/state.ts';
import type { Sender } from '../run/tasks.ts';
import { authorOf } from '../run/reset-runs.ts';
import { finishExternalCancel, finishExternalSignal } from './external-outcomes.ts';

export const signalExternalOutbox: OutboxKind<'signalExternal'> = {
  message(run, task) {
    const request = run.externalSignals.get(task.initiatedEventId);
    if (request === undefined || !isRunning(run)) return undefined;
    return to(task.target, {
      kind: 'signalWorkflow',
      key: task.target,
      signal: {
        signalName: request.signalName,
        input: request.input,
        header: request.header,
        identity: 'history-service',
        // Of a run that was reset: the base run may have sent it.
        requestId: requestId(authorOf(run, task.initiatedEventId), task.initiatedEventId),
        links: [],
        externalWorkflowExecution: { workflowId: run.key.workflowId, runId: run.key.runId },
      },
      childOf: request.childWorkflowOnly ? linkTo(starterOf(run, task.target), task.initiatedEventId) : undefined,
    });
  },
  lastMessage: undefined,
  outcome,
  // The protocol's nearest cause: a limit keeps the target from taking this signal.
  tooLarge: { kind: 'externalFailed', cause: 'signal-count-limit-exceeded' },
  finish: (run, task, result) => finishExternalSignal(run, task.initiatedEventId, result),
};

export const cancelExternalOutbox: OutboxKind<'cancelExternal'> = {
  message(run, task) {
    const request = run.externalCancels.get(task.initiatedEventId);
    if (request === undefined || !isRunning(run)) return undefined;
    return to(task.target, {
      kind: 'requestCancelWorkflow',
      key: task.target,
      firstExecutionRunId: '',
      cause: request.reason,
      identity: 'history-service',
      requestId: requestId(run, task.initiatedEventId),
      links: [],
      external: { initiatedEventId: task.initiatedEventId, execution: { workflowId: run.key.workflowId, runId: run.key.runId } },
      childOf: request.childWorkflowOnly ? linkTo(starterOf(run, task.target), task.initiatedEventId) : undefined,
    });
  },
  lastMessage: undefined,
  outcome,
  tooLarge: undefined,
  finish: (run, task, result) => finishExternalCancel(run, task.initiatedEventId, result),
};

/** The run that has started this child: this one, or the one of whose events it has copies. */
function starterOf(run: RunView, { workflowId }: RunKey): Sender {
  if (run.reset === undefined) return run;
  for (const { attributes, initiatedEventId } of run.children.values()) {
    if (attributes.workflowId === workflowId) return authorOf(run, initiatedEventId);
  }
  return run;
}

function outcome(reply: HistoryReply): OutboxOutcome | undefined {
  if (reply.kind !== 'rejected') return { kind: 'done' };
  const { reason } = reply.rejection;
  if (reason === 'busy-workflow') return undefined;
  return { kind: 'externalFailed', cause: reason === 'invalid-argument' ? 'signal-count-limit-exceeded' : 'not-found' };
}
