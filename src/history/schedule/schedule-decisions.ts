/**
 * What is asked of schedules. Each change is one record: how far the schedule is then, the workflows that are to be started or ended for it, and the
 * timer of its next step.
 *
 *     create, update, patch ─┐
 *     scheduleWake fires ────┼─▶ step (src/schedules/step.ts) ─▶ scheduleChanged ┬─ startAction ──▶ the workflow's shard ─▶ finishStartAction
 *     an action has closed ──┘                                                    ├─ endAction ────▶ cancels or terminates one that runs
 *                                                                                 └─ scheduleWake
 */
import { sameBytes } from '../../kernel/same-bytes.ts';
import * as changes from '../../schedules/changes.ts';
import { inList } from '../../schedules/listed-progress.ts';
import { newProgress, type ScheduleProgress } from '../../schedules/schedule.ts';
import { isSchedules, scheduleIdOf } from '../../schedules/schedule-id.ts';
import { endsWanted, type ScheduleStep, stepAround, stepSchedule } from '../../schedules/step.ts';
import type { LetterChecked } from '../commands/task-commands.ts';
import type { CloseOutcome } from '../../kernel/close-outcome.ts';
import type { OutboxOutcome, RecordActionClosed, RoomForRuns } from '../commands/history-commands.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { forgetSchedule } from '../steps/end-of-run.ts';
import { beginWithoutWorker } from '../steps/begin-without-worker.ts';
import { retryState, status } from '../generated/enums.ts';
import { eventTypeNumber } from '../generated/public-api.ts';
import { findRun, isRejected, reject } from '../run/reject.ts';
import { type HistoryReply, type Rejected, done } from '../run/history-replies.ts';
import { isOf, isRunning, type RunOf, type ShardView } from '../run/state.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { PendingTask, TaskOf } from '../run/tasks.ts';
import type { Schedule } from '../run/schedule-state.ts';
import type * as commands from '../commands/schedule-commands.ts';
import { progressChange } from '../run/progress-change.ts';
import { actionWorkflowId, type Plan, planOf } from '../run/schedule-plan.ts';

function findSchedule(shard: ShardView, key: RunKey): RunOf<'schedule'> | Rejected {
  const run = findRun(shard, key);
  return isOf('schedule', run) && isRunning(run) ? run : scheduleNotFound;
}

const scheduleNotFound = reject({ reason: 'schedule-not-found', message: 'schedule not found' });

export function createSchedule(draft: Draft, command: commands.CreateSchedule & RoomForRuns): HistoryReply {
  const key = { ...command.key, runId: '' };
  const current = findRun(draft.shard, key);
  if (current !== undefined && isRunning(current)) {
    const created = current.requestIds.find((entry) => entry.eventType === eventTypeNumber.workflowExecutionStarted);
    if (created?.requestId === command.requestId && isOf('schedule', current)) return changed(current.own.progress);
    // A schedule is no run that anybody could ask for.
    const nobody = { startRequestId: '', runId: '', firstExecutionRunId: '' };
    return reject({ reason: 'already-started', message: `schedule "${scheduleIdOf(key)}" is already registered`, ...nobody });
  }
  if (command.noRoom !== undefined) return reject({ reason: 'no-room', message: command.noRoom });
  const { definition, patch, memo, searchAttributes } = command;
  const run = begin(draft, command);
  const asked = changes.withRequest(newProgress(command.state, draft.nowMs), command.requestId);
  const progress = patch === undefined ? asked : changes.patchProgress(asked, patch, draft.nowMs);
  const plan = planOf(draft.wire, run.run.key, definition);
  write(run, plan, stepSchedule(progress, plan, draft.nowMs), { definition, memo, searchAttributes });
  return changed(progress);
}

/** Temporal's name; no worker ever hears of it. */
const scheduleWorkflowType = 'temporal-sys-scheduler-workflow';

function begin(draft: Draft, { key, namespace, newRunId, requestId, identity, retentionMs }: commands.CreateSchedule): RunDraft {
  const own = { namespace, requestId, retentionMs, identity, memo: undefined, searchAttributes: undefined };
  return beginWithoutWorker(draft, { ...own, key: { ...key, runId: newRunId }, workflowType: scheduleWorkflowType });
}

