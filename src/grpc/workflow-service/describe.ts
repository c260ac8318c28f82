import type { ActivityPause } from '../../history/activity/activity-operations.ts';
import type { CallbackDescription, Description, PendingActivityDescription } from '../../history/replies.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { type CallbackInfo, encodeCallbackInfo } from '../../wire/generated/lean/callback.ts';
import { CallbackState, PendingWorkflowTaskState } from '../../wire/generated/lean/enums.ts';
import {
  emptyPendingActivityInfo,
  emptyWorkflowExecutionExtendedInfo,
  emptyWorkflowExecutionInfo,
  type PendingActivityInfo,
  type RequestIdInfo,
  type WorkflowExecutionExtendedInfo,
  type WorkflowExecutionInfo,
} from '../../wire/generated/lean/workflow.ts';
import {
  decodeDescribeWorkflowExecutionRequest,
  emptyDescribeWorkflowExecutionResponse,
  type DescribeWorkflowExecutionRequest,
} from '../../wire/generated/lean/workflow_service.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { runKey } from '../validation/execution.ts';
import { activityOptions } from './activity-options.ts';
import { withinAnswer } from './description-size.ts';
import { withPutAside } from './memo-note.ts';

export function describeMethods(context: HandlerContext): readonly NamedMethod[] {
  const large = new LargeDescriptions();
  return [
    unary(
      'DescribeWorkflowExecution',
      decodeDescribeWorkflowExecutionRequest,
      (encoded: Uint8Array) => encoded,
      (request, call) => describe(context, large, request, call),
    ),
  ];
}

/** Activities, children and the like: so many are described in less time than a turn of the event loop has for calls. */
const partsMax = 200;
/** Of workflows; those that were found first are forgotten. */
const largeKnownMax = 10_000;

/** Workflows with so much under way that to describe them is work: they wait for a place before their shard is asked. */
class LargeDescriptions {
  readonly #known = new Set<string>();

  isKnown({ namespaceId, workflowId }: RunKey): boolean {
    return this.#known.has(`${namespaceId}/${workflowId}`);
  }

