/** What a fact does to its run: the part of the state that history does not show. */
import { assert, unreachable } from '../../kernel/assert.ts';
import { eventTypeNumber } from '../generated/public-api.ts';
import { withAnswered } from '../run/answered-requests.ts';
import { attempted } from '../run/callback.ts';
import type { HistoryEvent } from '../run/events.ts';
import { mergeFields } from '../run/fields.ts';
import type { HistoryWire } from '../run/history-replies.ts';
import { changedProgress } from '../run/progress-change.ts';
import type { Fact, FactOf } from '../run/record.ts';
import { scheduledWorkflowTask, startedWorkflowTask } from '../run/scheduled-task.ts';
import type { Schedule } from '../run/schedule-state.ts';
import type { Run } from '../run/state.ts';
import { noteRejection } from '../run/update-callbacks.ts';
import {
  afterFailedAttempt,
  afterPause,
  afterReset,
  afterUnpause,
  changeActivity,
  rescheduled,
  withAnswer,
  withheld,
  withOptions,
  withoutStart,
  withStart,
} from './evolve-activity.ts';
import { evolveEvent } from './evolve-event.ts';
import { attachRequestId, beginAgain, endFailedWorkflowTask } from './evolve-run.ts';

/** About the shard, not only about the run (evolve.ts). */
export type ShardFact = FactOf<'runPutAside' | 'runTakenBack' | 'runForgotten'>;
export type RunFact = Exclude<Fact, ShardFact>;

