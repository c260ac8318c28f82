/**
 * A worker answers a workflow task.
 *
 *   Completed · events of its commands · buffered events · next Scheduled [· Started, when it is returned inline]
 *
 * The commands are decided over a draft. If one of them is bad, the draft is dropped and the task is failed instead: nothing of a bad
 * completion stays. A bad repeated attempt writes nothing at all; it times out, which slows it down.
 */
import { assert } from '../kernel/assert.ts';
import { pendingActivity } from './steps/activity-task.ts';
import { describeStartedActivity, writeActivityStarted } from './activity/start-activity-task.ts';
import { flushBuffer } from './steps/buffer.ts';
import { terminateByServer } from './steps/close.ts';
import type { CompleteWorkflowTask, ResolvedCompletion, StickyAttributes } from './commands/history-commands.ts';
import type { WorkflowCommand } from './commands/workflow-commands.ts';
import { noteCancelledPaused, requestCancelActivityTask } from './activity/cancel-activity.ts';
import { cancelWorkflowExecution, completeWorkflowExecution, failWorkflowExecution } from './execution/close-workflow.ts';
import { type CommandFailure, type CommandOfType, type Completion, failureMessage } from './steps/completion.ts';
import { continueAsNewWorkflowExecution } from './execution/continue-as-new.ts';
import { requestCancelExternalWorkflowExecution, signalExternalWorkflowExecution } from './external/external-commands.ts';
import { recordMarker } from './execution/record-marker.ts';
import { scheduleActivityTask } from './activity/schedule-activity.ts';
import { startChildWorkflowExecution } from './child/start-child.ts';
import { cancelTimer, startTimer } from './timer/timer-commands.ts';
import { modifyWorkflowProperties, upsertWorkflowSearchAttributes } from './execution/upsert.ts';
import type { Draft, RunDraft } from './draft/draft.ts';
import { writeWorkflowTaskFailed, writeWorkflowTaskTimedOut, clearProblems, findStartedTask } from './workflow-task/workflow-task-ends.ts';
import { answerQueries, refuseUnready, releaseQueries } from './query/query.ts';
import { reject, rejectInvalid } from './run/reject.ts';
import type { HistoryReply, Rejected, StartedActivityTask, StartedWorkflowTask } from './run/history-replies.ts';
import { applyOtherMessages, protocolMessage, refuseUnanswered, areRefusals, refuseUpdates } from './update/answer-updates.ts';
import { answerUpdates, failSentUpdates, hasUpdatesToSend } from './steps/updates.ts';
import { offerSpeculative, startSpeculativeInline } from './steps/speculative.ts';
import { isRunning, type RunView } from './run/state.ts';
import { workflowTaskFailedCause } from './generated/enums.ts';
import { pascalCase } from '../kernel/pascal-case.ts';
import { workflowTaskOf } from './run/volatile.ts';
import {
  describeStarted,
  finishWorkflowTaskTasks,
  scheduleWorkflowTask,
  startedAttributes,
  stickyScheduleToStart,
  writeStarted,
} from './steps/workflow-task.ts';

export function completeWorkflowTask(draft: Draft, request: ResolvedCompletion): HistoryReply {
  const found = findStartedTask(draft, request.task);
  if (found.kind === 'rejected') return found;
  const { run, workflowTask } = found;
  const sequenceProblem = commandSequenceProblem(request.commands);
  if (sequenceProblem !== undefined) return rejectInvalid(sequenceProblem);
  if (run.pause !== undefined && request.forceCreateNewWorkflowTask) return pausedMeanwhile;
  if (workflowTask.kind === 'speculative' && dropSpeculative(draft, run, request)) {
    answerQueries(draft, run, request.queryResults);
    const next = nextForUpdates(draft, run, request);
    // Those that wait go with the next task, if there is one, here or in its queue.
    const hasNext = next !== undefined || hasUpdatesToSend(draft, run.key.runId);
    if (run.previousStartedEventId === 0 && !hasNext) refuseUnready(draft, run);
    return { kind: 'workflowTaskCompleted', workflowTask: next, activityTasks: [], resetHistoryEventId: run.previousStartedEventId };
  }

  const completing = draft.open(run);
  completing.ensureReal();
  const isHeartbeat = request.forceCreateNewWorkflowTask && request.commands.length === 0 && request.messages.length === 0;
  if (isHeartbeat && draft.nowMs - workflowTask.originalScheduledTimeMs > draft.limits.workflowTaskHeartbeatMsMax) {
    return endHeartbeats(completing, request);
  }

  const completion: Completion = {
    run: completing,
    request,
    completedEventId: writeCompleted(completing, request),
    unhandledEvents: run.buffered.length > 0,
    cancelledUnstarted: false,
    cancelledPaused: false,
    closesBuffered: undefined,
    eager: [],
    messages: new Map(request.messages.map((message) => [message.id, message])),
    updateEnds: new Map(),
    childrenStarted: new Set(),
    signalsToItself: 0,
    cancelsOfItself: 0,
    upsertedBytes: 0,
  };
  clearProblems(completing);
  setSticky(completing, request.sticky);
  for (const command of request.commands) {
    // It is the last one.
    if (closing.has(command.type)) noteCancelledPaused(completion);
    const failure = applyOf(command.type)(completion, command);
    if (failure !== undefined) return failTask(draft, run, request, failure);
  }
  noteCancelledPaused(completion);
  const messageFailure = applyOtherMessages(completion);
  if (messageFailure !== undefined) return failTask(draft, run, request, messageFailure);
  if (!isHeartbeat && isRunning(completing.run)) refuseUnanswered(completing, completion.updateEnds);
  answerUpdates(draft, completing.run, completion.updateEnds);
  const hadEvents = completing.run.buffered.length > 0;
  const activityTasks = startEagerly(completion);
  flushBuffer(completing);
  const goesOn = isRunning(completing.run) && completing.run.pause === undefined;
  const next = goesOn && (request.forceCreateNewWorkflowTask || hadEvents || completion.cancelledUnstarted);
  // First the answers that came, so that the next task carries only the queries that are left. Without a next task those become direct queries.
  answerQueries(draft, completing.run, request.queryResults);
  if (!next) releaseQueries(draft, completing.run);
  const inline = next
    ? scheduleNext(completing, request, isHeartbeat ? workflowTask.originalScheduledTimeMs : undefined)
    : nextForUpdates(draft, completing.run, request);
  return { kind: 'workflowTaskCompleted', workflowTask: inline, activityTasks, resetHistoryEventId: 0 };
}

