/**
 * Applies a record to a shard: the only code that changes durable state, live and in replay alike. Whatever is changed is had from `Shard`.
 *
 * Per run, events and facts in the order in which they were decided; then the tasks that follow, each noted at its owner, so that the
 * decision that ends the owner can end the task; then the tasks that ended, by their ids alone.
 *
 * A record changes only the runs that it names, or whose tasks it brings. The tasks that it ends may be of any run, so their end shows in
 * no run. What it changes of a run whose row cannot be read waits (shard/runs-behind.ts). A run that it forgets goes last, when the
 * record's own messages of that run have joined those that wait.
 */
import type { Pending } from '../run/pending.ts';
import { assert, unreachable } from '../../kernel/assert.ts';
import { tried } from '../run/callback.ts';
import { evolveEvent } from './evolve-event.ts';
import { evolveFact } from './evolve-fact.ts';
import type { RecordedEvent } from '../run/events.ts';
import { closeOutcome, closesRun } from '../run/event-meanings.ts';
import { runFromStarted } from './evolve-run.ts';
import { timersOf } from '../run/timers-of.ts';
import { beginsRun, type HistoryRecord, type RunChange, type FactOf } from '../run/record.ts';
import type { HistoryWire } from '../run/history-replies.ts';
import type { Shard } from '../shard/shard.ts';
import { type BegunLetter, LetterMarks } from '../run/letter-marks.ts';
import type { LetterName } from '../commands/redrive-commands.ts';
import type { Run } from '../run/state.ts';
import { isLastMessage, isNewsOfClose, type PendingTask, type Task } from '../run/tasks.ts';
import type { RunKey } from '../../kernel/run-key.ts';

export function evolve(shard: Shard, record: HistoryRecord, wire: HistoryWire): void {
  shard.timeMs = record.timeMs;
  let forgotten: Run[] | undefined;
  for (const change of record.runs) {
    const run = evolveRun(shard, record, change, wire);
    if (run !== undefined) (forgotten ??= []).push(run);
  }
  for (const task of record.tasks) addTask(shard, record, pendingTask(record, task));
  if (record.lettersBegun !== undefined) for (const begun of record.lettersBegun) beginLetter(shard, record, begun);
  if (record.lettersEnded !== undefined) for (const ended of record.lettersEnded) marksOf(shard).end(ended, record.namespaceId);
  for (const taskId of record.finishedTaskIds) shard.finishTask(taskId);
  if (record.taskIdsAtMatching !== undefined) for (const taskId of record.taskIdsAtMatching) shard.noteAtMatching(taskId);
  if (record.tasksHandedOver !== undefined) for (const task of record.tasksHandedOver) shard.handOver(task);
  if (record.lettersAccepted !== undefined) for (const accepted of record.lettersAccepted) shard.acceptLetters(accepted);
  if (record.lettersConfirmed !== undefined) for (const letter of record.lettersConfirmed) confirmLetter(shard, letter);
  if (forgotten !== undefined) for (const run of forgotten) shard.forget(run);
  if (record.retiredRuns !== undefined) shard.retire(record.retiredRuns);
}

/** Answers the run if it is to be forgotten. */
function evolveRun(shard: Shard, record: HistoryRecord, change: RunChange, wire: HistoryWire): Run | undefined {
  let run = shard.change(change.runId);
  if (run === undefined && !beginsRun(change)) {
    const key = keyIn(record, change.runId);
    if (isBehind(shard, key)) return waitFor(shard, record, change, key);
    assert(!shard.isRunCold(key), 'a run is loaded before it changes');
  }
  let nextFact = 0;
  for (let at = 0; at <= change.events.length; at++) {
    for (; nextFact < change.facts.length; nextFact++) {
      const placed = change.facts[nextFact];
      if (placed === undefined || placed.afterEvents > at) break;
      const { fact } = placed;
      if (fact.kind === 'runForgotten') return run;
      assert(run !== undefined, `a ${fact.kind} fact needs its run`);
      if (fact.kind === 'runPutAside') putAside(shard, run, fact, record.timeMs);
      else if (fact.kind === 'runTakenBack') takeBack(shard, run);
      else evolveFact(run, fact, record.timeMs, wire);
      if (fact.kind === 'preparationEnded') shard.makeCurrent(run);
    }
    const recorded = change.events[at];
    if (recorded === undefined) break;
    run ??= beginRecordedRun(shard, record, change, recorded);
    evolveRecorded(run, recorded, wire);
  }
  if (run !== undefined && run.preparation === undefined) run.stateTransitionCount++;
  return undefined;
}

