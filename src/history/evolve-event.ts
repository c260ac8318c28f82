/**
 * What an event does to its run, from history alone: a reset needs just this, and so will import and replication. Facts refine it (evolve-fact.ts).
 * Each entity's applier stands in its room.
 *
 * Events that were buffered come through here a second time, when they get their place in history. Removing what is already gone and
 * setting what is already set are therefore no errors here.
 */
import { unreachable } from '../kernel/assert.ts';
import { evolveActivity } from './activity/evolve-activity.ts';
import { evolveChild } from './child/evolve-child.ts';
import type { HistoryEvent } from './events.ts';
import { evolveExecution } from './execution/evolve-execution.ts';
import { evolveExternal } from './external/evolve-external.ts';
import { evolvePause } from './pause/evolve-pause.ts';
import type { HistoryWire } from './replies.ts';
import { evolveSignal } from './signal/evolve-signal.ts';
import type { Run } from './state.ts';
import { evolveTimer } from './timer/evolve-timer.ts';
import { evolveUpdate } from './update/evolve-update.ts';
import { evolveWorkflowTask } from './workflow-task/evolve-workflow-task.ts';

export function evolveEvent(run: Run, event: HistoryEvent, wire: HistoryWire): void {
  switch (event.type) {
    case 'workflowExecutionStarted':
    case 'markerRecorded':
      return;
    case 'workflowTaskScheduled':
    case 'workflowTaskStarted':
    case 'workflowTaskCompleted':
    case 'workflowTaskFailed':
    case 'workflowTaskTimedOut':
      return evolveWorkflowTask(run, event);
    case 'activityTaskScheduled':
    case 'activityTaskStarted':
    case 'activityTaskCancelRequested':
    case 'activityTaskCompleted':
    case 'activityTaskFailed':
    case 'activityTaskTimedOut':
    case 'activityTaskCanceled':
      return evolveActivity(run, event);
    case 'timerStarted':
    case 'timerFired':
    case 'timerCanceled':
      return evolveTimer(run, event);
    case 'startChildWorkflowExecutionInitiated':
    case 'childWorkflowExecutionStarted':
    case 'startChildWorkflowExecutionFailed':
    case 'childWorkflowExecutionCompleted':
    case 'childWorkflowExecutionFailed':
    case 'childWorkflowExecutionCanceled':
    case 'childWorkflowExecutionTimedOut':
    case 'childWorkflowExecutionTerminated':
      return evolveChild(run, event);
    case 'signalExternalWorkflowExecutionInitiated':
    case 'externalWorkflowExecutionSignaled':
    case 'signalExternalWorkflowExecutionFailed':
    case 'requestCancelExternalWorkflowExecutionInitiated':
    case 'externalWorkflowExecutionCancelRequested':
    case 'requestCancelExternalWorkflowExecutionFailed':
      return evolveExternal(run, event);
    case 'workflowExecutionUpdateAdmitted':
    case 'workflowExecutionUpdateAccepted':
    case 'workflowExecutionUpdateCompleted':
      return evolveUpdate(run, event, wire);
    case 'workflowExecutionPaused':
    case 'workflowExecutionUnpaused':
      return evolvePause(run, event);
    case 'workflowExecutionSignaled':
      return evolveSignal(run, event);
    case 'workflowExecutionCancelRequested':
    case 'workflowExecutionOptionsUpdated':
    case 'upsertWorkflowSearchAttributes':
    case 'workflowPropertiesModified':
    case 'workflowExecutionCompleted':
    case 'workflowExecutionFailed':
    case 'workflowExecutionCanceled':
    case 'workflowExecutionTerminated':
    case 'workflowExecutionTimedOut':
    case 'workflowExecutionContinuedAsNew':
      return evolveExecution(run, event, wire);
    default:
      return unreachable(event);
  }
}
