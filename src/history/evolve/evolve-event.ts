/** What an event does to its run; facts refine it. A buffered event comes twice, the second time with its id: to set or remove again is no error. */
import { unreachable } from '../../kernel/assert.ts';
import { status, timeoutType, workflowTaskFailedCause } from '../generated/enums.ts';
import { eventTypeNumber } from '../generated/public-api.ts';
import { withAttached } from '../run/callback.ts';
import type { EventOf, HistoryEvent } from '../run/events.ts';
import { mergeFields } from '../run/fields.ts';
import type { HistoryWire } from '../run/history-replies.ts';
import { scheduledWorkflowTask, startedWorkflowTask } from '../run/scheduled-task.ts';
import type { ExternalRequest, Run } from '../run/state.ts';
import { attachOptions, attachToUpdate } from '../run/update-callbacks.ts';
import { beginActivity, changeActivity, removeActivity } from './evolve-activity.ts';
import { attachRequestId, attachRequestOfUpdate, endFailedWorkflowTask, markClosed } from './evolve-run.ts';

export function evolveEvent(run: Run, event: HistoryEvent, wire: HistoryWire): void {
  switch (event.type) {
    case 'workflowExecutionStarted':
    case 'markerRecorded':
      return;

    case 'workflowTaskScheduled': {
      const { attempt, taskQueue, startToCloseTimeoutMs } = event.attributes;
      run.workflowTaskStamp++;
      run.backoffTaskId = 0;
      run.workflowTaskAttempt = attempt;
      run.workflowTask = scheduledWorkflowTask({
        kind: 'normal',
        scheduledEventId: event.eventId,
        stamp: run.workflowTaskStamp,
        attempt,
        scheduledTimeMs: event.eventTimeMs,
        taskQueue: taskQueue ?? run.start.taskQueue,
        startToCloseTimeoutMs,
      });
      return;
    }
    case 'workflowTaskStarted':
      if (run.workflowTask === undefined) return;
      run.workflowTask = startedWorkflowTask(run.workflowTask, event.eventId, event.eventTimeMs, event.attributes);
      return;
    case 'workflowTaskCompleted':
      run.previousStartedEventId = event.attributes.startedEventId;
      run.workflowTask = undefined;
      run.workflowTaskAttempt = 1;
      run.closeAttempted = false;
      return;
    case 'workflowTaskFailed':
      // What goes on from there is no repetition.
      endFailedWorkflowTask(run, event.attributes.cause !== workflowTaskFailedCause.resetWorkflow);
      run.closeAttempted = event.attributes.cause === workflowTaskFailedCause.unhandledCommand;
      return;
    case 'workflowTaskTimedOut':
      return endFailedWorkflowTask(run, event.attributes.timeoutType !== timeoutType.scheduleToStart);

    case 'activityTaskScheduled':
      return beginActivity(run, event);
    case 'activityTaskStarted': {
      const { scheduledEventId, attempt, requestId, identity } = event.attributes;
      const startedTimeMs = event.eventTimeMs;
      changeActivity(run, scheduledEventId, (activity) => ({ ...activity, startedTimeMs, attempt, requestId, identity }));
      return;
    }
    case 'activityTaskCancelRequested':
      changeActivity(run, event.attributes.scheduledEventId, (activity) => ({ ...activity, cancelRequestedEventId: event.eventId }));
      return;
    case 'activityTaskCompleted':
    case 'activityTaskFailed':
    case 'activityTaskTimedOut':
    case 'activityTaskCanceled':
      return removeActivity(run, event.attributes.scheduledEventId);

    case 'timerStarted': {
      const { timerId, startToFireTimeoutMs } = event.attributes;
      const fireTimeMs = event.eventTimeMs + startToFireTimeoutMs;
      run.timers.set(timerId, { timerId, startedEventId: event.eventId, fireTimeMs, taskId: 0 });
      return;
    }
    case 'timerFired':
    case 'timerCanceled': {
      const { timerId, startedEventId } = event.attributes;
      if (run.timers.get(timerId)?.startedEventId === startedEventId) run.timers.delete(timerId);
      return;
    }

    case 'startChildWorkflowExecutionInitiated': {
      const { eventId: initiatedEventId, attributes, userMetadata } = event;
      run.children.set(initiatedEventId, { initiatedEventId, attributes, userMetadata, runId: '', startedEventId: 0, taskId: 0 });
      return;
    }
    case 'childWorkflowExecutionStarted': {
      const { initiatedEventId, workflowExecution } = event.attributes;
      const child = run.children.get(initiatedEventId);
      if (child === undefined) return;
      // eventId is 0 while the event is buffered; the second time it is real.
      run.children.set(initiatedEventId, { ...child, runId: workflowExecution?.runId ?? '', startedEventId: event.eventId, taskId: 0 });
      return;
    }
    case 'startChildWorkflowExecutionFailed':
    case 'childWorkflowExecutionCompleted':
    case 'childWorkflowExecutionFailed':
    case 'childWorkflowExecutionCanceled':
    case 'childWorkflowExecutionTimedOut':
    case 'childWorkflowExecutionTerminated':
      return run.children.delete(event.attributes.initiatedEventId);

    case 'signalExternalWorkflowExecutionInitiated': {
      const { signalName, input, header } = event.attributes;
      run.externalSignals.set(event.eventId, { ...externalRequest(event), signalName, input, header });
      return;
    }
    case 'externalWorkflowExecutionSignaled':
    case 'signalExternalWorkflowExecutionFailed':
      return run.externalSignals.delete(event.attributes.initiatedEventId);
    case 'requestCancelExternalWorkflowExecutionInitiated':
      run.externalCancels.set(event.eventId, { ...externalRequest(event), reason: event.attributes.reason });
      return;
    case 'externalWorkflowExecutionCancelRequested':
    case 'requestCancelExternalWorkflowExecutionFailed':
      return run.externalCancels.delete(event.attributes.initiatedEventId);

    case 'workflowExecutionUpdateAdmitted': {
      const { request } = event.attributes;
      const updateId = request === undefined ? '' : wire.updateIdOf(request);
      run.updates.set(updateId, { updateId, admittedEventId: event.eventId, acceptedEventId: 0, completedEventId: 0 });
      return attachUpdate(run, event, { updateId, request }, wire);
    }
    case 'workflowExecutionUpdateAccepted': {
      const { protocolInstanceId: updateId, acceptedRequest: request } = event.attributes;
      const admittedEventId = run.updates.get(updateId)?.admittedEventId ?? 0;
      run.updates.set(updateId, { updateId, admittedEventId, acceptedEventId: event.eventId, completedEventId: 0 });
      return attachUpdate(run, event, { updateId, request }, wire);
    }
    case 'workflowExecutionUpdateCompleted': {
      const { meta, acceptedEventId } = event.attributes;
      const updateId = meta?.updateId ?? '';
      const admittedEventId = run.updates.get(updateId)?.admittedEventId ?? 0;
      run.updates.set(updateId, { updateId, admittedEventId, acceptedEventId, completedEventId: event.eventId });
      return;
    }

    case 'workflowExecutionSignaled': {
      const { eventId } = event;
      const { requestId } = event.attributes;
      // Counted once: when it gets its id.
      if (eventId !== 0) run.signalCount++;
      if (requestId === '') return;
      run.signalRequestIds.set(requestId, { requestId, eventId, eventType: eventTypeNumber.workflowExecutionSignaled });
      return;
    }
    case 'workflowExecutionPaused':
    case 'workflowExecutionUnpaused':
      // The next task is no repetition: these events came in between.
      if (run.workflowTask === undefined) run.workflowTaskAttempt = 1;
      run.pause = event.type === 'workflowExecutionPaused' ? { timeMs: event.eventTimeMs, ...event.attributes } : undefined;
      return;
    case 'workflowExecutionCancelRequested':
      run.cancelRequested = true;
      return;
    case 'workflowExecutionOptionsUpdated': {
      const { attachedRequestId: requestId, attachedCompletionCallbacks: callbacks, priority } = event.attributes;
      const idOf = (index: number): string => `cb-${requestId}-${index}`;
      run.callbacks = withAttached(run.callbacks, { callbacks, attachedBy: requestId, timeMs: event.eventTimeMs, idOf });
      const type = eventTypeNumber.workflowExecutionOptionsUpdated;
      if (requestId !== '') attachRequestId(run, requestId, event.eventId, type);
      for (const id of attachOptions(run, event)) attachRequestOfUpdate(run, id, event.eventId, type);
      if (priority !== undefined) run.start = { ...run.start, priority: priority.length === 0 ? undefined : priority };
      return;
    }
    case 'upsertWorkflowSearchAttributes':
      run.searchAttributes = mergeFields(run.searchAttributes, event.attributes.searchAttributes, wire);
      return;
    case 'workflowPropertiesModified':
      run.memo = mergeFields(run.memo, event.attributes.upsertedMemo, wire);
      return;

    case 'workflowExecutionCompleted':
      return markClosed(run, status.completed, event.eventTimeMs, event.attributes.newExecutionRunId);
    case 'workflowExecutionFailed':
      return markClosed(run, status.failed, event.eventTimeMs, event.attributes.newExecutionRunId);
    case 'workflowExecutionTimedOut':
      return markClosed(run, status.timedOut, event.eventTimeMs, event.attributes.newExecutionRunId);
    case 'workflowExecutionContinuedAsNew':
      return markClosed(run, status.continuedAsNew, event.eventTimeMs, event.attributes.newExecutionRunId);
    case 'workflowExecutionCanceled':
      return markClosed(run, status.canceled, event.eventTimeMs);
    case 'workflowExecutionTerminated':
      return markClosed(run, status.terminated, event.eventTimeMs);
    default:
      return unreachable(event);
  }
}

