import fc from 'fast-check';
import type { FailureFacts, OpaqueFailure } from '../../../src/history/commands/failure.ts';
import type { WorkflowCommand } from '../../../src/history/commands/workflow-commands.ts';
import {
  bytes,
  count,
  enumValue,
  execution,
  flag,
  list,
  mapOf,
  maybeWith,
  orNone,
  record,
  retryPolicy,
  taskQueue,
  text,
  word,
} from './arbitrary.ts';

const failureKinds: { readonly [Kind in FailureFacts['kind']]: true } = {
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

export const opaqueFailure: fc.Arbitrary<OpaqueFailure> = record({
  facts: record({
    kind: word(...(Object.keys(failureKinds) as FailureFacts['kind'][])),
    type: text,
    nonRetryable: flag,
    nextRetryDelayMs: count,
    message: text,
  }),
  bytes,
});

type AttributesOf<Type extends WorkflowCommand['type']> = NonNullable<Extract<WorkflowCommand, { readonly type: Type }>['attributes']>;

const attributes: { readonly [Type in WorkflowCommand['type']]: fc.Arbitrary<AttributesOf<Type>> } = {
  protocolMessage: record({ messageId: text }),
  scheduleActivityTask: record({
    activityId: text,
    activityType: text,
    taskQueue: orNone(taskQueue),
    header: orNone(bytes),
    input: orNone(bytes),
    scheduleToCloseTimeoutMs: count,
    scheduleToStartTimeoutMs: count,
    startToCloseTimeoutMs: count,
    heartbeatTimeoutMs: count,
    retryPolicy: orNone(retryPolicy),
    requestEagerExecution: flag,
    useWorkflowBuildId: flag,
    priority: orNone(bytes),
  }),
  requestCancelActivityTask: record({ scheduledEventId: count }),
  startTimer: record({ timerId: text, startToFireTimeoutMs: count }),
  cancelTimer: record({ timerId: text }),
  recordMarker: record({ markerName: text, details: mapOf(bytes), header: orNone(bytes), failure: orNone(bytes) }),
  completeWorkflowExecution: record({ result: orNone(bytes) }),
  failWorkflowExecution: record({ failure: orNone(opaqueFailure) }),
  cancelWorkflowExecution: record({ details: orNone(bytes) }),
  continueAsNewWorkflowExecution: record({
    workflowType: text,
    taskQueue: orNone(taskQueue),
    input: orNone(bytes),
    header: orNone(bytes),
    memo: orNone(bytes),
    searchAttributes: orNone(bytes),
    runTimeoutMs: count,
    taskTimeoutMs: count,
    backoffStartIntervalMs: count,
    initiator: enumValue,
    failure: orNone(bytes),
    lastCompletionResult: orNone(bytes),
    retryPolicy: orNone(retryPolicy),
    cronSchedule: text,
    inheritBuildId: flag,
  }),
  startChildWorkflowExecution: record({
    namespace: text,
    namespaceId: text,
    workflowId: text,
    workflowType: text,
    taskQueue: orNone(taskQueue),
    input: orNone(bytes),
    header: orNone(bytes),
    memo: orNone(bytes),
    searchAttributes: orNone(bytes),
    executionTimeoutMs: count,
    runTimeoutMs: count,
    taskTimeoutMs: count,
    parentClosePolicy: enumValue,
    workflowIdReusePolicy: enumValue,
    control: text,
    retryPolicy: orNone(retryPolicy),
    cronSchedule: text,
    inheritBuildId: flag,
    priority: orNone(bytes),
  }),
  requestCancelExternalWorkflowExecution: record({
    namespace: text,
    namespaceId: text,
    workflowId: text,
    runId: text,
    control: text,
    childWorkflowOnly: flag,
    reason: text,
  }),
  signalExternalWorkflowExecution: record({
    namespace: text,
    namespaceId: text,
    execution: orNone(execution),
    signalName: text,
    input: orNone(bytes),
    control: text,
    childWorkflowOnly: flag,
    header: orNone(bytes),
  }),
  upsertWorkflowSearchAttributes: record({ searchAttributes: orNone(bytes) }),
  modifyWorkflowProperties: record({ upsertedMemo: orNone(bytes) }),
};

export const workflowCommands: readonly fc.Arbitrary<WorkflowCommand>[] = (Object.keys(attributes) as WorkflowCommand['type'][]).map(
  commandOf,
);

function commandOf(type: WorkflowCommand['type']): fc.Arbitrary<WorkflowCommand> {
  const command = record({ type: fc.constant(type), attributes: orNone<unknown>(attributes[type]), userMetadata: orNone(bytes) });
  // The compiler cannot see that `type` and `attributes` were chosen together.
  return maybeWith(command, 'eventGroupMarkers', list(bytes)) as fc.Arbitrary<WorkflowCommand>;
}
