/**
 * Reset: a new run goes on from an event of another one, the base run, which may be open or closed.
 *
 *     base     1 Started … 4 Completed … 8 Scheduled  9 Started │ 10 Completed … 14 Signaled …  ── open: 17 Terminated
 *                                                               │                     │
 *     new run  1 Started … 4 Completed … 8 Scheduled  9 Started │ 10 Failed (RESET)   └▶ 11 Signaled   12 Scheduled
 *
 * What no history shows starts anew: timeouts of run and execution, and the attempts of activities. Timers fire when they would have fired.
 * What children of the base run tell it reaches the new one (run/reset-runs.ts).
 *
 * A long history comes before, in parts (README.md says how it is dropped):
 *
 *     prepareReset 1 … 1000 ──▶ in preparation ── prepareReset 1001 … 2000 ── … ── resetWorkflow ──▶ current
 *                                    └── dropReset, refused, its base run is gone, ten minutes later ──▶ nowhere
 */
import type { RunKey } from '../../kernel/run-key.ts';
import type { RoomForRuns } from '../commands/history-commands.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import type { RecordedEvent } from '../run/events.ts';
import { findAnyRun, findRun, reject, workflowNotFound, rejectInvalid } from '../run/reject.ts';
import type { HistoryReply, HistoryWire } from '../run/history-replies.ts';
import { type RunView, type Child, isRunning } from '../run/state.ts';
import type { DropReset, PrepareReset, ResetWorkflow } from '../commands/operation-commands.ts';
import { dispatchActivity } from '../steps/activity-task.ts';
import { addStartChild } from '../child/start-child.ts';
import { changePriority } from '../execution/update-options.ts';
import { armRunTimeout } from '../steps/begin-run.ts';
import { decideClose } from '../steps/close.ts';
import { sendExternal } from '../external/external-commands.ts';
import { workflowTaskFailedCause } from '../generated/enums.ts';
import { eventTypeNumber } from '../generated/public-api.ts';
import { handOnAnswers, handOnAnswersOfActivities } from '../steps/note-answers.ts';
import { armUserTimer } from '../timer/timer-commands.ts';
import { addWorkflowTaskFailed } from '../steps/common-events.ts';
import { ensureWorkflowTask, startedAttributes } from '../steps/workflow-task.ts';
import { attachmentKey, attachmentsOf, isForAnyRun, reapplyEvents } from './reapply-events.ts';
import { authorOf, basesOf } from '../run/reset-runs.ts';

const preparationGone = reject({ reason: 'busy-workflow', message: 'the run that was prepared for this reset was dropped: reset again' });

export function prepareReset(draft: Draft, command: PrepareReset & RoomForRuns): HistoryReply {
  const { key, newRunId, noRoom } = command;
  const base = findRun(draft.shard, key);
  const made = base === undefined ? undefined : madeBefore(draft, base, command.requestId);
  if (base === undefined || made !== undefined) {
    dropPreparation(draft, { ...key, runId: newRunId });
    return made === undefined ? workflowNotFound(key) : { kind: 'workflowReset', runId: made.key.runId };
  }
  const prepared = findAnyRun(draft.shard, { ...key, runId: newRunId });
  if (prepared !== undefined && prepared.preparation?.baseRunId !== key.runId) return preparationGone;
  if (prepared === undefined && command.firstEventId !== 1) return preparationGone;
  // Each part is more of a run that nobody needs yet.
  if (noRoom !== undefined) return reject({ reason: 'no-room', message: noRoom });
  const events = recorded(draft.wire, command.events);
  if (prepared === undefined) begin(draft, base, newRunId, events);
  else if (prepared.nextEventId === command.firstEventId) goOnPreparing(draft.open(prepared), events);
  else if (prepared.nextEventId !== command.firstEventId + events.length) return preparationGone;
  return { kind: 'workflowReset', runId: newRunId };
}

export function dropReset(draft: Draft, { key }: DropReset): HistoryReply {
  dropPreparation(draft, key);
  return { kind: 'done' };
}

/** The run that an earlier request with this id has made. What has become of the one that is not current by now is its own affair. */
function madeBefore({ shard }: Draft, base: RunView, requestId: string): RunView | undefined {
  const { key, resetRunId } = base;
  const current = findRun(shard, { ...key, runId: '' });
  const resetTo = resetRunId === '' ? undefined : findRun(shard, { ...key, runId: resetRunId });
  return [current, resetTo].find((run) => run?.reset?.requestId === requestId);
}