/** The run's tasks leave the queues (execution/put-aside.ts says why), and come back with `takeBack`. */
function putAside(shard: Shard, run: Run, { failedCommand, taskId, reason }: FactOf<'runPutAside'>, timeMs: number): void {
  const { runId } = run.key;
  shard.putAside(run, { failedCommand, reason, timeMs });
  for (const task of shard.transfers.values()) if (task.key.runId === runId) shard.putTaskAside(task);
  for (const timerId of timersOf(run)) putTimerAside(shard, timerId);
  if (shard.timers.get(taskId)?.key.runId === runId) putTimerAside(shard, taskId);
}

function putTimerAside(shard: Shard, taskId: number): void {
  const timer = shard.timers.get(taskId);
  if (timer !== undefined) shard.putTaskAside(timer);
}

function takeBack(shard: Shard, run: Run): void {
  if (!shard.takeBack(run)) return;
  const { runId } = run.key;
  for (const task of shard.tasksAside.values()) if (task.key.runId === runId) shard.takeTaskBack(task);
}

/** A run whose row has gone is behind from now on. */
function isBehind(shard: Shard, key: RunKey): boolean {
  if (shard.isBehind(key.runId)) return true;
  if (!shard.isLost(key)) return false;
  shard.residency?.behind.add(key, 'its row is missing');
  return true;
}

/** The record waits until the row of the run can be read. A run that ends for good needs no row for that. */
function waitFor(shard: Shard, record: HistoryRecord, { facts }: RunChange, key: RunKey): undefined {
  shard.residency?.behind.wait(key.runId, record);
  if (facts.some(({ fact }) => fact.kind === 'runForgotten')) shard.retire([key]);
}

function keyIn({ namespaceId, workflowId }: HistoryRecord, runId: string): RunKey {
  return { namespaceId, workflowId, runId };
}

function beginRecordedRun(shard: Shard, record: HistoryRecord, { runId, facts }: RunChange, { event }: RecordedEvent): Run {
  assert(event.type === 'workflowExecutionStarted', `run ${runId} begins with ${event.type}`);
  const run = runFromStarted(keyIn(record, runId), record.namespace, event);
  if (facts.some(({ fact }) => fact.kind === 'preparationBegun')) shard.beginPreparing(run);
  else shard.begin(run);
  return run;
}

export function evolveRecorded(run: Run, { event, bytes }: RecordedEvent, wire: HistoryWire): void {
  assert(event.eventId === run.nextEventId, `event ${event.eventId} (${event.type}) where ${run.nextEventId} is next`);
  run.nextEventId = event.eventId + 1;
  run.historySizeBytes += bytes.length;
  evolveEvent(run, event, wire);
}

function pendingTask(record: HistoryRecord, task: Task): PendingTask {
  if (!isNewsOfClose(task)) return task;
  const close = record.runs.find(({ runId }) => runId === task.key.runId)?.events.at(-1)?.event;
  const outcome = close !== undefined && closesRun(close) ? closeOutcome(close) : undefined;
  assert(outcome !== undefined, 'news of a close come with it');
  return { ...task, outcome };
}

function marksOf(shard: Shard): LetterMarks {
  return (shard.letterMarks ??= new LetterMarks());
}

