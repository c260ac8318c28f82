/**
 * Tasks of dead letters, once more.
 *
 *     owner of the queue ── executeLetter ─▶ a record: a mark, and the task pending under a new id ─▶ runs like any other
 *              ▲                                                                                        │ its end, in one record with the
 *              └── letterExecuted, committed ◀── the mark has an outcome ◀──────────────────────────────┘ mark's outcome
 *
 * Whoever asks again while it is pending waits along, and afterwards gets the outcome of the mark: nothing is executed twice. The first failure
 * that counts ends it: it becomes no letter, for it is one. What a task waits for (a shard, a log, room) is no failure, and it waits as any other does.
 */
import { callbackOf, mayBeTried } from '../run/callback.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { callbackState } from '../generated/enums.ts';
import type { HistoryEvent } from '../run/events.ts';
import { findRun, reject, workflowBehind } from '../run/reject.ts';
import type { HistoryReply } from '../run/history-replies.ts';
import { isOf, isRunning, type RunView } from '../run/state.ts';
import { type DispatchTask, isDispatch, isLastMessage, isTimer, type PendingTask, type TimerTask } from '../run/tasks.ts';
import { type LetterMark, type LetterMarksView, type LetterOutcome, markKey } from '../run/letter-marks.ts';
import type { ConfirmLetter, ExecuteLetter, LetterName, ListLetterMarks } from '../commands/redrive-commands.ts';

export const redriveLimits = {
  /** Limits the marks of one queue in a shard: they are written whole with each checkpoint. One namespace has half of them at most. */
  marksMax: 2_000,
  /** Limits the bytes of these marks, roughly. */
  bytesMax: 2 * 1024 * 1024,
} as const;

const applied: LetterOutcome = { kind: 'applied' };

export function noop(detail: string): LetterOutcome {
  return { kind: 'noop', detail };
}

// ── Asked ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function executeLetter(draft: Draft, command: ExecuteLetter): HistoryReply | undefined {
  const { letter } = command;
  const mark = draft.shard.letterMarks?.get(letter);
  if (mark !== undefined && mark.letter.generation >= letter.generation) return answerFromMark(draft, mark, letter);
  if (mark !== undefined && mark.outcome === undefined) return busy(`${nameOf(mark.letter)} is being executed`);
  forgetResolved(draft, command);
  const task = draft.wire.decodeTask(command.task);
  if (mark === undefined && !hasRoom(draft, letter.queue, task.key.namespaceId)) {
    const ended = [...marksOf(draft, letter.queue)].filter(({ outcome }) => outcome !== undefined);
    return { kind: 'lettersUnconfirmed', letters: ended.map((each) => each.letter) };
  }
  const { runId } = task.key;
  if (draft.shard.aside.has(runId)) return busy('the workflow of the dead letter is quarantined');
  if (draft.shard.isBehind(runId)) return workflowBehind;
  const overtaken = overtakenBy(draft, task);
  if (overtaken !== undefined) {
    draft.endLetter({ letter, outcome: noop(overtaken) }, task.key);
    return { kind: 'letterExecuted', outcome: noop(overtaken) };
  }
  if (task.kind === 'invokeCallback') stopRetention(draft, task);
  draft.beginLetter({ letter, task: pendingAgain(task, draft.nextTaskId(), draft.nowMs) });
  draft.stage({ kind: 'letterAwaited', markKey: markKey(letter), askId: draft.askId });
  return undefined;
}

/** The retention waits until it is known what becomes of the callback, which the run would take along. It begins again then. */
export function stopRetention(draft: Draft, { key }: PendingTask): void {
  const { retentionTaskId = 0 } = findRun(draft.shard, key) ?? {};
  if (draft.shard.timers.get(retentionTaskId) !== undefined) draft.finishTask(retentionTaskId);
}

function answerFromMark(draft: Draft, mark: LetterMark, { generation }: LetterName): HistoryReply | undefined {
  if (mark.letter.generation > generation) return busy(`${nameOf(mark.letter)} was executed as a later generation`);
  if (mark.outcome !== undefined) return { kind: 'letterExecuted', outcome: mark.outcome };
  draft.stage({ kind: 'letterAwaited', markKey: markKey(mark.letter), askId: draft.askId });
  return undefined;
}