export function updateSchedule(draft: Draft, command: commands.UpdateSchedule): HistoryReply {
  const found = findSchedule(draft.shard, command.key);
  if (isRejected(found)) return found;
  const { requestId, conflictToken, definition, state, memo, searchAttributes } = command;
  const { progress } = found.own;
  if (changes.isRepeated(progress, requestId)) return changed(progress);
  if (conflictToken !== 0 && conflictToken !== progress.conflictToken) return mismatched;
  const plan = planOf(draft.wire, found.key, definition);
  const step = stepAround(progress, planOf(draft.wire, found.key, found.own.definition), draft.nowMs, (before) => ({
    progress: changes.withRequest(changes.updateProgress(before, state, draft.nowMs), requestId),
    plan,
  }));
  write(triedAgain(draft, found), plan, step, {
    definition,
    memo: memo && replacing(draft, found.memo, memo),
    searchAttributes: searchAttributes && replacing(draft, found.searchAttributes, searchAttributes),
  });
  return changed(step.progress);
}

const mismatched: Rejected = reject({ reason: 'failed-precondition', message: 'mismatched conflict token' });

/** What is not among them goes; what the server itself has set is set anew with every change. */
function replacing({ wire }: Draft, old: Uint8Array | undefined, fields: Uint8Array): Uint8Array {
  const given = wire.decodeFields(fields);
  const removed = old === undefined ? [] : Array.from(wire.decodeFields(old)).filter(([name]) => !given.has(name));
  return wire.encodeFields(new Map([...removed.map(([name]): [string, Uint8Array] => [name, new Uint8Array(0)]), ...given]));
}

export function patchSchedule(draft: Draft, { key, requestId, patch }: commands.PatchSchedule): HistoryReply {
  const found = findSchedule(draft.shard, key);
  if (isRejected(found)) return found;
  const { progress } = found.own;
  if (changes.isRepeated(progress, requestId)) return changed(progress);
  const plan = planOf(draft.wire, found.key, found.own.definition);
  const step = stepAround(progress, plan, draft.nowMs, (before) => ({
    progress: changes.withRequest(changes.patchProgress(before, patch, draft.nowMs), requestId),
    plan,
  }));
  write(triedAgain(draft, found), plan, step, {});
  return changed(step.progress);
}

/** One that was put aside: by what it is now its tasks may succeed. */
function triedAgain(draft: Draft, found: RunOf<'schedule'>): RunDraft {
  const run = draft.open(found);
  if (draft.shard.aside.has(found.key.runId)) run.addShardFact({ kind: 'runTakenBack' });
  return run;
}

export function deleteSchedule(draft: Draft, { key }: commands.DeleteSchedule): HistoryReply {
  if (draft.retiresUnread(key)) return done;
  const found = findSchedule(draft.shard, key);
  if (isRejected(found)) return found;
  forgetSchedule(draft.open(found), found.own);
  return done;
}

export function describeSchedule(draft: Draft, { key }: commands.DescribeSchedule): HistoryReply {
  const found = findSchedule(draft.shard, key);
  if (isRejected(found)) return found;
  const { own, memo, searchAttributes } = found;
  const { definition, progress } = own;
  const aside = draft.shard.aside.get(found.key.runId);
  return { kind: 'scheduleDescription', key: found.key, definition, progress, memo, searchAttributes, aside };
}

// ── What happens to it ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export function fireScheduleWake(draft: Draft, { taskId, key }: TaskOf<'scheduleWake'>): void {
  draft.finishTask(taskId);
  const found = findSchedule(draft.shard, key);
  if (isRejected(found) || found.own.wakeTaskId !== taskId) return;
  const plan = planOf(draft.wire, found.key, found.own.definition);
  const step = stepSchedule(found.own.progress, plan, draft.nowMs);
  const { expireTimeMs } = step;
  if (expireTimeMs !== undefined && expireTimeMs <= draft.nowMs) forgetSchedule(draft.open(found), found.own);
  else write(draft.open(found), plan, step, {});
}

