import type { Namespace } from '../../cluster/cluster-state.ts';
import type { WorkflowCommand } from '../../history/commands/workflow-commands.ts';
import type { Command } from '../../wire/generated/lean/command.ts';
import { CommandType } from '../../wire/generated/lean/enums.ts';
import { notBuilt } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import type { EdgeLimits } from '../validation/names.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { type DefinedAttributes, withTypes } from '../validation/search-attributes.ts';
import { opaqueFailure } from './failures.ts';

/** Namespaces by the names in commands; '' names the workflow's own and is not in here. */
export type TargetNamespaces = ReadonlyMap<string, Namespace>;

const ownOnly: TargetNamespaces = new Map();

/** Finds every namespace that the commands name. One that does not exist fails the whole request: nothing of it may take effect. */
export function targetNamespaces(
  context: HandlerContext,
  call: Call,
  commands: readonly Command[],
): TargetNamespaces | Promise<TargetNamespaces> {
  let named: Set<string> | undefined;
  for (const command of commands) {
    const name =
      command.startChildWorkflowExecutionCommandAttributes?.namespace ??
      command.signalExternalWorkflowExecutionCommandAttributes?.namespace ??
      command.requestCancelExternalWorkflowExecutionCommandAttributes?.namespace;
    if (name !== undefined && name !== '') (named ??= new Set()).add(name);
  }
  return named === undefined ? ownOnly : resolve(context, call, named);
}

async function resolve(context: HandlerContext, call: Call, named: ReadonlySet<string>): Promise<TargetNamespaces> {
  const namespaces = new Map<string, Namespace>();
  for (const name of named) namespaces.set(name, await context.namespace(call, name));
  return namespaces;
}

/** What commands are read with: the namespaces that they name, and what their own has defined. */
export type Known = { readonly namespaces: TargetNamespaces; readonly defined: DefinedAttributes; readonly limits: EdgeLimits };

/** Its checks are the core's; only what is malformed or not built at all is refused here, and then with the whole request. */
export function workflowCommand(command: Command, known: Known): WorkflowCommand {
  checkBound('Command.command_type', command.commandType);
  checkOpaque(command.userMetadata, 'userMetadata');
  for (const marker of command.eventGroupMarkers) checkOpaque(marker, 'eventGroupMarker');
  const common = { userMetadata: command.userMetadata, eventGroupMarkers: command.eventGroupMarkers };
  switch (command.commandType) {
    case CommandType.SCHEDULE_ACTIVITY_TASK: {
      const given = command.scheduleActivityTaskCommandAttributes;
      return { type: 'scheduleActivityTask', attributes: given && scheduleActivity(given), ...common };
    }
    case CommandType.REQUEST_CANCEL_ACTIVITY_TASK:
      return { type: 'requestCancelActivityTask', attributes: command.requestCancelActivityTaskCommandAttributes, ...common };
    case CommandType.START_TIMER:
      return { type: 'startTimer', attributes: command.startTimerCommandAttributes, ...common };
    case CommandType.CANCEL_TIMER:
      return { type: 'cancelTimer', attributes: command.cancelTimerCommandAttributes, ...common };
    case CommandType.RECORD_MARKER: {
      const given = command.recordMarkerCommandAttributes;
      for (const details of given?.details.values() ?? []) checkOpaque(details, 'payloads');
      checkOpaque(given?.header, 'fields');
      checkOpaque(given?.failure, 'failure');
      return { type: 'recordMarker', attributes: given, ...common };
    }
    case CommandType.COMPLETE_WORKFLOW_EXECUTION:
      checkOpaque(command.completeWorkflowExecutionCommandAttributes?.result, 'payloads');
      return { type: 'completeWorkflowExecution', attributes: command.completeWorkflowExecutionCommandAttributes, ...common };
    case CommandType.FAIL_WORKFLOW_EXECUTION: {
      const given = command.failWorkflowExecutionCommandAttributes;
      return { type: 'failWorkflowExecution', attributes: given && { failure: given.failure && opaqueFailure(given.failure) }, ...common };
    }
    case CommandType.CANCEL_WORKFLOW_EXECUTION:
      checkOpaque(command.cancelWorkflowExecutionCommandAttributes?.details, 'payloads');
      return { type: 'cancelWorkflowExecution', attributes: command.cancelWorkflowExecutionCommandAttributes, ...common };
    case CommandType.CONTINUE_AS_NEW_WORKFLOW_EXECUTION: {
      const given = command.continueAsNewWorkflowExecutionCommandAttributes;
      return { type: 'continueAsNewWorkflowExecution', attributes: given && continueAsNew(given, known), ...common };
    }
    case CommandType.START_CHILD_WORKFLOW_EXECUTION: {
      const given = command.startChildWorkflowExecutionCommandAttributes;
      return { type: 'startChildWorkflowExecution', attributes: given && startChild(given, known), ...common };
    }
    case CommandType.REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION: {
      const given = command.requestCancelExternalWorkflowExecutionCommandAttributes;
      return { type: 'requestCancelExternalWorkflowExecution', attributes: given && { ...given, ...target(given, known) }, ...common };
    }
    case CommandType.SIGNAL_EXTERNAL_WORKFLOW_EXECUTION: {
      const given = command.signalExternalWorkflowExecutionCommandAttributes;
      checkOpaque(given?.input, 'payloads');
      checkOpaque(given?.header, 'fields');
      return { type: 'signalExternalWorkflowExecution', attributes: given && { ...given, ...target(given, known) }, ...common };
    }
    case CommandType.UPSERT_WORKFLOW_SEARCH_ATTRIBUTES: {
      const given = command.upsertWorkflowSearchAttributesCommandAttributes;
      checkOpaque(given?.searchAttributes, 'fields');
      const attributes = given && { searchAttributes: withTypes(given.searchAttributes, known.defined, known.limits) };
      return { type: 'upsertWorkflowSearchAttributes', attributes, ...common };
    }
    case CommandType.MODIFY_WORKFLOW_PROPERTIES:
      checkOpaque(command.modifyWorkflowPropertiesCommandAttributes?.upsertedMemo, 'fields');
      return { type: 'modifyWorkflowProperties', attributes: command.modifyWorkflowPropertiesCommandAttributes, ...common };
    case CommandType.SCHEDULE_NEXUS_OPERATION:
      throw notBuilt('command SCHEDULE_NEXUS_OPERATION');
    case CommandType.REQUEST_CANCEL_NEXUS_OPERATION:
      throw notBuilt('command REQUEST_CANCEL_NEXUS_OPERATION');
    default:
      return { type: 'protocolMessage', attributes: command.protocolMessageCommandAttributes, ...common };
  }
}

