/** A run as its shard keeps it, without what Describe and the history have: payloads, buffered events, what workers were told. */
import type { MutableState } from '../../history/run/history-replies.ts';
import { fingerprint32 } from '../../kernel/fingerprint.ts';
import { int64, timestamp } from '../../wire/services.ts';
import { Writer } from '../../wire/writer.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { runKeyOf } from '../validation/names.ts';
import { addressOf, type AdminContext, type AdminHandlers } from './admin-context.ts';
import { required } from './conventions.ts';

/** How Temporal's tools call a workflow among other things that have an id. */
const workflowArchetypes = ['', 'workflow', 'workflow.workflow'];
const workflowArchetypeIds = [0, fingerprint32('workflow.workflow')];

/** `temporal.server.api.enums.v1.WorkflowExecutionState` */
const runState = { created: 1, running: 2, completed: 3 } as const;
const running = 1;

export const mutableStateHandlers: AdminHandlers = {
  DescribeMutableState: async (admin, request, call) => {
    const { context, host } = admin;
    if (!workflowArchetypes.includes(request.archetype)) throw invalidArgument(`Unknown archetype: ${request.archetype}`);
    if (!workflowArchetypeIds.includes(request.archetypeId)) throw invalidArgument(`Unknown archetype id: ${request.archetypeId}`);
    const { workflowId, runId } = required(request.execution, 'execution');
    const wanted = required(workflowId, 'execution.workflow_id');
    const namespace = await context.anyNamespace(call, required(request.namespace, 'namespace'));
    const key = runKeyOf(namespace.id, wanted, runId ?? '');
    const found = await context.history(call, key, { kind: 'describeMutableState', key });
    return {
      shardId: String(context.ports.historyShardOf(namespace.id, wanted)),
      historyAddr: addressOf(host()),
      databaseMutableState: {
        executionInfo: { ...identityOf(found), ...chainOf(found), ...timesOf(found), ...workflowTaskOf(found), ...dataOf(admin, found) },
        executionState: stateOf(found),
        nextEventId: int64(found.description.historyLength + 1),
        activityInfos: activitiesOf(found),
        timerInfos: timersOf(found),
        childExecutionInfos: childrenOf(found),
        signalInfos: initiated(found.signalInitiatedEventIds),
        requestCancelInfos: initiated(found.cancelInitiatedEventIds),
        signalRequestedIds: [...found.signalRequestIds],
      },
    };
  },
};

function identityOf({ description, successorRunId }: MutableState) {
  const { key, parent, root, firstRunId } = description;
  return {
    namespaceId: key.namespaceId,
    workflowId: key.workflowId,
    parentNamespaceId: parent?.namespaceId ?? '',
    parentWorkflowId: parent?.execution.workflowId ?? '',
    parentRunId: parent?.execution.runId ?? '',
    taskQueue: description.taskQueue.name,
    workflowTypeName: description.workflowType,
    firstExecutionRunId: firstRunId,
    originalExecutionRunId: key.runId,
    newExecutionRunId: successorRunId,
    successorRunId,
    rootWorkflowId: root.workflowId,
    rootRunId: root.runId,
    cancelRequested: description.cancelRequested,
  };
}

function chainOf({ attempt, retryPolicy, cronSchedule }: MutableState) {
  return { attempt, cronSchedule, hasRetryPolicy: retryPolicy !== undefined, ...(retryPolicy === undefined ? {} : retryOf(retryPolicy)) };
}

function retryOf(policy: NonNullable<MutableState['retryPolicy']>) {
  return {
    retryInitialInterval: timestamp(policy.initialIntervalMs),
    retryMaximumInterval: timestamp(policy.maximumIntervalMs),
    retryMaximumAttempts: policy.maximumAttempts,
    retryBackoffCoefficient: policy.backoffCoefficient,
    retryNonRetryableErrorTypes: [...policy.nonRetryableErrorTypes],
  };
}

function timesOf({ description }: MutableState) {
  return {
    workflowExecutionTimeout: timestamp(description.executionTimeoutMs),
    workflowRunTimeout: timestamp(description.runTimeoutMs),
    defaultWorkflowTaskTimeout: timestamp(description.taskTimeoutMs),
    startTime: timestamp(description.startTimeMs),
    executionTime: timestamp(description.executionTimeMs),
    closeTime: timestamp(description.closeTimeMs),
    workflowExecutionExpirationTime: timestamp(description.executionExpirationTimeMs),
    workflowRunExpirationTime: timestamp(description.runExpirationTimeMs),
  };
}

function workflowTaskOf({ workflowTask, description, ...found }: MutableState) {
  const pending = description.pendingWorkflowTask;
  return {
    ...(workflowTask && {
      workflowTaskScheduledEventId: int64(workflowTask.scheduledEventId),
      workflowTaskStartedEventId: int64(workflowTask.startedEventId),
      workflowTaskTimeout: timestamp(workflowTask.startToCloseTimeoutMs),
      workflowTaskRequestId: workflowTask.requestId,
      workflowTaskType: workflowTask.type,
      workflowTaskHistorySizeBytes: int64(workflowTask.historySizeBytes),
      workflowTaskStamp: workflowTask.stamp,
    }),
    ...(pending && {
      workflowTaskAttempt: pending.attempt,
      workflowTaskScheduledTime: timestamp(pending.scheduledTimeMs),
      workflowTaskOriginalScheduledTime: timestamp(pending.originalScheduledTimeMs),
      workflowTaskStartedTime: timestamp(pending.startedTimeMs),
    }),
    lastCompletedWorkflowTaskStartedEventId: int64(found.previousStartedEventId),
    stickyTaskQueue: found.stickyTaskQueue,
    stickyScheduleToStartTimeout: timestamp(found.stickyScheduleToStartTimeoutMs),
  };
}