  /** Whether it is. */
  found({ namespaceId, workflowId }: RunKey, { pendingActivities, pendingChildren, callbacks, requestIds }: Description): boolean {
    const name = `${namespaceId}/${workflowId}`;
    this.#known.delete(name);
    if (pendingActivities.length + pendingChildren.length + callbacks.length + requestIds.size <= partsMax) return false;
    this.#known.add(name);
    if (this.#known.size > largeKnownMax) this.#known.delete(this.#known.values().next().value ?? '');
    return true;
  }
}

const nothing = new Uint8Array(0);

async function describe(
  context: HandlerContext,
  large: LargeDescriptions,
  request: DescribeWorkflowExecutionRequest,
  call: Call,
): Promise<Uint8Array> {
  const namespace = await context.namespace(call, request.namespace);
  const key = runKey(namespace.id, request.execution);
  const ask = (): Promise<Description> => context.history(call, key, { kind: 'describeWorkflow', key });
  if (!large.isKnown(key)) {
    const found = await ask();
    if (!large.found(key, found)) return encodeDescription(context, namespace.id, found);
  }
  // What was found is not kept until there is a place: many that wait would take the memory of the server.
  return context.computing.run(call, namespace.id, async (turns) => {
    const found = await ask();
    if (large.found(key, found)) await turns.next();
    return encodeDescription(context, namespace.id, found);
  });
}

function encodeDescription(context: HandlerContext, namespaceId: string, found: Description): Uint8Array {
  return withinAnswer({
    ...emptyDescribeWorkflowExecutionResponse(),
    executionConfig: {
      taskQueue: found.taskQueue,
      workflowExecutionTimeoutMs: found.executionTimeoutMs,
      workflowRunTimeoutMs: found.runTimeoutMs,
      defaultWorkflowTaskTimeoutMs: found.taskTimeoutMs,
      userMetadata: found.userMetadata,
    },
    workflowExecutionInfo: executionInfo(found),
    pendingActivities: found.pendingActivities.map(pendingActivity),
    pendingChildren: found.pendingChildren.map((child) => ({
      workflowId: child.workflowId,
      runId: child.runId,
      workflowTypeName: child.workflowType,
      initiatedId: child.initiatedEventId,
      parentClosePolicy: child.parentClosePolicy,
    })),
    pendingWorkflowTask:
      found.pendingWorkflowTask === undefined
        ? undefined
        : {
            state: found.pendingWorkflowTask.started ? PendingWorkflowTaskState.STARTED : PendingWorkflowTaskState.SCHEDULED,
            scheduledTimeMs: found.pendingWorkflowTask.scheduledTimeMs,
            originalScheduledTimeMs: found.pendingWorkflowTask.originalScheduledTimeMs,
            startedTimeMs: found.pendingWorkflowTask.startedTimeMs,
            attempt: found.pendingWorkflowTask.attempt,
          },
    callbacks: found.callbacks.map((callback) => encodeCallbackInfo(callbackInfo(context, namespaceId, callback))),
    workflowExtendedInfo: extendedInfo(found),
  });
}

function executionInfo(found: Description): WorkflowExecutionInfo {
  return {
    ...emptyWorkflowExecutionInfo(),
    execution: { workflowId: found.key.workflowId, runId: found.key.runId },
    type: { name: found.workflowType },
    startTimeMs: found.startTimeMs,
    closeTimeMs: found.closeTimeMs,
    status: found.status,
    historyLength: found.historyLength,
    parentNamespaceId: found.parent?.namespaceId ?? '',
    parentExecution: found.parent?.execution,
    executionTimeMs: found.executionTimeMs,
    // Empty rather than absent: the Go SDK looks into both without asking.
    memo: memoOf(found) ?? nothing,
    searchAttributes: found.searchAttributes ?? nothing,
    taskQueue: found.taskQueue.name,
    stateTransitionCount: found.stateTransitionCount,
    historySizeBytes: found.historySizeBytes,
    executionDurationMs: found.closeTimeMs === 0 ? 0 : found.closeTimeMs - found.executionTimeMs,
    rootExecution: found.root,
    firstRunId: found.firstRunId,
    priority: found.priority,
  };
}

function memoOf({ memo, aside }: Description): Uint8Array | undefined {
  return withPutAside(memo, aside, 'it can be read and terminated');
}

function extendedInfo(found: Description): WorkflowExecutionExtendedInfo {
  return {
    ...emptyWorkflowExecutionExtendedInfo(),
    executionExpirationTimeMs: found.executionExpirationTimeMs,
    runExpirationTimeMs: found.runExpirationTimeMs,
    cancelRequested: found.cancelRequested,
    lastResetTimeMs: found.lastResetTimeMs,
    originalStartTimeMs: found.originalStartTimeMs,
    resetRunId: found.resetRunId,
    pauseInfo: found.pause && { identity: found.pause.identity, pausedTimeMs: found.pause.timeMs, reason: found.pause.reason },
    requestIdInfos: new Map(
      [...found.requestIds].map(([id, info]): [string, RequestIdInfo] => [
        id,
        { eventType: info.eventType, eventId: info.eventId, buffered: info.buffered },
      ]),
    ),
  };
}

const blockedReason = 'The circuit breaker is open.';

function callbackInfo({ ports }: HandlerContext, namespaceId: string, described: CallbackDescription): CallbackInfo {
  const { callback, registrationTimeMs, attempt, lastAttemptTimeMs, lastFailure, nextAttemptTimeMs, updateId } = described;
  const isBlocked = described.state === CallbackState.SCHEDULED && ports.callbacks.isBlocked(namespaceId, callback);
  return {
    callback,
    trigger:
      updateId === ''
        ? { workflowClosed: {}, updateWorkflowExecutionCompleted: undefined }
        : { workflowClosed: undefined, updateWorkflowExecutionCompleted: { updateId } },
    registrationTimeMs,
    state: isBlocked ? CallbackState.BLOCKED : described.state,
    attempt,
    lastAttemptCompleteTimeMs: lastAttemptTimeMs,
    lastAttemptFailure: lastFailure,
    nextAttemptScheduleTimeMs: nextAttemptTimeMs,
    blockedReason: isBlocked ? blockedReason : '',
  };
}

function pendingActivity(activity: PendingActivityDescription): PendingActivityInfo {
  return {
    ...emptyPendingActivityInfo(),
    activityId: activity.activityId,
    activityType: { name: activity.activityType },
    state: activity.state,
    heartbeatDetails: activity.heartbeatDetails,
    lastHeartbeatTimeMs: activity.lastHeartbeatTimeMs,
    lastStartedTimeMs: activity.lastStartedTimeMs,
    attempt: activity.attempt,
    maximumAttempts: activity.maximumAttempts,
    scheduledTimeMs: activity.scheduledTimeMs,
    expirationTimeMs: activity.expirationTimeMs,
    lastFailure: activity.lastFailure,
    lastWorkerIdentity: activity.lastWorkerIdentity,
    currentRetryIntervalMs: activity.currentRetryIntervalMs,
    lastAttemptCompleteTimeMs: activity.lastAttemptCompleteTimeMs,
    nextAttemptScheduleTimeMs: activity.nextAttemptScheduleTimeMs,
    priority: activity.priority,
    paused: activity.pause !== undefined,
    pauseInfo: activity.pause && { pauseTimeMs: activity.pause.pauseTimeMs, manual: pausedBy(activity.pause), rule: undefined },
    activityOptions: activityOptions(activity),
  };
}

function pausedBy({ identity, reason }: ActivityPause): { readonly identity: string; readonly reason: string } {
  return { identity, reason };
}