export function evolveFact(run: Run, fact: RunFact, nowMs: number, wire: HistoryWire): void {
  switch (fact.kind) {
    case 'startRequest':
      run.retentionMs = fact.retentionMs;
      if (fact.requestId !== '') attachRequestId(run, fact.requestId, 1, eventTypeNumber.workflowExecutionStarted);
      return;
    case 'workflowTaskScheduled':
      run.workflowTaskStamp++;
      run.workflowTask = scheduledWorkflowTask({
        kind: 'transient',
        scheduledEventId: fact.scheduledEventId,
        stamp: run.workflowTaskStamp,
        attempt: fact.attempt,
        scheduledTimeMs: nowMs,
        taskQueue: fact.taskQueue,
        startToCloseTimeoutMs: fact.startToCloseTimeoutMs,
      });
      return;
    case 'workflowTaskHeartbeat':
      assert(run.workflowTask !== undefined, 'a heartbeat needs the task that continues it');
      run.workflowTask = { ...run.workflowTask, originalScheduledTimeMs: fact.originalScheduledTimeMs };
      return;
    case 'workflowTaskStarted':
      assert(run.workflowTask !== undefined, 'only a scheduled task can start');
      run.workflowTask = startedWorkflowTask(run.workflowTask, run.workflowTask.scheduledEventId + 1, nowMs, fact);
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
    case 'problemsReported':
      return setKeywords(run, reportedProblems, fact.problems, wire);
    case 'pauseInfoChanged':
      return setKeywords(run, pauseInfo, fact.entries, wire);
    case 'activityStarted':
      return changeActivity(run, fact.scheduledEventId, (activity) => withStart(activity, fact, nowMs));
    case 'activityStartWithdrawn':
      return changeActivity(run, fact.scheduledEventId, (activity) => withoutStart(activity, nowMs));
    case 'activityHeartbeat':
      changeActivity(run, fact.scheduledEventId, (activity) => ({ ...activity, heartbeatDetails: fact.details, heartbeatTimeMs: nowMs }));
      return;
    case 'activityRetried':
      return changeActivity(run, fact.scheduledEventId, (activity) => afterFailedAttempt(activity, fact, nowMs));
    case 'activityBackoffEnded':
      changeActivity(run, fact.scheduledEventId, (activity) => ({ ...activity, inBackoff: false, timerTaskId: 0 }));
      return;
    case 'activitiesPaused':
      for (const id of fact.scheduledEventIds) changeActivity(run, id, (activity) => afterPause(activity, fact, nowMs));
      return;
    case 'activitiesWithheld':
      for (const id of fact.scheduledEventIds) changeActivity(run, id, withheld);
      return;
    case 'activityUnpaused':
      return changeActivity(run, fact.scheduledEventId, (activity) => afterUnpause(activity, fact));
    case 'activityReset':
      return changeActivity(run, fact.scheduledEventId, (activity) => afterReset(activity, fact));
    case 'activityOptionsUpdated':
      return changeActivity(run, fact.scheduledEventId, (activity) => withOptions(activity, fact.options));
    case 'activityRescheduled':
      return changeActivity(run, fact.scheduledEventId, (activity) => rescheduled(activity, fact, nowMs));
    case 'requestAnswered': {
      const { scheduledEventIds, operation, requestId } = fact;
      for (const id of scheduledEventIds) changeActivity(run, id, (activity) => withAnswer(activity, fact));
      if (scheduledEventIds.length === 0) run.answered = withAnswered(run.answered, { operation, requestId });
      return;
    }
    case 'eventBuffered':
      run.buffered.push(fact.event);
      run.bufferedBytes += wire.encodeEvent(fact.event).length;
      evolveEvent(run, fact.event, wire);
      return;
    case 'bufferFlushed':
      run.buffered = [];
      run.bufferedBytes = 0;
      return;
    case 'callbackAttempted':
      run.callbacks = attempted(run.callbacks, fact, nowMs);
      return;
    case 'updateRejected':
      run.updates.delete(fact.updateId);
      if (fact.failure !== undefined) noteRejection(run, fact.updateId, { failure: fact.failure, timeMs: nowMs });
      return;
    case 'runReset':
      return beginAgain(run, fact, nowMs);
    case 'preparationBegun':
      run.preparation = { baseRunId: fact.baseRunId };
      return;
    case 'preparationEnded':
      run.preparation = undefined;
      run.retentionTaskId = 0;
      return;
    case 'runResetTo':
      run.resetRunId = fact.runId;
      return;
    case 'scheduleChanged': {
      const { definition, last, memo, searchAttributes, wakeTimeMs } = fact;
      const before = run.own.archetype === 'schedule' ? run.own : newSchedule;
      const progress = changedProgress(before.progress, fact);
      run.own = { ...before, ...last, definition: definition ?? before.definition, progress, wakeTimeMs };
      run.memo = mergeFields(run.memo, memo, wire);
      run.searchAttributes = mergeFields(run.searchAttributes, searchAttributes, wire);
      return;
    }
    case 'batchChanged': {
      const before = run.own.archetype === 'batch' ? run.own : newBatch;
      run.own = { ...before, definition: fact.definition ?? before.definition, progress: fact.progress };
      return;
    }
    case 'scheduledBy':
      run.scheduledBy = fact.by;
      return;
    case 'timerFiredUnbuffered':
      unbufferTimer(run, fact.timerId, wire);
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

/** What the first fact of a schedule, or of a batch job, changes. */
const newSchedule: Omit<Schedule, 'progress' | 'wakeTimeMs'> & { readonly progress: undefined } = {
  archetype: 'schedule',
  progress: undefined,
  definition: new Uint8Array(0),
  lastCompletionResult: undefined,
  continuedFailure: undefined,
  wakeTaskId: 0,
  letterCheckTaskId: 0,
};
const newBatch = { archetype: 'batch', definition: new Uint8Array(0), stepTaskId: 0 } as const;

/** The search attribute of workflows whose tasks fail again and again. */
export const reportedProblems = 'TemporalReportedProblems';

/** The search attribute of workflows that are paused, or have activities that are. */
export const pauseInfo = 'TemporalPauseInfo';

/** A search attribute of no words is gone. */
function setKeywords(run: Run, name: string, words: readonly string[], wire: HistoryWire): void {
  const fields = wire.encodeFields(new Map([[name, wire.encodeKeywords(words)]]));
  run.searchAttributes = mergeFields(run.searchAttributes, fields, wire);
}
