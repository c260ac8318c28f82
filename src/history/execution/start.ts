/**
 * Start, and signal-with-start: a workflow id has at most one open run.
 *
 *   request id known to the current run, or to the first of its chain ──▶ the same answer again
 *   current run open   ──▶ conflict policy: refuse · use it · end it and start
 *   current run closed ──▶ reuse policy: start · only after a failure · refuse
 *   none               ──▶ start
 *
 *   Started · Scheduled [· Started, when the first task goes back with the answer (eager start)]
 *
 * Where the server has no room for another run, whatever would begin one is refused instead: nothing is ended for it either.
 */
import { assert } from '../../kernel/assert.ts';
import { cronBackoffMs } from '../../kernel/cron-backoff.ts';
import { beginFirstWorkflowTask, beginRun, effectiveRunTimeout, effectiveTaskTimeout, startFirstWorkflowTask } from '../steps/begin-run.ts';
import { childThatStarted } from '../run/child-starts.ts';
import { terminateByServer } from '../steps/close.ts';
import { addOptionsUpdated } from '../steps/common-events.ts';
import { whyNoRoom } from '../run/callback.ts';
import type { StartCallbacks } from '../commands/callback-commands.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { IdPolicies, RoomForRuns, SignalWithStartWorkflow, StartWorkflow } from '../commands/history-commands.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { eventTypeNumber } from '../generated/public-api.ts';
import { findRun, reject } from '../run/reject.ts';
import type { HistoryReply, Rejected, StartReply } from '../run/history-replies.ts';
import { hadBefore, signalProblem, writeSignal } from './signal.ts';
import { describeStarted } from '../steps/workflow-task.ts';
import { isRunning, type RequestIdEntry, type RunView, shownStatus } from '../run/state.ts';
import { continueAsNewInitiator, idConflictPolicy, idReusePolicy, status, taskQueueKind } from '../generated/enums.ts';

/** `withUpdate`: a start that has joined an open run, which has closed since, is none that could bring its update there. Its policies are asked again. */
export function startWorkflow(draft: Draft, command: StartWorkflow & RoomForRuns, { withUpdate = false } = {}): HistoryReply {
  // A parent that asks again, because an answer was lost, gets the child that it made: no policy applies to that.
  const child = command.parent === undefined ? undefined : childThatStarted(draft.shard, command.key, command.parent);
  if (child !== undefined) return startedChild(draft, { ...command.key, runId: child });
  const current = findRun(draft.shard, newest(command.key));
  if (current !== undefined) {
    const known = findRequest(draft, current, command.requestId);
    if (known !== undefined && !(withUpdate && hasJoined(known) && !isRunning(known.run))) return startedBefore(draft, command, known);
    if (isRunning(current)) {
      switch (replaces(command, current) ? idConflictPolicy.terminateExisting : command.policies.conflictPolicy) {
        case idConflictPolicy.fail:
          return alreadyStarted(current, 'is already running');
        case idConflictPolicy.useExisting:
          return useExisting(draft, current, command);
        case idConflictPolicy.terminateExisting:
          break;
      }
    } else {
      const refusal = reuseRefusal(current, command.policies);
      if (refusal !== undefined) return refusal;
    }
  }
  if (command.noRoom !== undefined) return noRoom(command.noRoom);
  const run = beginInstead(draft, current, command);
  if (takesFirstTask(command)) {
    const workflowTask = startFirstWorkflowTask(run, command.requestId, command.start.identity);
    return { ...startReply(run.run, true), workflowTask };
  }
  // A child's first task waits until its parent knows of it.
  if (command.parent === undefined) beginFirstWorkflowTask(run);
  return startReply(run.run, true);
}

export function signalWithStartWorkflow(draft: Draft, command: SignalWithStartWorkflow & RoomForRuns): HistoryReply {
  const current = findRun(draft.shard, newest(command.key));
  if (current !== undefined) {
    const { requestId } = command.signal;
    const own = findRequest(draft, current, command.requestId)?.run;
    if (own?.signalRequestIds.has(requestId) === true) return startReply(own, !isRunning(own));
    // Asked once more, it finds the run that it has signalled, which may have closed or continued as new before its caller heard of it.
    const signalled = currentAndFirst(draft, current).find((run) => run.signalRequestIds.has(requestId));
    if (signalled !== undefined) return startReply(signalled, false);
    if (hadBefore(current, command.signal)) return startReply(current, false);
    if (isRunning(current)) {
      if (command.policies.conflictPolicy !== idConflictPolicy.terminateExisting) {
        const problem = signalProblem(draft, current);
        if (problem !== undefined) return problem;
        // The wait for a start delay, a schedule or a retry ends here; one that the workflow has asked for does not.
        writeSignal(draft.open(current), command.signal, { skipBackoff: !isContinuedByWorkflow(current) });
        return startReply(current, false);
      }
    } else {
      const refusal = reuseRefusal(current, command.policies);
      if (refusal !== undefined) return refusal;
    }
  }
  if (command.noRoom !== undefined) return noRoom(command.noRoom);
  const run = beginInstead(draft, current, command);
  writeSignal(run, command.signal, { scheduleWorkflowTask: false });
  beginFirstWorkflowTask(run);
  return startReply(run.run, true);
}

