import type { Namespace } from '../../cluster/cluster-state.ts';
import type { WorkflowCommand } from '../../history/workflow-commands.ts';
import type {
  Command,
  ContinueAsNewWorkflowExecutionCommandAttributes,
  RecordMarkerCommandAttributes,
  RequestCancelExternalWorkflowExecutionCommandAttributes,
  ScheduleActivityTaskCommandAttributes,
  SignalExternalWorkflowExecutionCommandAttributes,
  StartChildWorkflowExecutionCommandAttributes,
  UpsertWorkflowSearchAttributesCommandAttributes,
} from '../../wire/generated/lean/command.ts';
import { CommandType } from '../../wire/generated/lean/enums.ts';
import { notBuilt } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import type { EdgeLimits } from '../validation/lengths.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { type DefinedAttributes, withTypes } from '../validation/search-attributes.ts';
import { opaqueFailure } from './failures.ts';

/** By the names in commands; '' names the workflow's own and is not in here. */
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

/**
 * One command as the core knows it. Its checks are the core's; only what is malformed or not built at all is refused here, and then with
 * the whole request.
 */
export function workflowCommand(
  command: Command,
  namespaces: TargetNamespaces,
  defined: DefinedAttributes,
  limits: EdgeLimits,
): WorkflowCommand {
  checkBound('Command.command_type', command.commandType);
  checkOpaque(command.userMetadata, 'userMetadata');
  for (const marker of command.eventGroupMarkers) checkOpaque(marker, 'eventGroupMarker');
  const common = { userMetadata: command.userMetadata, eventGroupMarkers: command.eventGroupMarkers };
  switch (command.commandType) {
    case CommandType.SCHEDULE_ACTIVITY_TASK:
      return { type: 'scheduleActivityTask', attributes: scheduleActivity(command.scheduleActivityTaskCommandAttributes), ...common };
    case CommandType.REQUEST_CANCEL_ACTIVITY_TASK:
      return { type: 'requestCancelActivityTask', attributes: command.requestCancelActivityTaskCommandAttributes, ...common };
    case CommandType.START_TIMER:
      return { type: 'startTimer', attributes: command.startTimerCommandAttributes, ...common };
    case CommandType.CANCEL_TIMER:
      return { type: 'cancelTimer', attributes: command.cancelTimerCommandAttributes, ...common };
    case CommandType.RECORD_MARKER:
      return { type: 'recordMarker', attributes: recordMarker(command.recordMarkerCommandAttributes), ...common };
    case CommandType.COMPLETE_WORKFLOW_EXECUTION:
      checkOpaque(command.completeWorkflowExecutionCommandAttributes?.result, 'payloads');
      return { type: 'completeWorkflowExecution', attributes: command.completeWorkflowExecutionCommandAttributes, ...common };
    case CommandType.FAIL_WORKFLOW_EXECUTION: {
      const attributes = command.failWorkflowExecutionCommandAttributes;
      const failure = attributes?.failure === undefined ? undefined : opaqueFailure(attributes.failure);
      return { type: 'failWorkflowExecution', attributes: attributes === undefined ? undefined : { failure }, ...common };
    }
    case CommandType.CANCEL_WORKFLOW_EXECUTION:
      checkOpaque(command.cancelWorkflowExecutionCommandAttributes?.details, 'payloads');
      return { type: 'cancelWorkflowExecution', attributes: command.cancelWorkflowExecutionCommandAttributes, ...common };
    case CommandType.CONTINUE_AS_NEW_WORKFLOW_EXECUTION:
      return {
        type: 'continueAsNewWorkflowExecution',
        attributes: continueAsNew(command.continueAsNewWorkflowExecutionCommandAttributes, defined, limits),
        ...common,
      };
    case CommandType.START_CHILD_WORKFLOW_EXECUTION:
      return {
        type: 'startChildWorkflowExecution',
        attributes: startChild(command.startChildWorkflowExecutionCommandAttributes, namespaces, defined, limits),
        ...common,
      };
    case CommandType.REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION:
      return {
        type: 'requestCancelExternalWorkflowExecution',
        attributes: requestCancelExternal(command.requestCancelExternalWorkflowExecutionCommandAttributes, namespaces),
        ...common,
      };
    case CommandType.SIGNAL_EXTERNAL_WORKFLOW_EXECUTION:
      return {
        type: 'signalExternalWorkflowExecution',
        attributes: signalExternal(command.signalExternalWorkflowExecutionCommandAttributes, namespaces),
        ...common,
      };
    case CommandType.UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
      return {
        type: 'upsertWorkflowSearchAttributes',
        attributes: upsertSearchAttributes(command.upsertWorkflowSearchAttributesCommandAttributes, defined, limits),
        ...common,
      };
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

type AttributesOf<Type extends WorkflowCommand['type']> = Extract<WorkflowCommand, { type: Type }>['attributes'];

function recordMarker(attributes: RecordMarkerCommandAttributes | undefined): AttributesOf<'recordMarker'> {
  if (attributes === undefined) return undefined;
  for (const details of attributes.details.values()) checkOpaque(details, 'payloads');
  checkOpaque(attributes.header, 'fields');
  checkOpaque(attributes.failure, 'failure');
  return attributes;
}

function scheduleActivity(attributes: ScheduleActivityTaskCommandAttributes | undefined): AttributesOf<'scheduleActivityTask'> {
  if (attributes === undefined) return undefined;
  checkOpaque(attributes.input, 'payloads');
  checkOpaque(attributes.header, 'fields');
  checkOpaque(attributes.priority, 'priority');
  return {
    activityId: attributes.activityId,
    activityType: attributes.activityType?.name ?? '',
    taskQueue: attributes.taskQueue,
    header: attributes.header,
    input: attributes.input,
    scheduleToCloseTimeoutMs: attributes.scheduleToCloseTimeoutMs,
    scheduleToStartTimeoutMs: attributes.scheduleToStartTimeoutMs,
    startToCloseTimeoutMs: attributes.startToCloseTimeoutMs,
    heartbeatTimeoutMs: attributes.heartbeatTimeoutMs,
    retryPolicy: attributes.retryPolicy,
    requestEagerExecution: attributes.requestEagerExecution,
    useWorkflowBuildId: attributes.useWorkflowBuildId,
    priority: attributes.priority,
  };
}

function upsertSearchAttributes(
  attributes: UpsertWorkflowSearchAttributesCommandAttributes | undefined,
  defined: DefinedAttributes,
  limits: EdgeLimits,
): AttributesOf<'upsertWorkflowSearchAttributes'> {
  if (attributes === undefined) return undefined;
  checkOpaque(attributes.searchAttributes, 'fields');
  return { searchAttributes: withTypes(attributes.searchAttributes, defined, limits) };
}

function continueAsNew(
  attributes: ContinueAsNewWorkflowExecutionCommandAttributes | undefined,
  defined: DefinedAttributes,
  limits: EdgeLimits,
): AttributesOf<'continueAsNewWorkflowExecution'> {
  if (attributes === undefined) return undefined;
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

function startChild(
  attributes: StartChildWorkflowExecutionCommandAttributes | undefined,
  namespaces: TargetNamespaces,
  defined: DefinedAttributes,
  limits: EdgeLimits,
): AttributesOf<'startChildWorkflowExecution'> {
  if (attributes === undefined) return undefined;
  if (attributes.versioningOverride !== undefined) throw notBuilt('versioning_override of a child workflow');
  checkOpaque(attributes.input, 'payloads');
  checkOpaque(attributes.header, 'fields');
  checkOpaque(attributes.memo, 'fields');
  checkOpaque(attributes.searchAttributes, 'fields');
  checkOpaque(attributes.priority, 'priority');
  const childNamespace = namespaces.get(attributes.namespace);
  const childDefined = childNamespace === undefined ? defined : childNamespace;
  return {
    namespace: attributes.namespace,
    namespaceId: childNamespace?.id ?? '',
    workflowId: attributes.workflowId,
    workflowType: attributes.workflowType?.name ?? '',
    taskQueue: attributes.taskQueue,
    input: attributes.input,
    header: attributes.header,
    memo: attributes.memo,
    searchAttributes: withTypes(attributes.searchAttributes, childDefined, limits),
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

function requestCancelExternal(
  attributes: RequestCancelExternalWorkflowExecutionCommandAttributes | undefined,
  namespaces: TargetNamespaces,
): AttributesOf<'requestCancelExternalWorkflowExecution'> {
  if (attributes === undefined) return undefined;
  return { ...attributes, namespaceId: namespaces.get(attributes.namespace)?.id ?? '' };
}

function signalExternal(
  attributes: SignalExternalWorkflowExecutionCommandAttributes | undefined,
  namespaces: TargetNamespaces,
): AttributesOf<'signalExternalWorkflowExecution'> {
  if (attributes === undefined) return undefined;
  checkOpaque(attributes.input, 'payloads');
  checkOpaque(attributes.header, 'fields');
  return { ...attributes, namespaceId: namespaces.get(attributes.namespace)?.id ?? '' };
}