function dataOf({ publicMessages }: AdminContext, { description, signalCount }: MutableState) {
  const { Memo, SearchAttributes, Priority } = publicMessages.common.v1;
  const { memo, searchAttributes, priority, key, historyLength } = description;
  const items = [{ eventId: int64(historyLength), version: int64(0) }];
  return {
    memo: memo === undefined ? {} : Memo.decode(memo).fields,
    searchAttributes: searchAttributes === undefined ? {} : SearchAttributes.decode(searchAttributes).indexedFields,
    priority: priority === undefined ? null : Priority.decode(priority),
    versionHistories: { histories: [{ branchToken: onlyBranch(key.runId), items }] },
    signalCount: int64(signalCount),
    stateTransitionCount: int64(description.stateTransitionCount),
    executionStats: { historySize: int64(description.historySizeBytes) },
  };
}

/** `temporal.server.api.persistence.v1.HistoryBranch`: a run has one branch, of its own name. */
function onlyBranch(runId: string): Uint8Array {
  const writer = new Writer();
  for (const field of [1, 2]) writer.string((field << 3) | 2, runId);
  return writer.finish();
}

function stateOf({ description, workflowTask, previousStartedEventId }: MutableState) {
  const { key, status, firstRunId, startTimeMs, requestIds } = description;
  // Until its first task is scheduled, which a start delay puts off.
  const isBegun = workflowTask !== undefined || previousStartedEventId !== 0;
  return {
    createRequestId: requestIds.keys().next().value ?? '',
    runId: key.runId,
    state: status !== running ? runState.completed : isBegun ? runState.running : runState.created,
    status,
    startTime: timestamp(startTimeMs),
    firstExecutionRunId: firstRunId,
    requestIds: Object.fromEntries([...requestIds].map(([id, { eventId, eventType }]) => [id, { eventId: int64(eventId), eventType }])),
  };
}

function activitiesOf({ description, activities }: MutableState) {
  return Object.fromEntries(
    description.pendingActivities.map((pending, at) => {
      const activity = activities[at];
      const scheduledEventId = activity?.scheduledEventId ?? 0;
      return [
        String(scheduledEventId),
        {
          scheduledEventId: int64(scheduledEventId),
          scheduledEventBatchId: int64(scheduledEventId),
          activityId: pending.activityId,
          activityType: { name: pending.activityType },
          taskQueue: pending.taskQueue.name,
          attempt: pending.attempt,
          stamp: activity?.stamp ?? 0,
          requestId: activity?.requestId ?? '',
          scheduledTime: timestamp(pending.scheduledTimeMs),
          firstScheduledTime: timestamp(activity?.firstScheduledTimeMs ?? 0),
          startedTime: timestamp(pending.lastStartedTimeMs),
          lastHeartbeatUpdateTime: timestamp(pending.lastHeartbeatTimeMs),
          lastAttemptCompleteTime: timestamp(pending.lastAttemptCompleteTimeMs),
          scheduleToStartTimeout: timestamp(pending.scheduleToStartTimeoutMs),
          scheduleToCloseTimeout: timestamp(pending.scheduleToCloseTimeoutMs),
          startToCloseTimeout: timestamp(pending.startToCloseTimeoutMs),
          heartbeatTimeout: timestamp(pending.heartbeatTimeoutMs),
          cancelRequested: (activity?.cancelRequestedEventId ?? 0) !== 0,
          cancelRequestId: int64(activity?.cancelRequestedEventId ?? 0),
          startedIdentity: pending.lastStartedTimeMs === 0 ? '' : pending.lastWorkerIdentity,
          retryLastWorkerIdentity: pending.lastWorkerIdentity,
          hasRetryPolicy: true,
          ...retryOf(pending.retryPolicy),
          retryExpirationTime: timestamp(pending.expirationTimeMs),
        },
      ];
    }),
  );
}

function timersOf({ timers }: MutableState) {
  return Object.fromEntries(
    timers.map(({ timerId, startedEventId, fireTimeMs }) => [
      timerId,
      { timerId, startedEventId: int64(startedEventId), expiryTime: timestamp(fireTimeMs) },
    ]),
  );
}

function childrenOf({ description, childStartedEventIds }: MutableState) {
  return Object.fromEntries(
    description.pendingChildren.map((child, at) => [
      String(child.initiatedEventId),
      {
        initiatedEventId: int64(child.initiatedEventId),
        initiatedEventBatchId: int64(child.initiatedEventId),
        startedEventId: int64(childStartedEventIds[at] ?? 0),
        startedWorkflowId: child.workflowId,
        startedRunId: child.runId,
        workflowTypeName: child.workflowType,
        parentClosePolicy: child.parentClosePolicy,
      },
    ]),
  );
}

function initiated(eventIds: readonly number[]) {
  return Object.fromEntries(
    eventIds.map((eventId) => [String(eventId), { initiatedEventId: int64(eventId), initiatedEventBatchId: int64(eventId) }]),
  );
}
