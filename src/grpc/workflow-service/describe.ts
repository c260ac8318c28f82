import type { CallbackDescription, Description, PendingActivityDescription } from '../../history/run/history-replies.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { type CallbackInfo, encodeCallbackInfo } from '../../wire/generated/lean/callback.ts';
import { CallbackState, PendingWorkflowTaskState } from '../../wire/generated/lean/enums.ts';
import * as workflow from '../../wire/generated/lean/workflow.ts';
import * as wire from '../../wire/generated/lean/workflow_service.ts';
import type { HandlerContext } from '../handler-context.ts';
import { inNamespace, methodsOf, type NamedMethod } from '../method.ts';
import { runKey } from '../validation/names.ts';
import { activityOptions } from './activity-operations.ts';
import { withNote, withPutAside } from './memo-note.ts';

export function describeMethods(context: HandlerContext): readonly NamedMethod[] {
  const large = new LargeDescriptions();
  const codec = { ...wire.codecs.DescribeWorkflowExecution, encode: (encoded: Uint8Array) => encoded };
  const describe = inNamespace(async (_, { execution }: wire.DescribeWorkflowExecutionRequest, call, { id }) => {
    const key = runKey(id, execution);
    const ask = (): Promise<Description> => context.history(call, key, { kind: 'describeWorkflow', key });
    if (!large.isKnown(key)) {
      const found = await ask();
      if (!large.found(key, found)) return encodeDescription(context, id, found);
    }
    // What was found is not kept until there is a place: many that wait would take the memory of the server.
    return context.computing.run(call, id, async (turns) => {
      const found = await ask();
      if (large.found(key, found)) await turns.next();
      return encodeDescription(context, id, found);
    });
  });
  return methodsOf({ DescribeWorkflowExecution: codec }, { DescribeWorkflowExecution: describe })(context);
}

/** Activities, children and the like: so many are described in less time than a turn of the event loop has for calls. */
const partsMax = 200;
/** Of more large workflows, those that were found first are forgotten. */
const largeKnownMax = 10_000;

/** Workflows with so much under way that to describe them is work: they wait for a place before their shard is asked. */
class LargeDescriptions {
  readonly #known = new Set<string>();