/** One without a retry policy or a cron schedule follows another run in no other way. */
function isContinuedByWorkflow({ key, start, startedWith }: RunView): boolean {
  if (startedWith !== undefined) return startedWith.initiator === continueAsNewInitiator.workflow;
  return start.firstRunId !== key.runId && start.attempt === 1;
}

/** The parent was reset to an event before this child of its, and starts it again. */
function replaces({ parent, replacesChildrenOf = [] }: StartWorkflow, { start }: RunView): boolean {
  if (parent === undefined || start.parent === undefined || parent.namespaceId !== start.parent.namespaceId) return false;
  return parent.workflowId === start.parent.workflowId && replacesChildrenOf.includes(start.parent.runId);
}

/** Whatever run the caller names: a start looks at the newest. */
function newest(key: RunKey): RunKey {
  return key.runId === '' ? key : { ...key, runId: '' };
}

/** A task that has to wait is for matching, whoever asks for it. */
function takesFirstTask({ eager = false, parent, start }: StartWorkflow): boolean {
  return eager && parent === undefined && start.startDelayMs === 0 && start.cronSchedule === '';
}

type FoundRequest = { readonly run: RunView; readonly entry: RequestIdEntry };

/** The answer that was lost, with the task that came with it, as long as nothing has become of that. */
function startedBefore(draft: Draft, { eager = false, requestId }: StartWorkflow, { run, entry }: FoundRequest): StartReply {
  const reply = startReply(run, entry.eventType === eventTypeNumber.workflowExecutionStarted);
  const { workflowTask } = run;
  if (!eager || !reply.started || !isRunning(run) || draft.shard.aside.has(run.key.runId) || workflowTask === undefined) return reply;
  // A poll has a request id of its own: what it has started is not taken from it.
  const isItsOwn = workflowTask.attempt === 1 && workflowTask.startedEventId === 3 && workflowTask.requestId === requestId;
  // Updates that came since wait for the next task: this one's worker may have it already, and would be said to have passed them over.
  return isItsOwn ? { ...reply, workflowTask: describeStarted(draft, run, workflowTask, false) } : reply;
}

/** The run that this request made or attached itself to. The first of a chain may have continued as new before its caller heard of it. */
function findRequest(draft: Draft, current: RunView, requestId: string): FoundRequest | undefined {
  for (const run of currentAndFirst(draft, current)) {
    const entry = run.requestIds.find((known) => known.requestId === requestId);
    if (entry !== undefined) return { run, entry };
  }
  return undefined;
}

function currentAndFirst(draft: Draft, current: RunView): readonly RunView[] {
  const { firstRunId } = current.start;
  const first = firstRunId === current.key.runId ? undefined : findRun(draft.shard, { ...current.key, runId: firstRunId });
  return first === undefined ? [current] : [current, first];
}

function hasJoined({ entry }: FoundRequest): boolean {
  return entry.eventType === eventTypeNumber.workflowExecutionOptionsUpdated;
}

export function startReply(run: RunView, started: boolean): StartReply {
  return { kind: 'started', runId: run.key.runId, firstExecutionRunId: run.start.firstRunId, started, status: shownStatus(run) };
}

function startedChild(draft: Draft, key: RunKey): StartReply {
  const { runId } = key;
  const run = findRun(draft.shard, key);
  const statusNow = run === undefined ? status.running : shownStatus(run);
  return { kind: 'started', runId, firstExecutionRunId: runId, started: true, status: statusNow };
}

/** Temporal's text. `reusePolicy`: what forbids another run. */
function alreadyStarted(run: RunView, what: string, reusePolicy?: string): Rejected {
  const created = run.requestIds.find((entry) => entry.eventType === eventTypeNumber.workflowExecutionStarted);
  const { workflowId, runId } = run.key;
  const because = reusePolicy === undefined ? '' : ` Workflow Id reuse policy: ${reusePolicy}.`;
  return reject({
    reason: 'already-started',
    message: `Workflow execution ${what}. WorkflowId: ${workflowId}, RunId: ${runId}.${because}`,
    startRequestId: created?.requestId ?? '',
    runId,
    firstExecutionRunId: run.start.firstRunId,
  });
}

function reuseRefusal(run: RunView, policies: IdPolicies): Rejected | undefined {
  switch (policies.reusePolicy) {
    case idReusePolicy.allowDuplicate:
      return undefined;
    case idReusePolicy.allowDuplicateFailedOnly:
      if (failedStatuses.has(run.status)) return undefined;
      return alreadyStarted(run, 'already finished successfully', 'allow duplicate workflow Id if last run failed');
    case idReusePolicy.rejectDuplicate:
      return alreadyStarted(run, 'already finished', 'reject duplicate workflow Id');
  }
}