export function finishStartAction(run: RunDraft, { startId, target }: TaskOf<'startAction'>, outcome: OutboxOutcome): void {
  const { nowMs } = run.draft;
  happen(run, (progress) =>
    outcome.kind === 'actionStarted'
      ? changes.actionStarted(progress, { startId, workflowId: target.workflowId, runId: outcome.runId }, nowMs)
      : changes.actionFailed(progress, startId),
  );
}

/** What the action came to is known by its status alone: if news that say more do not come soon, they are a dead letter, or lost with one. */
export function finishLookAtAction(run: RunDraft, { startId, target }: TaskOf<'lookAtAction'>, outcome: OutboxOutcome): void {
  const { own, key } = run.run;
  if (own.archetype !== 'schedule') return;
  const seen = outcome.kind === 'actionSeen' && outcome.firstRunId === target.runId ? outcome : undefined;
  const end = seen === undefined ? 'unknown' : endOf(seen.status);
  if (end === 'unknown') return happen(run, (progress) => changes.actionGone(progress, startId));
  const { draft } = run;
  const { policies } = planOf(draft.wire, key, own.definition);
  if (end === 'none') {
    const { cancels, terminates } = endsWanted({ progress: own.progress, policies });
    for (const workflow of terminates) if (workflow.startId === startId) endAction(run, workflow, true);
    // It runs as if nobody had asked: its chain has gone on in a run that knows of no request, or the request was a dead letter and was purged.
    if (seen?.cancelRequested === false) for (const workflow of cancels) if (workflow.startId === startId) endAction(run, workflow, false);
    return happen(run, (progress) => changes.actionSeenRunning(progress, startId));
  }
  const closed = closedAction(draft, { startId, workflowId: target.workflowId, runId: target.runId }, end);
  happen(
    run,
    (progress) => changes.actionSeenClosed(progress, closed, draft.nowMs) ?? changes.actionClosed(progress, closed, policies, draft.nowMs),
  );
}

/** What the status of the newest run of a chain says of its end. A run that has gone on as another is not the newest, unless that was deleted. */
function endOf(statusNow: number): CloseOutcome | 'none' | 'unknown' {
  switch (statusNow) {
    case status.running:
    case status.paused:
      return 'none';
    case status.completed:
      return { kind: 'completed', result: undefined };
    case status.failed:
      return { kind: 'failed', failure: undefined, retryState: retryState.retryPolicyNotSet };
    case status.canceled:
      return { kind: 'canceled', details: undefined };
    case status.terminated:
      return { kind: 'terminated' };
    case status.timedOut:
      return { kind: 'timedOut', retryState: retryState.retryPolicyNotSet };
    default:
      return 'unknown';
  }
}

/** A task of the schedule becomes a dead letter: the schedule goes on without it, and the letter, merged, does what is left of it. */
export function goOnWithout(draft: Draft, task: ScheduleTask): void {
  const found = findRun(draft.shard, task.key);
  if (!isOf('schedule', found) || !isRunning(found)) return;
  if (task.kind === 'startAction') {
    const run = draft.open(found);
    const isChecked = changes.hasLeft(found.own.progress) && isCheckAhead(draft, found.own.letterCheckTaskId);
    happen(run, (progress) => changes.actionLeft(progress, task.startId));
    if (!isChecked) checkLetters(run);
  } else if (task.taskId === found.own.wakeTaskId) {
    // Whatever happens to it next arms another.
    const { progress } = found.own;
    const unchanged = progressChange(progress, progress);
    draft.open(found).addFact({ kind: 'scheduleChanged', ...nothingChanged, ...unchanged, wakeTimeMs: undefined });
  }
}

/** What is answered to a check that has begun does not know of this letter. One that has not yet will: were it put off, none would ever begin. */
function isCheckAhead({ shard: { timers }, nowMs }: Draft, taskId: number): boolean {
  const task = timers.get(taskId);
  // Behind the horizon timers are in a database alone.
  return task === undefined ? timers.horizon.fireTimeMs !== Infinity : task.fireTimeMs > nowMs;
}