const pausedMeanwhile = reject({
  reason: 'failed-precondition',
  message: 'Workflow is paused and force create new workflow task is not allowed.',
});

function commandSequenceProblem(commands: readonly WorkflowCommand[]): string | undefined {
  const closeAt = commands.findIndex((command) => closing.has(command.type));
  const close = commands[closeAt];
  if (close === undefined || closeAt === commands.length - 1) return undefined;
  const all = commands.map((command) => pascalCase(command.type)).join(', ');
  return `invalid command sequence: [${all}], command ${pascalCase(close.type)} must be the last command.`;
}

const closing: ReadonlySet<WorkflowCommand['type']> = new Set([
  'completeWorkflowExecution',
  'failWorkflowExecution',
  'cancelWorkflowExecution',
  'continueAsNewWorkflowExecution',
] as const);

/** Scheduled and Started too, when this was a repeated attempt that history has not shown so far. */
function writeCompleted(run: RunDraft, request: CompleteWorkflowTask): number {
  finishWorkflowTaskTasks(run);
  let { workflowTask } = run.run;
  assert(workflowTask !== undefined, 'a task is completed');
  if (workflowTask.kind === 'transient') {
    const { scheduledEventId, scheduledTimeMs, startedTimeMs, taskQueue, startToCloseTimeoutMs, attempt } = workflowTask;
    const started = startedAttributes(scheduledEventId, workflowTask);
    run.add('workflowTaskScheduled', { taskQueue, startToCloseTimeoutMs, attempt }, { timeMs: scheduledTimeMs });
    run.add('workflowTaskStarted', started, { timeMs: startedTimeMs });
    workflowTask = run.run.workflowTask;
    assert(workflowTask !== undefined, 'written just now');
  }
  return run.add('workflowTaskCompleted', {
    scheduledEventId: workflowTask.scheduledEventId,
    startedEventId: workflowTask.startedEventId,
    identity: request.identity,
    binaryChecksum: request.binaryChecksum,
    workerVersion: request.workerVersion,
    sdkMetadata: request.sdkMetadata,
    deployment: undefined,
    versioningBehavior: 0,
    workerDeploymentVersion: '',
    workerDeploymentName: '',
    deploymentVersion: undefined,
    meteringMetadata: request.meteringMetadata,
  });
}

function setSticky(run: RunDraft, sticky: StickyAttributes | undefined): void {
  const old = run.run.sticky;
  if (sticky === undefined || sticky.taskQueue.name === '') {
    if (old !== undefined) run.addFact({ kind: 'stickyCleared' });
    return;
  }
  const { taskQueue } = sticky;
  const scheduleToStartTimeoutMs = stickyScheduleToStart(sticky.scheduleToStartTimeoutMs, run.draft.limits);
  if (old?.taskQueue.name === taskQueue.name && old.scheduleToStartTimeoutMs === scheduleToStartTimeoutMs) return;
  run.addFact({ kind: 'stickySet', sticky: { taskQueue, scheduleToStartTimeoutMs } });
}

type Apply<Type extends WorkflowCommand['type']> = (completion: Completion, command: CommandOfType<Type>) => CommandFailure | undefined;