type ExternalInitiated = EventOf<'signalExternalWorkflowExecutionInitiated' | 'requestCancelExternalWorkflowExecutionInitiated'>;

function externalRequest({ eventId, attributes }: ExternalInitiated): ExternalRequest {
  return {
    initiatedEventId: eventId,
    namespace: attributes.namespace,
    namespaceId: attributes.namespaceId,
    workflowExecution: attributes.workflowExecution ?? { workflowId: '', runId: '' },
    childWorkflowOnly: attributes.childWorkflowOnly,
    control: attributes.control,
    reason: '',
    signalName: '',
    input: undefined,
    header: undefined,
    workflowTaskCompletedEventId: attributes.workflowTaskCompletedEventId,
    taskId: 0,
  };
}

/** The request id of an update becomes one of its run's, and its callbacks wait from now on. */
function attachUpdate(
  run: Run,
  { type, eventId, eventTimeMs }: EventOf<'workflowExecutionUpdateAdmitted' | 'workflowExecutionUpdateAccepted'>,
  { updateId, request }: { readonly updateId: string; readonly request: Uint8Array | undefined },
  wire: HistoryWire,
): void {
  if (request === undefined) return;
  const { requestId, callbacks } = wire.attachmentOf(request);
  if (requestId === '') return;
  attachRequestOfUpdate(run, requestId, eventId, eventTypeNumber[type]);
  attachToUpdate(run, { updateId, requestId, callbacks }, eventTimeMs);
}