export function confirmLetter(draft: Draft, { letter }: ConfirmLetter): HistoryReply {
  const mark = draft.shard.letterMarks?.get(letter);
  // One that comes late is of an earlier generation.
  if (mark?.outcome !== undefined && mark.letter.generation <= letter.generation) draft.confirmLetter(mark.letter);
  return { kind: 'done' };
}

export function listLetterMarks(draft: Draft, { queue }: ListLetterMarks): HistoryReply {
  const pending: LetterName[] = [];
  const ended: LetterName[] = [];
  for (const { letter, outcome } of marksOf(draft, queue)) (outcome === undefined ? pending : ended).push(letter);
  return { kind: 'letterMarks', pending, ended };
}

/** Confirmations that were lost. */
function forgetResolved(draft: Draft, { letter: { queue, messageId }, resolvedBelow }: ExecuteLetter): void {
  for (const { letter, outcome } of marksOf(draft, queue)) {
    if (outcome === undefined || letter.messageId === messageId) continue;
    if (letter.messageId < resolvedBelow) draft.confirmLetter(letter);
  }
  for (const { letter, outcome } of draft.shard.letterMarks?.ofIncarnationsBefore(queue) ?? []) {
    if (outcome !== undefined) draft.confirmLetter(letter);
  }
}

/** A queue whose letters are not confirmed holds up no other; nor does a namespace: it has half of what the others leave. */
function hasRoom({ shard: { letterMarks } }: Draft, queue: number, namespaceId: string): boolean {
  if (letterMarks === undefined) return true;
  const all = letterMarks.sizeOf(queue);
  const own = letterMarks.sizeOf(queue, namespaceId);
  const { marksMax, bytesMax } = redriveLimits;
  return own.marks < (marksMax - (all.marks - own.marks)) / 2 && own.bytes < (bytesMax - (all.bytes - own.bytes)) / 2;
}

function marksOf({ shard }: Draft, queue: number): Iterable<LetterMark> {
  return shard.letterMarks?.ofQueue(queue).values() ?? [];
}

export function busy(message: string): HistoryReply {
  return reject({ reason: 'busy-workflow', message });
}

export function nameOf({ messageId, generation }: LetterName): string {
  return `generation ${generation} of message ${messageId}`;
}

/** What has happened since it became a letter leaves it nothing to do. undefined: its own code will tell. */
export function overtakenBy({ shard }: Draft, task: PendingTask): string | undefined {
  if (isLastMessage(task)) return undefined;
  const run = findRun(shard, task.key);
  if (run === undefined) return 'the workflow is gone';
  if (isTimer(task)) return timerOvertakenBy(run, task);
  if (task.kind === 'invokeCallback') return callbackOf(run, task.callbackId)?.state === callbackState.failed ? undefined : notFailed;
  if (!isDispatch(task)) return undefined;
  if (!isRunning(run)) return closed;
  return isAwaited(run, task) ? undefined : `the ${task.kind === 'workflowTask' ? 'workflow task' : 'activity'} has started, or is over`;
}

const closed = 'the workflow is closed';
const notFailed = 'the callback is tried already, or was delivered';

/** Some are for open workflows, the others for closed ones. */
function timerOvertakenBy(run: RunView, task: TimerTask): string | undefined {
  // Of a schedule, which is open: not of a closed run that is to be forgotten.
  if (task.kind === 'letterCheck' && isOf('schedule', run)) return undefined;
  // Those of updates are called while it is open.
  if (task.kind === 'callbackBackoff') return mayBeTried(callbackOf(run, task.callbackId)) ? undefined : notFailed;
  if (isRunning(run) === outlivesClose(task)) return isRunning(run) ? 'the workflow is open' : closed;
  // A signal may have ended the delay of its start: it would be in its delay once more.
  const hasBegun =
    run.workflowTask !== undefined || run.previousStartedEventId !== 0 || run.start.executionTimeMs === run.start.startTimeMs;
  return task.kind === 'firstWorkflowTask' && hasBegun ? 'the first workflow task is scheduled, or was' : undefined;
}

function outlivesClose({ kind }: TimerTask): boolean {
  return kind === 'retention' || kind === 'archiveExecution' || kind === 'letterCheck';
}