type Given<Name extends keyof Command> = NonNullable<Command[Name]>;

function target({ namespace }: { readonly namespace: string }, { namespaces }: Known): { readonly namespaceId: string } {
  return { namespaceId: namespaces.get(namespace)?.id ?? '' };
}

function scheduleActivity(attributes: Given<'scheduleActivityTaskCommandAttributes'>) {
  checkOpaque(attributes.input, 'payloads');
  checkOpaque(attributes.header, 'fields');
  checkOpaque(attributes.priority, 'priority');
  return { ...attributes, activityType: attributes.activityType?.name ?? '' };
}

function continueAsNew(attributes: Given<'continueAsNewWorkflowExecutionCommandAttributes'>, { defined, limits }: Known) {
  checkOpaque(attributes.input, 'payloads');
  checkOpaque(attributes.lastCompletionResult, 'payloads');
  checkOpaque(attributes.failure, 'failure');
  checkOpaque(attributes.header, 'fields');
  checkOpaque(attributes.memo, 'fields');
  checkOpaque(attributes.searchAttributes, 'fields');
  return {
    workflowType: attributes.workflowType?.name ?? '',
    taskQueue: attributes.taskQueue,
    input: attributes.input,
    header: attributes.header,
    memo: attributes.memo,
    searchAttributes: withTypes(attributes.searchAttributes, defined, limits),
    runTimeoutMs: attributes.workflowRunTimeoutMs,
    taskTimeoutMs: attributes.workflowTaskTimeoutMs,
    backoffStartIntervalMs: attributes.backoffStartIntervalMs,
    initiator: attributes.initiator,
    failure: attributes.failure,
    lastCompletionResult: attributes.lastCompletionResult,
    retryPolicy: attributes.retryPolicy,
    cronSchedule: attributes.cronSchedule,
    inheritBuildId: attributes.inheritBuildId,
  };
}

function startChild(attributes: Given<'startChildWorkflowExecutionCommandAttributes'>, { namespaces, defined, limits }: Known) {
  if (attributes.versioningOverride !== undefined) throw notBuilt('versioning_override of a child workflow');
  checkOpaque(attributes.input, 'payloads');
  checkOpaque(attributes.header, 'fields');
  checkOpaque(attributes.memo, 'fields');
  checkOpaque(attributes.searchAttributes, 'fields');
  checkOpaque(attributes.priority, 'priority');
  const childNamespace = namespaces.get(attributes.namespace);
  return {
    namespace: attributes.namespace,
    namespaceId: childNamespace?.id ?? '',
    workflowId: attributes.workflowId,
    workflowType: attributes.workflowType?.name ?? '',
    taskQueue: attributes.taskQueue,
    input: attributes.input,
    header: attributes.header,
    memo: attributes.memo,
    searchAttributes: withTypes(attributes.searchAttributes, childNamespace ?? defined, limits),
    executionTimeoutMs: attributes.workflowExecutionTimeoutMs,
    runTimeoutMs: attributes.workflowRunTimeoutMs,
    taskTimeoutMs: attributes.workflowTaskTimeoutMs,
    parentClosePolicy: attributes.parentClosePolicy,
    workflowIdReusePolicy: attributes.workflowIdReusePolicy,
    control: attributes.control,
    retryPolicy: attributes.retryPolicy,
    cronSchedule: attributes.cronSchedule,
    inheritBuildId: attributes.inheritBuildId,
    priority: attributes.priority,
  };
}
