/** What a worker commands with a completed workflow task, as bytes and back. */
import type { FailureFacts, OpaqueFailure } from '../../history/failure.ts';
import type { WorkflowCommand } from '../../history/workflow-commands.ts';
import { unreachable } from '../../kernel/assert.ts';
import * as wire from '../../wire/generated/peer/workflow_command.ts';
import { type Words, wordOf } from './words.ts';

const noCommand = wire.emptyWorkflowCommand();

export function commandToWire(command: WorkflowCommand): wire.WorkflowCommand {
  const { type, userMetadata, eventGroupMarkers } = command;
  const common = { ...noCommand, type, userMetadata };
  const wide = eventGroupMarkers === undefined ? common : { ...common, eventGroupMarkers: { items: eventGroupMarkers } };
  switch (command.type) {
    case 'scheduleActivityTask':
      return { ...wide, scheduleActivityTask: command.attributes };
    case 'requestCancelActivityTask':
      return { ...wide, requestCancelActivityTask: command.attributes };
    case 'startTimer':
      return { ...wide, startTimer: command.attributes };
    case 'cancelTimer':
      return { ...wide, cancelTimer: command.attributes };
    case 'recordMarker':
      return { ...wide, recordMarker: command.attributes };
    case 'protocolMessage':
      return { ...wide, protocolMessage: command.attributes };
    case 'completeWorkflowExecution':
      return { ...wide, completeWorkflowExecution: command.attributes };
    case 'failWorkflowExecution':
      return { ...wide, failWorkflowExecution: command.attributes };
    case 'cancelWorkflowExecution':
      return { ...wide, cancelWorkflowExecution: command.attributes };
    case 'continueAsNewWorkflowExecution':
      return { ...wide, continueAsNewWorkflowExecution: command.attributes };
    case 'startChildWorkflowExecution':
      return { ...wide, startChildWorkflowExecution: command.attributes };
    case 'requestCancelExternalWorkflowExecution':
      return { ...wide, requestCancelExternalWorkflowExecution: command.attributes };
    case 'signalExternalWorkflowExecution':
      return { ...wide, signalExternalWorkflowExecution: command.attributes };
    case 'upsertWorkflowSearchAttributes':
      return { ...wide, upsertWorkflowSearchAttributes: command.attributes };
    case 'modifyWorkflowProperties':
      return { ...wide, modifyWorkflowProperties: command.attributes };
    default:
      return unreachable(command);
  }
}

const commandTypes: Words<WorkflowCommand['type']> = {
  scheduleActivityTask: true,
  requestCancelActivityTask: true,
  startTimer: true,
  cancelTimer: true,
  recordMarker: true,
  protocolMessage: true,
  completeWorkflowExecution: true,
  failWorkflowExecution: true,
  cancelWorkflowExecution: true,
  continueAsNewWorkflowExecution: true,
  startChildWorkflowExecution: true,
  requestCancelExternalWorkflowExecution: true,
  signalExternalWorkflowExecution: true,
  upsertWorkflowSearchAttributes: true,
  modifyWorkflowProperties: true,
};

export function commandFromWire(from: wire.WorkflowCommand): WorkflowCommand {
  const { userMetadata, eventGroupMarkers } = from;
  const common = eventGroupMarkers === undefined ? { userMetadata } : { userMetadata, eventGroupMarkers: eventGroupMarkers.items };
  const type = wordOf(commandTypes, from.type, 'WorkflowCommand.type');
  switch (type) {
    case 'scheduleActivityTask':
      return { ...common, type, attributes: from.scheduleActivityTask };
    case 'requestCancelActivityTask':
      return { ...common, type, attributes: from.requestCancelActivityTask };
    case 'startTimer':
      return { ...common, type, attributes: from.startTimer };
    case 'cancelTimer':
      return { ...common, type, attributes: from.cancelTimer };
    case 'recordMarker':
      return { ...common, type, attributes: from.recordMarker };
    case 'protocolMessage':
      return { ...common, type, attributes: from.protocolMessage };
    case 'completeWorkflowExecution':
      return { ...common, type, attributes: from.completeWorkflowExecution };
    case 'failWorkflowExecution': {
      const attributes = from.failWorkflowExecution;
      return { ...common, type, attributes: attributes === undefined ? undefined : { failure: failureFromWire(attributes.failure) } };
    }
    case 'cancelWorkflowExecution':
      return { ...common, type, attributes: from.cancelWorkflowExecution };
    case 'continueAsNewWorkflowExecution':
      return { ...common, type, attributes: from.continueAsNewWorkflowExecution };
    case 'startChildWorkflowExecution':
      return { ...common, type, attributes: from.startChildWorkflowExecution };
    case 'requestCancelExternalWorkflowExecution':
      return { ...common, type, attributes: from.requestCancelExternalWorkflowExecution };
    case 'signalExternalWorkflowExecution':
      return { ...common, type, attributes: from.signalExternalWorkflowExecution };
    case 'upsertWorkflowSearchAttributes':
      return { ...common, type, attributes: from.upsertWorkflowSearchAttributes };
    case 'modifyWorkflowProperties':
      return { ...common, type, attributes: from.modifyWorkflowProperties };
    default:
      return unreachable(type);
  }
}

const failureKinds: Words<FailureFacts['kind']> = {
  application: true,
  timeout: true,
  canceled: true,
  terminated: true,
  server: true,
  activity: true,
  child: true,
  reset: true,
  nexus: true,
  none: true,
};

export function failureFromWire(failure: wire.OpaqueFailure | undefined): OpaqueFailure | undefined {
  if (failure === undefined) return undefined;
  const { facts, bytes } = failure;
  return { facts: { ...facts, kind: wordOf(failureKinds, facts.kind, 'FailureFacts.kind') }, bytes };
}