function isAwaited(run: RunView, { kind, scheduledEventId, stamp }: DispatchTask): boolean {
  if (kind === 'workflowTask') {
    const { workflowTask } = run;
    return workflowTask?.scheduledEventId === scheduledEventId && workflowTask.stamp === stamp && workflowTask.startedEventId === 0;
  }
  const activity = run.activities.get(scheduledEventId);
  return activity?.stamp === stamp && activity.startedTimeMs === 0 && !activity.inBackoff && activity.operations?.pause === undefined;
}

/** The task as a new one. A timer that was due is due at once; should the clock have gone back since, it waits as it would have then. */
export function pendingAgain(task: PendingTask, taskId: number, nowMs: number): PendingTask {
  if (isTimer(task)) return { ...task, taskId, fireTimeMs: Math.max(task.fireTimeMs, nowMs) };
  if (!isDispatch(task)) return { ...task, taskId };
  const { atMatching: _, ...fresh } = task;
  return { ...fresh, taskId };
}

// ── How it ends ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The task ends in this draft, and with it the letter that it is of. False, and nothing, when it is no letter's. */
export function endLetterOf(draft: Draft, taskId: number, outcome: LetterOutcome): boolean {
  const mark = draft.shard.letterMarks?.pendingOf(taskId);
  if (mark === undefined) return false;
  draft.finishTask(taskId);
  draft.endLetter({ letter: mark.letter, outcome });
  return true;
}

/** Matching has its task, which stays pending like any other. */
export function letterAtMatching(draft: Draft, taskId: number): void {
  const mark = draft.shard.letterMarks?.pendingOf(taskId);
  if (mark !== undefined) draft.endLetter({ letter: mark.letter, outcome: applied });
}

/** The task was run: its outcome is told by whether that has written anything. */
export function endRunLetter(draft: Draft, taskId: number): void {
  const mark = draft.shard.letterMarks?.pendingOf(taskId);
  if (mark !== undefined)
    draft.endLetter({ letter: mark.letter, outcome: draft.hasEffect ? applied : noop('its effect is there already') });
}

/** Ends the marks of a decided draft whose tasks it ends without a word of them, and answers whoever waits with the outcome. */
export function settleLetters(draft: Draft): void {
  const { letterMarks, transfers, timers } = draft.shard;
  if (letterMarks === undefined) return;
  for (const { letter, taskId } of overlooked(draft, letterMarks)) {
    const task = transfers.get(taskId) ?? timers.get(taskId);
    draft.endLetter({ letter, outcome: hasCome(draft, task) ? applied : noop('the task is obsolete') });
  }
  for (const { letter, outcome } of draft.lettersEnded) {
    const waits = draft.volatile.letterWaits.get(markKey(letter));
    for (const { askId } of waits?.values() ?? []) draft.answer(askId, { kind: 'letterExecuted', outcome });
  }
}

function overlooked(draft: Draft, marks: LetterMarksView): readonly LetterMark[] {
  if (!marks.hasPending) return [];
  const said = new Set(draft.lettersEnded.map(({ letter }) => letter));
  const ended: LetterMark[] = [];
  for (const taskId of draft.finishedTaskIds) {
    const mark = marks.pendingOf(taskId);
    if (mark !== undefined && !said.has(mark.letter)) ended.push(mark);
  }
  return ended;
}

/** What the task is for has come by this draft: a worker has it, or it fires together with others. */
function hasCome(draft: Draft, task: PendingTask | undefined): boolean {
  const open = task === undefined ? undefined : draft.runs.find(({ run }) => run.key.runId === task.key.runId);
  if (task === undefined || open === undefined) return false;
  const { run } = open;
  switch (task.kind) {
    case 'workflowTask':
      return run.workflowTask?.stamp === task.stamp && run.workflowTask.startedEventId !== 0;
    case 'activityTask': {
      const activity = run.activities.get(task.scheduledEventId);
      return activity?.stamp === task.stamp && activity.startedTimeMs !== 0;
    }
    case 'userTimer':
      return eventsOf(open).some((event) => event.type === 'timerFired' && event.attributes.startedEventId === task.startedEventId);
    default:
      return false;
  }
}

/** Events of the draft, also those that have to wait for their places in history. */
function eventsOf({ events, facts }: RunDraft): readonly HistoryEvent[] {
  return [...events.map(({ event }) => event), ...facts.flatMap(({ fact }) => (fact.kind === 'eventBuffered' ? [fact.event] : []))];
}
