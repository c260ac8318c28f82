/** SIGNAL_ and REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION: delivered by outbox tasks. */
import { assert } from '../../kernel/assert.ts';
import type { RunDraft } from '../draft/draft.ts';
import { utf8Bytes } from '../../kernel/utf8.ts';
import { isUuid } from '../../kernel/uuid.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { WorkflowExecution } from '../generated/public-api.ts';
import { failExternalCancel, failExternalSignal } from './external-outcomes.ts';
import { externalFailedCause } from '../generated/enums.ts';
import { bad, commandMeta, exceedsBlob, exceedsId, tooLarge } from '../steps/completion.ts';
import type { CommandFailure, CommandOfType, Completion } from '../steps/completion.ts';

export function requestCancelExternalWorkflowExecution(
  completion: Completion,
  command: CommandOfType<'requestCancelExternalWorkflowExecution'>,
): CommandFailure | undefined {
  const cause = 'badRequestCancelExternalWorkflowExecutionAttributes';
  const name = 'RequestCancelExternalWorkflowExecutionCommand';
  const { run, completedEventId } = completion;
  const { limits } = run.draft;
  const a = command.attributes;
  if (a === undefined) return bad(cause, `RequestCancelExternalWorkflowExecutionCommandAttributes is not set on ${name}.`);
  const { workflowId, runId, namespace } = a;
  if (workflowId === '') return bad(cause, `WorkflowId is not set on ${name}. Namespace=${namespace} RunId=${runId}`);
  if (exceedsId(completion, workflowId)) {
    const rest = `Length=${utf8Bytes(workflowId)} Limit=${limits.idBytesMax} RunId=${runId} Namespace=${namespace}`;
    return bad(cause, `WorkflowId on ${name} exceeds length limit. WorkflowId=${workflowId} ${rest}`);
  }
  if (runId !== '' && !isUuid(runId)) {
    return bad(cause, `Invalid RunId set on ${name}. WorkflowId=${workflowId} RunId=${runId} Namespace=${namespace}`);
  }
  if (completion.childrenStarted.has(workflowId)) {
    const where = `WorkflowId=${workflowId} RunId=${runId} Namespace=${namespace}`;
    return bad(cause, `Start and RequestCancel for child workflow is not allowed in same workflow task. ${where}`);
  }
  const pending = run.run.externalCancels.size + completion.cancelsOfItself;
  if (pending >= limits.pendingExternalCancelsMax) {
    const detail = `the number of pending requests to cancel external workflows, ${pending}, has reached the per-workflow limit of ${limits.pendingExternalCancelsMax}`;
    return bad('pendingRequestCancelLimitExceeded', detail);
  }
  const target = targetOf(completion, a.namespaceId, { workflowId, runId });
  const attributes = {
    workflowTaskCompletedEventId: completedEventId,
    namespace: namespace === '' ? run.run.namespace : namespace,
    workflowExecution: { workflowId, runId },
    control: a.control,
    childWorkflowOnly: a.childWorkflowOnly,
    reason: a.reason,
    namespaceId: target.namespaceId,
  };
  const initiatedEventId = run.add('requestCancelExternalWorkflowExecutionInitiated', attributes, commandMeta(command));
  if (isSelf(completion, target)) {
    completion.cancelsOfItself++;
    failExternalCancel(run, initiatedEventId, externalFailedCause.externalWorkflowExecutionNotFound);
  } else sendExternal(run, 'cancelExternal', initiatedEventId);
  return undefined;
}

export function signalExternalWorkflowExecution(
  completion: Completion,
  command: CommandOfType<'signalExternalWorkflowExecution'>,
): CommandFailure | undefined {
  const cause = 'badSignalWorkflowExecutionAttributes';
  const name = 'SignalExternalWorkflowExecutionCommand';
  const { run, completedEventId } = completion;
  const { limits } = run.draft;
  const a = command.attributes;
  if (a === undefined) return bad(cause, `SignalExternalWorkflowExecutionCommandAttributes is not set on ${name}.`);
  if (a.execution === undefined) return bad(cause, `Execution is not set on ${name}.`);
  const { workflowId, runId } = a.execution;
  const { namespace, signalName } = a;
  if (workflowId === '')
    return bad(cause, `WorkflowId is not set on ${name}. Namespace=${namespace} RunId=${runId} SignalName=${signalName}`);
  if (exceedsId(completion, workflowId)) {
    const lengths = `Length=${utf8Bytes(workflowId)} Limit=${limits.idBytesMax}`;
    const where = `Namespace=${namespace} RunId=${runId} SignalName=${signalName}`;
    return bad(cause, `WorkflowId on ${name} exceeds length limit. WorkflowId=${workflowId} ${lengths} ${where}`);
  }
  if (runId !== '' && !isUuid(runId)) {
    const where = `WorkflowId=${workflowId} Namespace=${namespace} RunId=${runId} SignalName=${signalName}`;
    return bad(cause, `Invalid RunId set on ${name}. ${where}`);
  }
  if (signalName === '')
    return bad(cause, `SignalName is not set on ${name}. WorkflowId=${workflowId} Namespace=${namespace} RunId=${runId}`);
  const pending = run.run.externalSignals.size + completion.signalsToItself;
  if (pending >= limits.pendingExternalSignalsMax) {
    const detail = `the number of pending signals to external workflows, ${pending}, has reached the per-workflow limit of ${limits.pendingExternalSignalsMax}`;
    return bad('pendingSignalsLimitExceeded', detail);
  }
  if (exceedsBlob(completion, a.input))
    return tooLarge(cause, 'SignalExternalWorkflowExecutionCommandAttributes.Input exceeds size limit.');
  const target = targetOf(completion, a.namespaceId, { workflowId, runId });
  const attributes = {
    workflowTaskCompletedEventId: completedEventId,
    namespace: namespace === '' ? run.run.namespace : namespace,
    workflowExecution: { workflowId, runId },
    signalName,
    input: a.input,
    control: a.control,
    childWorkflowOnly: a.childWorkflowOnly,
    header: a.header,
    namespaceId: target.namespaceId,
  };
  const initiatedEventId = run.add('signalExternalWorkflowExecutionInitiated', attributes, commandMeta(command));
  if (isSelf(completion, target)) {
    completion.signalsToItself++;
    failExternalSignal(run, initiatedEventId, externalFailedCause.externalWorkflowExecutionNotFound);
  } else sendExternal(run, 'signalExternal', initiatedEventId);
  return undefined;
}

export function sendExternal(run: RunDraft, kind: 'signalExternal' | 'cancelExternal', initiatedEventId: number): void {
  const { key, externalSignals, externalCancels } = run.run;
  const request = (kind === 'signalExternal' ? externalSignals : externalCancels).get(initiatedEventId);
  assert(request !== undefined, 'a request that is sent is pending');
  const target = { namespaceId: request.namespaceId || key.namespaceId, ...request.workflowExecution };
  run.addTask({ kind, initiatedEventId, target });
}

function targetOf({ run }: Completion, namespaceId: string, { workflowId, runId }: WorkflowExecution): RunKey {
  return { namespaceId: namespaceId === '' ? run.run.key.namespaceId : namespaceId, workflowId, runId };
}

/** A workflow is not external to itself, whichever run it names. */
function isSelf(completion: Completion, target: RunKey): boolean {
  const { key } = completion.run.run;
  return key.namespaceId === target.namespaceId && key.workflowId === target.workflowId;
}