/** undefined: it was dropped. */
function preparedRun({ shard }: Draft, { key, newRunId }: ResetWorkflow): RunView | undefined {
  const run = findAnyRun(shard, { ...key, runId: newRunId });
  return run?.preparation?.baseRunId === key.runId ? run : undefined;
}

function dropPreparation(draft: Draft, key: RunKey): void {
  const run = findAnyRun(draft.shard, key);
  if (run?.preparation !== undefined) draft.retire(run.key);
}

/** The prepared run is nobody's any more: what follows in this draft makes it the current run. */
function endPreparation(draft: Draft, prepared: RunView): RunDraft {
  const run = draft.open(prepared);
  run.finishTask(prepared.retentionTaskId);
  run.addFact({ kind: 'preparationEnded' });
  return run;
}

function recorded(wire: HistoryWire, events: readonly Uint8Array[]): readonly RecordedEvent[] {
  return events.map((bytes) => ({ event: wire.decodeEvent(bytes), bytes }));
}

function goOnPreparing(run: RunDraft, events: readonly RecordedEvent[]): void {
  for (const event of events) run.copy(event);
}

function begin(draft: Draft, base: RunView, newRunId: string, events: readonly RecordedEvent[]): void {
  const key: RunKey = { ...base.key, runId: newRunId };
  const run = draft.branch(key, base.namespace, events);
  run.addFact({ kind: 'preparationBegun', baseRunId: base.key.runId });
  const fireTimeMs = draft.nowMs + draft.limits.resetPreparationMsMax;
  run.addTask({ kind: 'retention', fireTimeMs });
}

const identity = 'history-service';
const resetter = 'history-resetter';

export function resetWorkflow(draft: Draft, command: ResetWorkflow & RoomForRuns): HistoryReply {
  const { key, newRunId, isPrepared } = command;
  const reply = decideReset(draft, command);
  // The history has grown: whoever has read the rest asks once more.
  const mayStillGoOn = reply.kind === 'workflowReset' && (reply.runId === '' || reply.runId === newRunId);
  if (isPrepared && !mayStillGoOn) dropPreparation(draft, { ...key, runId: newRunId });
  return reply;
}

function decideReset(draft: Draft, command: ResetWorkflow & RoomForRuns): HistoryReply {
  const { key, readTo, noRoom } = command;
  const base = findRun(draft.shard, key);
  if (base === undefined) return workflowNotFound(key);
  const current = findRun(draft.shard, { ...key, runId: '' });
  const made = madeBefore(draft, base, command.requestId);
  if (made !== undefined) return { kind: 'workflowReset', runId: made.key.runId };
  if (noRoom !== undefined) return reject({ reason: 'no-room', message: noRoom });
  const last = findRun(draft.shard, { ...key, runId: readTo.runId });
  if (last === undefined || last.nextEventId - 1 !== readTo.lastEventId) return { kind: 'workflowReset', runId: '' };
  const prepared = command.isPrepared ? preparedRun(draft, command) : undefined;
  if (command.isPrepared && prepared === undefined) return preparationGone;

  // The old ones first: a workflow id has at most one open run.
  const ending = current !== undefined && isRunning(current) ? draft.open(current) : undefined;
  const left = draft.open(base);
  const run = branch(draft, base, prepared, command);
  const finishEventId = run.run.nextEventId;
  scheduleNextAttempt(run);
  if (!isRunning(run.run) || run.run.workflowTask === undefined) {
    draft.discard();
    return rejectInvalid(
      `Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: ${finishEventId}`,
    );
  }
  // What waits in its buffer gets its place with its end; until then it is nobody's history.
  const waiting = last.buffered.filter((event) => last === base || isForAnyRun(event));
  const later = [...command.laterEvents.map((bytes) => draft.wire.decodeEvent(bytes)), ...waiting];
  if (ending !== undefined) endCurrent(ending, base, run, command, attachmentsOf(run, later));
  left.addFact({ kind: 'runResetTo', runId: command.newRunId });
  failWorkflowTask(run, command);
  reapplyEvents(run, later, { signals: command.reappliesSignals });
  for (const change of command.priorityChanges) changePriority(run, change);
  // With the priority that the run has from now on.
  goOn(run);
  for (const child of [...run.run.children.values()]) if (child.runId === '') addStartChild(run, child.initiatedEventId);
  ensureWorkflowTask(run);
  return { kind: 'workflowReset', runId: command.newRunId };
}