function checkLetters(run: RunDraft): void {
  const { draft } = run;
  const { own } = run.run;
  if (own.archetype !== 'schedule' || !changes.hasLeft(own.progress)) return;
  run.finishTask(own.letterCheckTaskId);
  const fireTimeMs = draft.nowMs + draft.limits.letterRecheckMs;
  run.addTask({ kind: 'letterCheck', fireTimeMs });
}

/** Whether any task of the schedule is a letter still. undefined: it was no schedule for which that was asked. */
export function startsChecked(draft: Draft, { taskId, isOpen }: LetterChecked): HistoryReply | undefined {
  const task = draft.shard.timers.get(taskId);
  if (task === undefined || !isSchedules(task.key)) return undefined;
  draft.finishTask(taskId);
  const found = findSchedule(draft.shard, task.key);
  if (isRejected(found) || found.own.letterCheckTaskId !== taskId) return done;
  const run = draft.open(found);
  if (isOpen) checkLetters(run);
  else happen(run, changes.letGoOfLeft);
  return done;
}

const nothingChanged = { definition: undefined, last: undefined, memo: undefined, searchAttributes: undefined };

type ScheduleTask = TaskOf<'startAction' | 'scheduleWake'>;

export function isOfSchedule(task: PendingTask): task is ScheduleTask {
  return task.kind === 'startAction' || task.kind === 'scheduleWake';
}

export function recordActionClosed(draft: Draft, { key, startId, workflow, close }: RecordActionClosed): HistoryReply {
  const found = findSchedule(draft.shard, key);
  if (isRejected(found)) return done;
  const closed = closedAction(draft, { startId, ...workflow }, close);
  const { policies } = planOf(draft.wire, found.key, found.own.definition);
  const last = lastOf(found.own, close);
  // Who was asked about that action has answered before its news came: then these alone bring its result.
  const isNewest = found.own.progress.recentActions.at(-1)?.startId === startId;
  const bringsResult = isNewest && last !== undefined && !isSame(last, found.own);
  const change = (progress: ScheduleProgress): ScheduleProgress | undefined =>
    changes.actionClosed(progress, closed, policies, draft.nowMs) ?? (bringsResult ? progress : undefined);
  happen(draft.open(found), change, last);
  return done;
}

function closedAction({ wire }: Draft, workflow: changes.ClosedAction['workflow'], close: CloseOutcome): changes.ClosedAction {
  switch (close.kind) {
    case 'failed': {
      const message = close.failure === undefined ? '' : wire.schedules.failureMessage(close.failure);
      return { workflow, status: status.failed, failure: { kind: 'failed', message } };
    }
    case 'timedOut':
      return { workflow, status: status.timedOut, failure: { kind: 'timedOut' } };
    default:
      return { workflow, status: status[close.kind], failure: undefined };
  }
}

type Last = Pick<Schedule, 'lastCompletionResult' | 'continuedFailure'>;

function isSame(one: Last, other: Last): boolean {
  return sameBytes(one.lastCompletionResult, other.lastCompletionResult) && sameBytes(one.continuedFailure, other.continuedFailure);
}

/** A result is carried over failures. undefined: nothing new. */
function lastOf({ lastCompletionResult }: Schedule, close: CloseOutcome): Last | undefined {
  if (close.kind === 'completed' && close.result !== undefined) return { lastCompletionResult: close.result, continuedFailure: undefined };
  return close.kind === 'failed' ? { lastCompletionResult, continuedFailure: close.failure } : undefined;
}

function happen(run: RunDraft, change: (progress: ScheduleProgress) => ScheduleProgress | undefined, last?: Last): void {
  const { draft } = run;
  const { own } = run.run;
  if (own.archetype !== 'schedule') return;
  const progress = change(own.progress);
  if (progress === undefined) return;
  const plan = planOf(draft.wire, run.run.key, own.definition);
  const before = { progress: own.progress, policies: plan.policies };
  write(run, plan, stepSchedule(progress, plan, draft.nowMs, before), { last });
}

