/** Signals and cancel requests to other workflows: what their targets made of them. */
import { assert, unreachable } from '../../kernel/assert.ts';
import type { OutboxOutcome } from '../commands/history-commands.ts';
import type { AttributesOf } from '../generated/public-api.ts';
import type { RunDraft } from '../draft/draft.ts';
import type { ExternalRequest } from '../run/state.ts';
import { externalFailedCause } from '../generated/enums.ts';
import { ensureWorkflowTask } from '../steps/workflow-task.ts';

export function finishExternalSignal(run: RunDraft, initiatedEventId: number, outcome: OutboxOutcome): void {
  const request = run.run.externalSignals.get(initiatedEventId);
  if (request === undefined) return;
  if (outcome.kind === 'externalFailed') failExternalSignal(run, initiatedEventId, causeOf(outcome.cause));
  else {
    const { namespace, namespaceId, workflowExecution, control } = request;
    run.addOrBuffer('externalWorkflowExecutionSignaled', { initiatedEventId, namespace, workflowExecution, control, namespaceId });
  }
  ensureWorkflowTask(run);
}

export function finishExternalCancel(run: RunDraft, initiatedEventId: number, outcome: OutboxOutcome): void {
  const request = run.run.externalCancels.get(initiatedEventId);
  if (request === undefined) return;
  if (outcome.kind === 'externalFailed') failExternalCancel(run, initiatedEventId, causeOf(outcome.cause));
  else {
    const { namespace, namespaceId, workflowExecution } = request;
    run.addOrBuffer('externalWorkflowExecutionCancelRequested', { initiatedEventId, namespace, workflowExecution, namespaceId });
  }
  ensureWorkflowTask(run);
}

type FailedKind = 'signalExternalWorkflowExecutionFailed' | 'requestCancelExternalWorkflowExecutionFailed';
type FailedAttributes = AttributesOf[FailedKind];

/** Written like an event from outside, also from within a completion: behind the events of the commands. */
export function failExternalSignal(run: RunDraft, initiatedEventId: number, cause: number): void {
  const request = run.run.externalSignals.get(initiatedEventId);
  assert(request !== undefined, 'a pending signal fails');
  addFailure(run, 'signalExternalWorkflowExecutionFailed', failedAttributes(request, cause));
}

export function failExternalCancel(run: RunDraft, initiatedEventId: number, cause: number): void {
  const request = run.run.externalCancels.get(initiatedEventId);
  assert(request !== undefined, 'a pending cancel request fails');
  addFailure(run, 'requestCancelExternalWorkflowExecutionFailed', { ...failedAttributes(request, cause), control: '' });
}

function addFailure(run: RunDraft, kind: FailedKind, attributes: FailedAttributes): void {
  // While a completion is decided no workflow task is pending, and the event has to wait for the end of that decision all the same.
  const completing = run.events.some(({ event }) => event.type === 'workflowTaskCompleted');
  if (completing) run.buffer(kind, attributes);
  else run.addOrBuffer(kind, attributes);
}

function failedAttributes(request: ExternalRequest, cause: number): FailedAttributes {
  const { namespace, workflowExecution, initiatedEventId, control, namespaceId } = request;
  // The completed task is named by the initiated event; here Temporal leaves it out.
  return { cause, workflowTaskCompletedEventId: 0, namespace, workflowExecution, initiatedEventId, control, namespaceId };
}

function causeOf(cause: Extract<OutboxOutcome, { readonly kind: 'externalFailed' }>['cause']): number {
  switch (cause) {
    case 'not-found':
      return externalFailedCause.externalWorkflowExecutionNotFound;
    case 'namespace-not-found':
      return externalFailedCause.namespaceNotFound;
    case 'signal-count-limit-exceeded':
      return externalFailedCause.signalCountLimitExceeded;
    default:
      return unreachable(cause);
  }
}