const failedStatuses: ReadonlySet<number> = new Set([status.failed, status.canceled, status.terminated, status.timedOut]);

/** The caller gets the open run; if it asks for that, its request id, links and completion callbacks are remembered there. */
function useExisting(draft: Draft, run: RunView, command: StartWorkflow): HistoryReply {
  const { onConflict } = command;
  const { attachedRequestIdsMax, callbackBytesPerRunMax } = draft.limits;
  // Every start goes through all request ids of the run, and every one that is added copies them.
  const attached = attachedRequestIds(run);
  if (onConflict?.attachRequestId === true && attached >= attachedRequestIdsMax) {
    const message = `cannot attach more than ${attachedRequestIdsMax} request ids to a workflow (${attached} request ids already attached)`;
    return reject({ reason: 'failed-precondition', message });
  }
  const { callbacks = noneAttached } = onConflict?.attachCallbacks === true ? command : {};
  if (callbacks.callbacks.length > 0) {
    const { callbacksMax } = callbacks;
    const message = whyNoRoom(run.callbacks, [], callbacks.callbacks, { callbacksMax, callbackBytesMax: callbackBytesPerRunMax });
    if (message !== undefined) return reject({ reason: 'failed-precondition', message });
  }
  if (onConflict !== undefined && (onConflict.attachRequestId || onConflict.attachLinks)) {
    const attachedRequestId = onConflict.attachRequestId ? command.requestId : '';
    const options = { attachedRequestId, attachedCompletionCallbacks: callbacks.callbacks };
    addOptionsUpdated(draft.open(run), options, onConflict.attachLinks ? onConflict.links : []);
  }
  return startReply(run, false);
}

/** Callbacks of updates have limits of their own: each update has one, and one for each of its callbacks. */
export function attachedRequestIds({ requestIds, callbacks }: RunView): number {
  const ofUpdates = new Set(callbacks.flatMap(({ update, attachedBy }) => (update === undefined ? [] : attachedBy)));
  const { workflowExecutionOptionsUpdated: attached } = eventTypeNumber;
  return requestIds.filter(({ eventType, requestId }) => eventType === attached && !ofUpdates.has(requestId)).length;
}

const noneAttached: StartCallbacks = { callbacks: [], callbacksMax: 0 };

function noRoom(message: string): Rejected {
  return reject({ reason: 'no-room', message });
}

function beginInstead(draft: Draft, current: RunView | undefined, command: StartWorkflow | SignalWithStartWorkflow): RunDraft {
  if (current !== undefined && isRunning(current)) {
    const details = draft.wire.encodePayloads([JSON.stringify(`terminated by new runID: ${command.newRunId}`)]);
    terminateByServer(draft.open(current), 'TerminateIfRunning WorkflowIdReusePolicy', details);
  }
  return begin(draft, command);
}

const noRelations: Pick<StartWorkflow, 'parent' | 'scheduled'> = { parent: undefined };

function begin(draft: Draft, command: StartWorkflow | SignalWithStartWorkflow): RunDraft {
  const { key, newRunId } = command;
  assert(newRunId !== '', 'a new run has an id');
  const { startDelayMs, userMetadata, links, ...start } = command.start;
  const { parent, scheduled } = command.kind === 'startWorkflow' ? command : noRelations;
  const runTimeoutMs = effectiveRunTimeout(start.runTimeoutMs, start.executionTimeoutMs);
  const { executionTimeoutMs } = start;
  return beginRun(draft, {
    ...start,
    key: { namespaceId: key.namespaceId, workflowId: key.workflowId, runId: newRunId },
    namespace: command.namespace,
    requestId: command.requestId,
    retentionMs: command.retentionMs ?? 0,
    taskQueue: { name: start.taskQueue.name, kind: taskQueueKind.normal, normalName: '' },
    runTimeoutMs,
    taskTimeoutMs: effectiveTaskTimeout(start.taskTimeoutMs, runTimeoutMs, draft.limits),
    executionExpirationMs: executionTimeoutMs === 0 ? 0 : draft.nowMs + executionTimeoutMs,
    // Never both.
    backoffMs: startDelayMs + (cronBackoffMs(start.cronSchedule, draft.nowMs, draft.nowMs) ?? 0),
    attempt: 1,
    firstRunId: newRunId,
    continuedRunId: '',
    initiator: start.cronSchedule === '' ? 0 : continueAsNewInitiator.cronSchedule,
    lastCompletionResult: scheduled?.lastCompletionResult,
    continuedFailure: scheduled?.continuedFailure,
    eager: command.kind === 'startWorkflow' && takesFirstTask(command),
    scheduledBy: scheduled && { schedule: scheduled.schedule, startId: scheduled.startId },
    parent,
    root: parent === undefined ? undefined : { workflowId: parent.rootWorkflowId, runId: parent.rootRunId },
    callbacks: (command.kind === 'startWorkflow' ? command.callbacks?.callbacks : undefined) ?? [],
    meta: { userMetadata, links },
  });
}
