/** What a fact does to its run: the part of the state that history does not show. */
import { assert, unreachable } from '../kernel/assert.ts';
import { attachRequestId, changeActivity, endFailedWorkflowTask, evolveEvent } from './evolve-event.ts';
import { eventTypeNumber, type HistoryEvent } from './events.ts';
import type { Fact } from './record.ts';
import type { HistoryWire } from './replies.ts';
import type { Run } from './state.ts';

/** About the shard, not only about the run (evolve.ts). */
export type ShardFact = Extract<Fact, { readonly kind: 'runPutAside' | 'runTakenBack' | 'runForgotten' }>;
export type RunFact = Exclude<Fact, ShardFact>;

export function evolveFact(run: Run, fact: RunFact, nowMs: number, wire: HistoryWire): void {
  switch (fact.kind) {
    case 'startRequest':
      run.retentionMs = fact.retentionMs;
      if (fact.requestId !== '') attachRequestId(run, fact.requestId, 1, eventTypeNumber.workflowExecutionStarted);
      return;

    case 'workflowTaskScheduled':
      run.workflowTaskStamp++;
      run.workflowTask = {
        kind: 'transient',
        scheduledEventId: fact.scheduledEventId,
        stamp: run.workflowTaskStamp,
        attempt: fact.attempt,
        scheduledTimeMs: nowMs,
        originalScheduledTimeMs: nowMs,
        taskQueue: fact.taskQueue,
        startToCloseTimeoutMs: fact.startToCloseTimeoutMs,
        startedEventId: 0,
        startedTimeMs: 0,
        requestId: '',
        identity: '',
        historySizeBytes: 0,
        suggestContinueAsNewReasons: [],
        dispatchTaskId: 0,
        timeoutTaskId: 0,
      };
      return;
    case 'workflowTaskHeartbeat':
      assert(run.workflowTask !== undefined, 'a heartbeat needs the task that continues it');
      run.workflowTask = { ...run.workflowTask, originalScheduledTimeMs: fact.originalScheduledTimeMs };
      return;
    case 'workflowTaskStarted':
      assert(run.workflowTask !== undefined, 'only a scheduled task can start');
      run.workflowTask = {
        ...run.workflowTask,
        startedEventId: run.workflowTask.scheduledEventId + 1,
        startedTimeMs: nowMs,
        requestId: fact.requestId,
        identity: fact.identity,
        historySizeBytes: fact.historySizeBytes,
        suggestContinueAsNewReasons: fact.suggestContinueAsNewReasons,
        dispatchTaskId: 0,
        timeoutTaskId: 0,
      };
      return;
    case 'workflowTaskFailed':
      endFailedWorkflowTask(run, true);
      run.closeAttempted = fact.unhandledCommand;
      return;
    case 'workflowTaskRequeued':
      assert(run.workflowTask !== undefined, 'only a scheduled task can move');
      run.workflowTaskStamp++;
      run.workflowTask = {
        ...run.workflowTask,
        stamp: run.workflowTaskStamp,
        taskQueue: fact.taskQueue,
        dispatchTaskId: 0,
        timeoutTaskId: 0,
      };
      return;
    case 'stickySet':
      run.sticky = fact.sticky;
      return;
    case 'stickyCleared':
      run.sticky = undefined;
      return;

    case 'eventBuffered':
      run.buffered.push(fact.event);
      run.bufferedBytes += wire.encodeEvent(fact.event).length;
      evolveEvent(run, fact.event, wire);
      return;
    case 'bufferFlushed':
      run.buffered = [];
      run.bufferedBytes = 0;
      return;
    case 'timerFiredUnbuffered':
      unbufferTimer(run, fact.timerId, wire);
      return;

    case 'activityStarted':
      changeActivity(run, fact.scheduledEventId, (activity) => ({
        ...activity,
        startedTimeMs: nowMs,
        requestId: fact.requestId,
        identity: fact.identity,
        workerVersion: fact.workerVersion,
        lastStartedTimeMs: nowMs,
        dispatchTaskId: 0,
      }));
      return;
    case 'activityStartWithdrawn':
      changeActivity(run, fact.scheduledEventId, (activity) => ({
        ...activity,
        stamp: activity.stamp + 1,
        startedTimeMs: 0,
        requestId: '',
        identity: '',
        workerVersion: undefined,
        scheduledTimeMs: nowMs,
      }));
      return;
    case 'activityHeartbeat':
      changeActivity(run, fact.scheduledEventId, (activity) => ({ ...activity, heartbeatDetails: fact.details, heartbeatTimeMs: nowMs }));
      return;
    case 'activityRetried':
      changeActivity(run, fact.scheduledEventId, (activity) => ({
        ...activity,
        attempt: activity.attempt + 1,
        stamp: activity.stamp + 1,
        inBackoff: true,
        scheduledTimeMs: nowMs + fact.intervalMs,
        startedTimeMs: 0,
        requestId: '',
        identity: '',
        workerVersion: undefined,
        lastFailure: fact.failure,
        lastWorkerIdentity: activity.identity,
        lastAttemptCompleteTimeMs: nowMs,
        retryIntervalMs: fact.intervalMs,
        dispatchTaskId: 0,
        timerTaskId: 0,
      }));
      return;
    case 'activityBackoffEnded':
      changeActivity(run, fact.scheduledEventId, (activity) => ({ ...activity, inBackoff: false, timerTaskId: 0 }));
      return;
    default:
      return unreachable(fact);
  }
}

function unbufferTimer(run: Run, timerId: string, wire: HistoryWire): void {
  const kept: HistoryEvent[] = [];
  for (const event of run.buffered) {
    if (event.type === 'timerFired' && event.attributes.timerId === timerId) run.bufferedBytes -= wire.encodeEvent(event).length;
    else kept.push(event);
  }
  run.buffered = kept;
}