function confirmLetter(shard: Shard, letter: LetterName): void {
  shard.letterMarks?.remove(letter);
  if (shard.letterMarks?.size === 0) shard.letterMarks = undefined;
}

function beginLetter(shard: Shard, record: HistoryRecord, begun: BegunLetter): void {
  marksOf(shard).begin(begun);
  addTask(shard, record, begun.task);
}

function addTask(shard: Shard, record: HistoryRecord, task: PendingTask): void {
  const run = shard.change(task.key.runId);
  if (run === undefined && shard.isBehind(task.key.runId)) shard.residency?.behind.wait(task.key.runId, record);
  else assert(run !== undefined || isLastMessage(task) || !shard.isRunCold(task.key), 'a run is loaded before it gets a task');
  shard.addTask(task);
  if (run !== undefined) rememberTask(run, task);
}

/** What a task is for (a workflow task, an activity, a timer) remembers its id. A task that is out of date does nothing when it runs. */
export function rememberTask(run: Run, task: Task): void {
  switch (task.kind) {
    case 'workflowTask':
    case 'workflowTaskTimeout': {
      const workflowTask = run.workflowTask;
      if (workflowTask === undefined || workflowTask.stamp !== task.stamp) return;
      run.workflowTask =
        task.kind === 'workflowTask' ? { ...workflowTask, dispatchTaskId: task.taskId } : { ...workflowTask, timeoutTaskId: task.taskId };
      return;
    }
    case 'activityTask':
    case 'activityTimeout':
    case 'activityRetry': {
      const activity = run.activities.get(task.scheduledEventId);
      if (activity === undefined || activity.stamp !== task.stamp) return;
      run.activities.set(
        task.scheduledEventId,
        task.kind === 'activityTask' ? { ...activity, dispatchTaskId: task.taskId } : { ...activity, timerTaskId: task.taskId },
      );
      return;
    }
    case 'userTimer': {
      const timer = run.timers.get(task.timerId);
      if (timer?.startedEventId === task.startedEventId) run.timers.set(task.timerId, { ...timer, taskId: task.taskId });
      return;
    }
    case 'startChild':
      return rememberIn(run.children, task);
    case 'signalExternal':
      return rememberIn(run.externalSignals, task);
    case 'cancelExternal':
      return rememberIn(run.externalCancels, task);
    case 'runTimeout':
    case 'executionTimeout':
      run.timeoutTaskId = task.taskId;
      return;
    case 'firstWorkflowTask':
      run.backoffTaskId = task.taskId;
      return;
    case 'invokeCallback':
      run.callbacks = tried(run.callbacks, task);
      return;
    case 'retention':
      run.retentionTaskId = task.taskId;
      return;
    case 'scheduleWake':
      if (run.own.archetype === 'schedule') run.own = { ...run.own, wakeTaskId: task.taskId };
      return;
    case 'letterCheck':
      if (run.own.archetype === 'schedule') run.own = { ...run.own, letterCheckTaskId: task.taskId };
      return;
    case 'batchStep':
      if (run.own.archetype === 'batch') run.own = { ...run.own, stepTaskId: task.taskId };
      return;
    case 'notifyParent':
    case 'closeChild':
    case 'startAction':
    case 'endAction':
    case 'lookAtAction':
    case 'notifySchedule':
    case 'scheduleChildFirstTask':
    case 'archiveExecution':
    case 'callbackBackoff':
    case 'upsertVisibility':
      return;
    default:
      return unreachable(task);
  }
}

function rememberIn<Value extends { readonly taskId: number }>(
  pending: Pending<number, Value>,
  { initiatedEventId, taskId }: { readonly initiatedEventId: number; readonly taskId: number },
): void {
  const value = pending.get(initiatedEventId);
  if (value !== undefined) pending.set(initiatedEventId, { ...value, taskId });
}
