/**
 * Pause and unpause of a workflow:
 *
 *     workflow task   waits for a worker ──▶ Failed, Paused        is with one ──▶ may end as ever, no other follows; Paused comes behind it
 *     activities      wait for a worker, or for their next attempt ──▶ wait for the unpause        run ──▶ go on
 *     timers, timeouts, signals, what children and other workflows answer ──▶ are written, and wake nobody
 *     queries, updates ──▶ refused
 *
 * The unpause brings all of it under way again, with one workflow task for whatever came in meanwhile. A run that ends while it is paused ends
 * as ever; the run that goes on in its place, or from one of its events, is not paused.
 */
import { withholdActivities, releaseActivities } from '../steps/withheld-activities.ts';
import { hasAnswered, operation } from '../run/answered-requests.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { workflowTaskFailedCause } from '../generated/enums.ts';
import { refuseQueries } from '../steps/refuse-queries.ts';
import { findRunning, isRejected, reject } from '../run/reject.ts';
import type { HistoryReply } from '../run/history-replies.ts';
import { addWorkflowTaskFailed } from '../steps/common-events.ts';
import { ensureWorkflowTask, finishWorkflowTaskTasks } from '../steps/workflow-task.ts';
import type { PauseWorkflow, UnpauseWorkflow } from '../commands/operation-commands.ts';
import { noteAnswer } from '../steps/note-answers.ts';
import { notePauseInfo } from '../steps/pause-info.ts';

export function pauseWorkflow(draft: Draft, { key, identity, reason, requestId }: PauseWorkflow): HistoryReply {
  const run = findRunning(draft.shard, key);
  if (isRejected(run)) return run;
  if (hasAnswered(run.answered, operation.pause, requestId)) return { kind: 'done' };
  if (run.pause !== undefined) {
    const isRepeated = requestId !== '' && requestId === run.pause.requestId;
    return isRepeated ? { kind: 'done' } : reject({ reason: 'failed-precondition', message: 'workflow is already paused.' });
  }
  const pausing = draft.open(run);
  failUnstartedTask(pausing);
  pausing.addOrBuffer('workflowExecutionPaused', { identity, reason, requestId }, forNoWorker);
  noteAnswer(pausing, [], { operation: operation.pause, requestId });
  withholdActivities(pausing);
  notePauseInfo(pausing);
  if (pausing.run.workflowTask === undefined) refuseQueries(draft, run.key.runId);
  return { kind: 'done' };
}

export function unpauseWorkflow(draft: Draft, { key, identity, reason, requestId }: UnpauseWorkflow): HistoryReply {
  const run = findRunning(draft.shard, key);
  if (isRejected(run)) return run;
  if (hasAnswered(run.answered, operation.unpause, requestId)) return { kind: 'done' };
  if (run.pause === undefined) return reject({ reason: 'failed-precondition', message: 'workflow is not paused.' });
  const goingOn = draft.open(run);
  goingOn.addOrBuffer('workflowExecutionUnpaused', { identity, reason, requestId }, forNoWorker);
  noteAnswer(goingOn, [], { operation: operation.unpause, requestId });
  releaseActivities(goingOn);
  notePauseInfo(goingOn);
  // As in Temporal, it does not wait for the end of a first backoff.
  goingOn.finishTask(goingOn.run.backoffTaskId);
  ensureWorkflowTask(goingOn);
  return { kind: 'done' };
}

/** Workers that do not know the event pass it over. */
const forNoWorker = { workerMayIgnore: true };

/** One that no worker has started. Nothing else would ever end it: it has no timeout, and nobody may start it now. */
function failUnstartedTask(run: RunDraft): void {
  run.ensureReal();
  const { workflowTask } = run.run;
  if (workflowTask === undefined || workflowTask.startedEventId !== 0) return;
  finishWorkflowTaskTasks(run);
  if (workflowTask.kind === 'transient') {
    run.addFact({ kind: 'workflowTaskFailed', unhandledCommand: false });
    return;
  }
  const cause = workflowTaskFailedCause.workflowPauseRequestedBeforeTaskStarted;
  addWorkflowTaskFailed(run, { scheduledEventId: workflowTask.scheduledEventId, startedEventId: 0, cause });
}
