import type { FailureFacts, OpaqueFailure } from '../../history/commands/failure.ts';
import type { WorkflowCommand } from '../../history/commands/workflow-commands.ts';
import * as wire from '../../wire/generated/peer/workflow_command.ts';
import { wordOf } from './union-codec.ts';
import { type Words, words } from '../../kernel/words.ts';

/** The attributes of each type stand in the field of its name, as they are: what differs from the message of that field does not compile. */
type Attributes = { readonly [Each in WorkflowCommand as Each['type']]: Each['attributes'] };

const noCommand = wire.emptyWorkflowCommand();

export function commandToWire({ type, attributes, userMetadata, eventGroupMarkers }: WorkflowCommand): wire.WorkflowCommand {
  const said = { [type]: attributes } as Partial<Attributes>;
  const fields: Partial<Pick<wire.WorkflowCommand, keyof Attributes>> = said;
  return { ...noCommand, type, userMetadata, eventGroupMarkers: eventGroupMarkers && { items: eventGroupMarkers }, ...fields };
}

const commandTypes: Words<WorkflowCommand['type']> = words(
  'scheduleActivityTask requestCancelActivityTask startTimer cancelTimer recordMarker protocolMessage',
  'completeWorkflowExecution failWorkflowExecution cancelWorkflowExecution continueAsNewWorkflowExecution startChildWorkflowExecution',
  'requestCancelExternalWorkflowExecution signalExternalWorkflowExecution upsertWorkflowSearchAttributes modifyWorkflowProperties',
);

export function commandFromWire(from: wire.WorkflowCommand): WorkflowCommand {
  const { userMetadata, eventGroupMarkers, failWorkflowExecution: failed } = from;
  const common = eventGroupMarkers === undefined ? { userMetadata } : { userMetadata, eventGroupMarkers: eventGroupMarkers.items };
  const type = wordOf(commandTypes, from.type, 'WorkflowCommand.type');
  const fields: Attributes = { ...from, failWorkflowExecution: failed && { failure: failureFromWire(failed.failure) } };
  // The attributes of a type are its own: TypeScript does not follow that through a union.
  return { ...common, type, attributes: fields[type] } as WorkflowCommand;
}

const failureKinds: Words<FailureFacts['kind']> = words('application timeout canceled terminated server activity child reset nexus none');

export function failureFromWire(failure: wire.OpaqueFailure | undefined): OpaqueFailure | undefined {
  if (failure === undefined) return undefined;
  const { facts, bytes } = failure;
  return { facts: { ...facts, kind: wordOf(failureKinds, facts.kind, 'FailureFacts.kind') }, bytes };
}
