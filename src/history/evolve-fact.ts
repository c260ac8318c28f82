/** What a fact does to its run: the part of the state that history does not show. */
import { unreachable } from '../kernel/assert.ts';
import { evolveActivityFact } from './activity/evolve-activity.ts';
import { evolveBatch } from './batch/evolve-batch.ts';
import { withAnswered } from './answered-requests.ts';
import { attempted } from './callback/callback.ts';
import { noteRejection } from './callback/update-callbacks.ts';
import { evolveEvent } from './evolve-event.ts';
import type { HistoryEvent } from './events.ts';
import { eventTypeNumber } from './generated/public-api.ts';
import { attachRequestId, evolveProblems } from './execution/evolve-execution.ts';
import { evolvePauseInfo } from './pause/evolve-pause.ts';
import type { Fact } from './record.ts';
import { beginAgain } from './reset/evolve-reset.ts';
import type { HistoryWire } from './replies.ts';
import { evolveSchedule } from './schedule/evolve-schedule.ts';
import type { Run } from './state.ts';
import { evolveWorkflowTaskFact } from './workflow-task/evolve-workflow-task.ts';

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
    case 'workflowTaskHeartbeat':
    case 'workflowTaskStarted':
    case 'workflowTaskFailed':
    case 'workflowTaskRequeued':
    case 'stickySet':
    case 'stickyCleared':
      return evolveWorkflowTaskFact(run, fact, nowMs);
    case 'problemsReported':
      return evolveProblems(run, fact.problems, wire);
    case 'pauseInfoChanged':
      return evolvePauseInfo(run, fact.entries, wire);
    case 'activityStarted':
    case 'activityStartWithdrawn':
    case 'activityHeartbeat':
    case 'activityRetried':
    case 'activityBackoffEnded':
    case 'activitiesPaused':
    case 'activitiesWithheld':
    case 'activityUnpaused':
    case 'activityReset':
    case 'activityOptionsUpdated':
    case 'activityRescheduled':
      return evolveActivityFact(run, fact, nowMs);
    case 'requestAnswered':
      if (fact.scheduledEventIds.length > 0) return evolveActivityFact(run, fact, nowMs);
      run.answered = withAnswered(run.answered, { operation: fact.operation, requestId: fact.requestId });
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
    case 'scheduleChanged':
      return evolveSchedule(run, fact, wire);
    case 'batchChanged':
      return evolveBatch(run, fact);
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