function branch(draft: Draft, base: RunView, prepared: RunView | undefined, command: ResetWorkflow): RunDraft {
  const { key, newRunId, requestId, keptEvents, retentionMs = base.retentionMs } = command;
  const run =
    prepared === undefined
      ? draft.branch({ ...key, runId: newRunId }, base.namespace, recorded(draft.wire, keptEvents))
      : endPreparation(draft, prepared);
  const started = base.requestIds.find(({ eventType }) => eventType === eventTypeNumber.workflowExecutionStarted);
  // Whoever repeats the start finds the run that stands for it now.
  run.addFact({ kind: 'startRequest', requestId: started?.requestId ?? '', retentionMs });
  if (base.scheduledBy !== undefined) run.addFact({ kind: 'scheduledBy', by: base.scheduledBy });
  handOnAnswers(run, base);
  handOnAnswersOfActivities(run, base);
  run.addFact({ kind: 'runReset', requestId, bases: basesOf(base, run.run.nextEventId - 1) });
  return run;
}

/** Children that the new run knows are its own now; others of the base run stay, nobody's. A run of another chain ends for good. */
function endCurrent(current: RunDraft, base: RunView, run: RunDraft, { reason }: ResetWorkflow, carried: ReadonlySet<string>): void {
  if (current.run.start.firstRunId !== base.start.firstRunId) {
    return decideClose(current, { kind: 'terminated', reason, details: undefined, identity: resetter, links: [] });
  }
  const isShared = ({ initiatedEventId }: Child): boolean =>
    run.run.children.has(initiatedEventId) &&
    authorOf(run.run, initiatedEventId).key.runId === authorOf(current.run, initiatedEventId).key.runId;
  for (const child of current.run.children.values()) {
    // Under way; the new run asks the same again, in the same name.
    if (child.runId === '' && isShared(child)) current.finishTask(child.taskId);
  }
  const keepsUpdate = (updateId: string, requestId: string): boolean => carried.has(attachmentKey(updateId, requestId));
  const isBase = current.run.key.runId === base.key.runId;
  decideClose(current, { kind: 'reset', reason, identity: resetter, keepsChild: (child) => isBase || isShared(child), keepsUpdate });
}

/** Behind an attempt that has failed, the next one was pending, though no event tells of it. */
function scheduleNextAttempt(run: RunDraft): void {
  const { workflowTask, workflowTaskAttempt, start } = run.run;
  if (!isRunning(run.run) || workflowTask !== undefined || workflowTaskAttempt === 1) return;
  run.add('workflowTaskScheduled', { taskQueue: start.taskQueue, startToCloseTimeoutMs: start.taskTimeoutMs, attempt: 1 });
}

/** The workflow task that was pending there: a worker that replays gets here, and learns that what it did from here on does not count. */
function failWorkflowTask(run: RunDraft, { key, newRunId, reason }: ResetWorkflow): void {
  const { wire } = run.draft;
  const { workflowTask, historySizeBytes } = run.run;
  const { scheduledEventId = 0, startedEventId: startedBefore = 0 } = workflowTask ?? {};
  const start = { identity, requestId: 'emptyUuid', historySizeBytes, suggestContinueAsNewReasons: [] };
  const startedEventId = startedBefore || run.add('workflowTaskStarted', startedAttributes(scheduledEventId, start));
  addWorkflowTaskFailed(run, {
    scheduledEventId,
    startedEventId,
    cause: workflowTaskFailedCause.resetWorkflow,
    failure: wire.encodeFailure({ message: reason, cause: undefined, info: { kind: 'reset' } }),
    identity,
    baseRunId: key.runId,
    newRunId,
  });
}

/** Everything that is pending at the event is under way again. */
function goOn(run: RunDraft): void {
  const { activities, timers, externalSignals, externalCancels } = run.run;
  armRunTimeout(run);
  for (const { scheduledEventId } of [...activities.values()]) dispatchActivity(run, scheduledEventId);
  for (const { timerId } of [...timers.values()]) armUserTimer(run, timerId);
  for (const { initiatedEventId } of [...externalSignals.values()]) sendExternal(run, 'signalExternal', initiatedEventId);
  for (const { initiatedEventId } of [...externalCancels.values()]) sendExternal(run, 'cancelExternal', initiatedEventId);
}