// ── What is written of it ──────────────────────────────────────────────────────────────────────────────────────────────────────

type Written = {
  readonly definition?: Uint8Array;
  readonly last?: Last | undefined;
  /** Fields to be set, and without a value to be removed. */
  readonly memo?: Uint8Array | undefined;
  readonly searchAttributes?: Uint8Array | undefined;
};

function write(run: RunDraft, plan: Plan, step: ScheduleStep, written: Written): void {
  const { draft } = run;
  const { schedules } = draft.wire;
  const { progress } = step;
  const { own, key } = run.run;
  const before = own.archetype === 'schedule' ? own : undefined;
  const wakeTimeMs = step.wakeTimeMs ?? step.expireTimeMs;
  const listed = schedules.listedMemo(plan.listed, inList(plan.nextTime, progress));
  const pauseChanges = before?.progress.paused !== progress.paused || written.searchAttributes !== undefined;
  run.addFact({
    kind: 'scheduleChanged',
    definition: written.definition,
    ...progressChange(before?.progress, progress),
    last: written.last,
    memo: joined(draft, written.memo, listed),
    searchAttributes: pauseChanges ? joined(draft, written.searchAttributes, schedules.ownAttributes(progress)) : undefined,
    wakeTimeMs,
  });
  for (const { startId, nominalTimeMs } of step.starts) {
    const workflowId = actionWorkflowId(plan, nominalTimeMs);
    const target = { namespaceId: key.namespaceId, workflowId, runId: '' };
    run.addTask({ kind: 'startAction', startId, target });
  }
  for (const workflow of step.terminates) endAction(run, workflow, true);
  for (const workflow of step.cancels) endAction(run, workflow, false);
  for (const workflow of step.looks) lookAtAction(run, workflow);
  arm(run, before, wakeTimeMs);
}

function endAction(run: RunDraft, { startId, workflowId, runId }: ScheduleStep['cancels'][number], terminates: boolean): void {
  if (isUnderWay(run, (task) => task.kind === 'endAction' && task.startId === startId && task.terminates === terminates)) return;
  const { namespaceId } = run.run.key;
  run.addTask({ kind: 'endAction', startId, target: { namespaceId, workflowId, runId }, terminates });
}

function lookAtAction(run: RunDraft, { startId, workflowId, runId }: ScheduleStep['looks'][number]): void {
  if (isUnderWay(run, (task) => task.kind === 'lookAtAction' && task.startId === startId)) return;
  const { namespaceId } = run.run.key;
  run.addTask({ kind: 'lookAtAction', startId, target: { namespaceId, workflowId, runId } });
}

/** The shard of that workflow has not answered yet: it may be away for long, and what is asked of it would pile up. */
function isUnderWay({ draft, run: { key } }: RunDraft, isIt: (task: PendingTask) => boolean): boolean {
  const { shard } = draft;
  for (const taskId of shard.undeliveredOf(key.runId)) {
    const task = shard.transfers.get(taskId) ?? shard.tasksAside.get(taskId);
    if (task !== undefined && !draft.finishedTaskIds.has(taskId) && isIt(task)) return true;
  }
  return false;
}

function joined({ wire }: Draft, some: Uint8Array | undefined, more: Uint8Array): Uint8Array {
  return some === undefined ? more : wire.encodeFields(new Map([...wire.decodeFields(some), ...wire.decodeFields(more)]));
}

/** One that is armed for that time stays. */
function arm(run: RunDraft, before: Schedule | undefined, wakeTimeMs: number | undefined): void {
  const { draft } = run;
  const wakeTaskId = before?.wakeTaskId ?? 0;
  if (before?.wakeTimeMs === wakeTimeMs && !draft.finishedTaskIds.has(wakeTaskId)) return;
  run.finishTask(wakeTaskId);
  if (wakeTimeMs !== undefined) run.addTask({ kind: 'scheduleWake', fireTimeMs: wakeTimeMs });
}

function changed({ conflictToken }: ScheduleProgress): commands.ScheduleChanged {
  return { kind: 'scheduleChanged', conflictToken };
}