const apply: { readonly [Type in WorkflowCommand['type']]: Apply<Type> } = {
  scheduleActivityTask,
  requestCancelActivityTask,
  startTimer,
  cancelTimer,
  recordMarker,
  protocolMessage,
  completeWorkflowExecution,
  failWorkflowExecution,
  cancelWorkflowExecution,
  continueAsNewWorkflowExecution,
  startChildWorkflowExecution,
  requestCancelExternalWorkflowExecution,
  signalExternalWorkflowExecution,
  upsertWorkflowSearchAttributes,
  modifyWorkflowProperties,
};

/** A command and its own type belong together: TypeScript does not follow that through a union. */
function applyOf<Type extends WorkflowCommand['type']>(type: Type): Apply<Type> {
  return apply[type];
}

/** Activities that go back with the answer: no queue sees them. One that was cancelled again, or whose workflow closed, does not start. */
function startEagerly({ run, request, eager }: Completion): readonly StartedActivityTask[] {
  const tasks: StartedActivityTask[] = [];
  if (!isRunning(run.run)) return tasks;
  const { pollRequestId: requestId, identity, workerVersion } = request;
  for (const scheduledEventId of eager) {
    if (!run.run.activities.has(scheduledEventId)) continue;
    writeActivityStarted(run, { scheduledEventId, requestId, identity, workerVersion });
    tasks.push(describeStartedActivity(run.run, pendingActivity(run, scheduledEventId)));
  }
  return tasks;
}

function scheduleNext(run: RunDraft, request: CompleteWorkflowTask, originalScheduledTimeMs?: number): StartedWorkflowTask | undefined {
  const inline = request.returnNewWorkflowTask;
  scheduleWorkflowTask(run, { jitter: request.jitter, dispatch: !inline, originalScheduledTimeMs });
  if (!inline) return undefined;
  const started = writeStarted(run, request.pollRequestId, request.identity);
  // This worker has everything up to the task that it completes.
  return { ...started, historyFirstEventId: run.run.previousStartedEventId + 1 };
}

/** Updates that came meanwhile go to the worker at once, with a task that leaves no trace if they are refused. */
function nextForUpdates(draft: Draft, run: RunView, request: CompleteWorkflowTask): StartedWorkflowTask | undefined {
  if (!isRunning(run) || !hasUpdatesToSend(draft, run.key.runId)) return undefined;
  if (!request.returnNewWorkflowTask) {
    offerSpeculative(draft, run);
    return undefined;
  }
  const started = startSpeculativeInline(draft, run, request.pollRequestId, request.identity);
  if (started === undefined) return undefined;
  return { ...describeStarted(draft, run, started), historyFirstEventId: run.previousStartedEventId + 1 };
}

/** A worker that only ever asks for more time loses the task. */
function endHeartbeats(run: RunDraft, request: CompleteWorkflowTask): Rejected {
  writeWorkflowTaskTimedOut(run);
  scheduleWorkflowTask(run, { jitter: request.jitter });
  return reject({ reason: 'task-not-found', message: 'workflow task heartbeat timeout' });
}

/** The bad command's answer; what it left in the draft is dropped first. */
function failTask(draft: Draft, run: RunView, request: CompleteWorkflowTask, failure: CommandFailure): Rejected {
  draft.discard();
  const message = failureMessage(failure);
  const answer = reject({ reason: failure.cause === 'unhandledCommand' ? 'unhandled-command' : 'bad-command', message });
  const workflowTask = workflowTaskOf(draft.volatile, run);
  assert(workflowTask !== undefined, 'the task that is answered');
  failSentUpdates(draft, run.key.runId);
  if (workflowTask.attempt > 1 && failure.cause !== 'unhandledCommand' && !failure.terminate) return answer;

  const failing = draft.open(run);
  writeWorkflowTaskFailed(failing, {
    cause: workflowTaskFailedCause[failure.cause],
    failure: draft.wire.encodeFailure({ message, cause: undefined, info: { kind: 'server', nonRetryable: false } }),
    // The server fails the task, on behalf of the worker that sent the commands.
    identity: request.identity,
    binaryChecksum: request.binaryChecksum,
  });
  if (!failure.terminate) {
    scheduleWorkflowTask(failing, { jitter: request.jitter });
    return answer;
  }
  flushBuffer(failing);
  terminateByServer(failing, message);
  return answer;
}

/** True: the worker has refused what came with the task, and needs nothing written to go on from where it was. */
function dropSpeculative(draft: Draft, run: RunView, request: CompleteWorkflowTask): boolean {
  if (request.commands.length > 0 || request.forceCreateNewWorkflowTask) return false;
  if (!areRefusals(draft, run, request.messages)) return false;
  // History ends with the last completed task (its Started, then its Completed), or events went out with this one.
  const shipped = run.nextEventId - (run.previousStartedEventId + 2);
  if (shipped > (request.discardsSpeculativeEvents ? draft.limits.speculativeEventsDroppedMax : 0)) return false;
  draft.stage({ kind: 'speculativeEnded', runId: run.key.runId });
  refuseUpdates(draft, run, request.messages);
  return true;
}