  isKnown({ namespaceId, workflowId }: RunKey): boolean {
    return this.#known.has(`${namespaceId}/${workflowId}`);
  }

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

function encodeDescription(context: HandlerContext, namespaceId: string, found: Description): Uint8Array {
  return withinAnswer({
    ...wire.emptyDescribeWorkflowExecutionResponse(),
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
    pendingWorkflowTask: found.pendingWorkflowTask && pendingTask(found.pendingWorkflowTask),
    callbacks: found.callbacks.map((callback) => encodeCallbackInfo(callbackInfo(context, namespaceId, callback))),
    workflowExtendedInfo: extendedInfo(found),
  });
}

function pendingTask({ started, ...task }: NonNullable<Description['pendingWorkflowTask']>) {
  return { ...task, state: started ? PendingWorkflowTaskState.STARTED : PendingWorkflowTaskState.SCHEDULED };
}

function executionInfo(found: Description): workflow.WorkflowExecutionInfo {
  const { key, workflowType, startTimeMs, closeTimeMs, executionTimeMs, status, parent, firstRunId, priority } = found;
  const { historyLength, historySizeBytes, stateTransitionCount } = found;
  return {
    ...workflow.emptyWorkflowExecutionInfo(),
    ...{ startTimeMs, closeTimeMs, executionTimeMs, status, firstRunId, priority, historyLength, historySizeBytes, stateTransitionCount },
    execution: { workflowId: key.workflowId, runId: key.runId },
    type: { name: workflowType },
    parentNamespaceId: parent?.namespaceId ?? '',
    parentExecution: parent?.execution,
    // Empty rather than absent: the Go SDK looks into both without asking.
    memo: withPutAside(found.memo, found.aside, 'it can be read and terminated') ?? nothing,
    searchAttributes: found.searchAttributes ?? nothing,
    taskQueue: found.taskQueue.name,
    executionDurationMs: closeTimeMs === 0 ? 0 : closeTimeMs - executionTimeMs,
    rootExecution: found.root,
  };
}

function extendedInfo(found: Description): workflow.WorkflowExecutionExtendedInfo {
  const { executionExpirationTimeMs, runExpirationTimeMs, cancelRequested, lastResetTimeMs, originalStartTimeMs, resetRunId, pause } =
    found;
  return {
    ...workflow.emptyWorkflowExecutionExtendedInfo(),
    ...{ executionExpirationTimeMs, runExpirationTimeMs, cancelRequested, lastResetTimeMs, originalStartTimeMs, resetRunId },
    pauseInfo: pause && { identity: pause.identity, pausedTimeMs: pause.timeMs, reason: pause.reason },
    requestIdInfos: found.requestIds,
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

function pendingActivity({ activityType, pause, ...activity }: PendingActivityDescription): workflow.PendingActivityInfo {
  return {
    ...workflow.emptyPendingActivityInfo(),
    ...activity,
    activityType: { name: activityType },
    paused: pause !== undefined,
    pauseInfo: pause && { pauseTimeMs: pause.pauseTimeMs, manual: { identity: pause.identity, reason: pause.reason }, rule: undefined },
    activityOptions: activityOptions(activity),
  };
}

// ── A description that its caller can receive ──────────────────────────────────────────────────────────────────────────────────
//
// A run may have 2,000 activities with 8 MiB of heartbeats and failures, 2,000 children with ids of 1,000 bytes, and a memo of 2 MiB; a gRPC client
// takes 4 MiB unless it was told otherwise. Shown first is which activities and children are pending, then how their attempts failed, then what their
// workers said last. What has no room is left out, and a note in the memo says how much of it.

const DESCRIPTION_BYTES_MAX = 4 * 1024 * 1024;
const NOTE_BYTES_MAX = 1024;
/** Tags and lengths around one part, and around the parts that it stands in. */
const FRAME_BYTES_MAX = 16;
const REQUEST_ID_INFO_BYTES_MAX = 32;

/** Encoded here, once: a description may take the processor for milliseconds. */
function withinAnswer(response: wire.DescribeWorkflowExecutionResponse): Uint8Array {
  const encoded = wire.encodeDescribeWorkflowExecutionResponse(response);
  return encoded.length <= DESCRIPTION_BYTES_MAX ? encoded : wire.encodeDescribeWorkflowExecutionResponse(withRoom(response));
}

function withRoom(response: wire.DescribeWorkflowExecutionResponse): wire.DescribeWorkflowExecutionResponse {
  const extended = response.workflowExtendedInfo;
  const frame = { ...response, pendingActivities: [], pendingChildren: [], workflowExtendedInfo: withRequestIds(extended, []) };
  const room = new Room(DESCRIPTION_BYTES_MAX - NOTE_BYTES_MAX - wire.encodeDescribeWorkflowExecutionResponse(frame).length);

  const activities = room.take(
    'pending activities',
    response.pendingActivities,
    (each) => workflow.encodePendingActivityInfo({ ...each, lastFailure: undefined, heartbeatDetails: undefined }).length,
  );
  const pendingChildren = room.take(
    'pending children',
    response.pendingChildren,
    (each) => workflow.encodePendingChildExecutionInfo(each).length,
  );
  const requestIds = room.take(
    'request ids',
    [...(extended?.requestIdInfos ?? [])],
    ([id]) => Buffer.byteLength(id) + REQUEST_ID_INFO_BYTES_MAX,
  );
  const failed = activities.filter(({ lastFailure }) => lastFailure !== undefined);
  const beating = activities.filter(({ heartbeatDetails }) => heartbeatDetails !== undefined);
  const failures = new Set(room.take('last failures', failed, ({ lastFailure }) => lastFailure?.length ?? 0));
  const heartbeats = new Set(room.take('heartbeat details', beating, ({ heartbeatDetails }) => heartbeatDetails?.length ?? 0));
  const pendingActivities = activities.map((activity) => ({
    ...activity,
    lastFailure: failures.has(activity) ? activity.lastFailure : undefined,
    heartbeatDetails: heartbeats.has(activity) ? activity.heartbeatDetails : undefined,
  }));
  const info = response.workflowExecutionInfo;
  const note = `this answer would be larger than ${DESCRIPTION_BYTES_MAX} bytes; left out are ${room.leftOut.join(', ')}`;
  return {
    ...frame,
    pendingActivities,
    pendingChildren,
    workflowExtendedInfo: withRequestIds(extended, requestIds),
    workflowExecutionInfo: info === undefined ? undefined : { ...info, memo: withNote(info.memo, 'PerdureLeftOut', note) },
  };
}

class Room {
  #bytes: number;
  readonly leftOut: string[] = [];

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  take<Item>(what: string, items: readonly Item[], bytesOf: (item: Item) => number): readonly Item[] {
    const taken = items.filter((item) => {
      const bytes = bytesOf(item) + FRAME_BYTES_MAX;
      if (bytes > this.#bytes) return false;
      this.#bytes -= bytes;
      return true;
    });
    if (taken.length < items.length) this.leftOut.push(`${items.length - taken.length} of ${items.length} ${what}`);
    return taken;
  }
}

function withRequestIds(
  info: workflow.WorkflowExecutionExtendedInfo | undefined,
  entries: readonly (readonly [string, workflow.RequestIdInfo])[],
): workflow.WorkflowExecutionExtendedInfo | undefined {
  return info === undefined ? undefined : { ...info, requestIdInfos: new Map(entries) };
}
