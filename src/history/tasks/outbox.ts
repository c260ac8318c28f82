/**
 * Work for other shards. A pending transfer task is the promise; the message for its target is built from state whenever it is (re)sent,
 * under a request id that stays the same, so that the target can recognise a repeat:
 *
 *   task ──▶ runOutboxTask ──deliver──▶ target ──▶ outboxOutcome ──▶ finishOutboxTask: the result's record ends the task
 *
 * What is asked and what an answer means stands with each kind, in the room of its entity.
 */
import { followClosePolicy } from '../child/child-outcomes.ts';
import { closeChildOutbox, notifyParentOutbox, scheduleChildFirstTaskOutbox, startChildOutbox } from '../child/child-outbox.ts';
import type { FinishOutboxTask, OutboxMessage, OutboxOutcome, RunOutboxTask } from '../commands/history-commands.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { cancelExternalOutbox, signalExternalOutbox } from '../external/external-outbox.ts';
import { findRun } from '../run/reject.ts';
import { type HistoryReply, done } from '../run/history-replies.ts';
import { endLetterOf, endRunLetter, noop } from '../steps/redrive.ts';
import { endActionOutbox, lookAtActionOutbox, notifyScheduleOutbox, startActionOutbox } from '../schedule/schedule-outbox.ts';
import { isRunning } from '../run/state.ts';
import { isOutbox, type OutboxTask } from '../run/tasks.ts';
import type { OutboxKind, OutboxTaskOf } from '../steps/outbox-kind.ts';

const kinds: { readonly [Kind in OutboxTask['kind']]: OutboxKind<Kind> } = {
  startChild: startChildOutbox,
  scheduleChildFirstTask: scheduleChildFirstTaskOutbox,
  signalExternal: signalExternalOutbox,
  cancelExternal: cancelExternalOutbox,
  notifyParent: notifyParentOutbox,
  closeChild: closeChildOutbox,
  startAction: startActionOutbox,
  endAction: endActionOutbox,
  lookAtAction: lookAtActionOutbox,
  notifySchedule: notifyScheduleOutbox,
};

/** A task that has ended, or waits aside, is nobody's message any more. */
export function runOutboxTask(draft: Draft, { taskId, newRunId, tries }: RunOutboxTask): undefined {
  // Its record is committed. The target finds repeats and latecomers by itself, so the message waits for nothing else.
  draft.restsOnState = false;
  const task = draft.shard.transfers.get(taskId);
  if (task === undefined || !isOutbox(task)) return;
  draft.effects.push({ kind: 'deliver', taskId, message: messageOf(draft, task.kind, task, newRunId), tries });
}

function messageOf<Kind extends OutboxTask['kind']>(
  { shard, wire }: Draft,
  kind: Kind,
  task: OutboxTaskOf<Kind>,
  newRunId: string,
): OutboxMessage | undefined {
  if (task.sender !== undefined) return kinds[kind].lastMessage?.(task.sender, task);
  const run = findRun(shard, task.key);
  return run === undefined ? undefined : kinds[kind].message(run, task, newRunId, wire);
}

export function outboxOutcome(kind: OutboxTask['kind'], reply: HistoryReply): OutboxOutcome | undefined {
  return kinds[kind].outcome(reply);
}

export function outboxTooLarge(kind: OutboxTask['kind']): OutboxOutcome | undefined {
  return kinds[kind].tooLarge;
}

export function finishOutboxTask(draft: Draft, command: FinishOutboxTask): HistoryReply {
  const task = draft.shard.transfers.get(command.taskId);
  // Tasks for workers end with their start, or with what makes it pointless.
  if (task === undefined || !isOutbox(task)) return done;
  if (task.sender !== undefined) return finishLastMessage(draft, task, command.outcome);
  const run = findRun(draft.shard, task.key);
  // Written for its own sake only if the run can still hear of it.
  const isHeard = run !== undefined && (isRunning(run) || command.outcome.kind === 'childStarted');
  if (isHeard && kinds[task.kind].finish !== undefined) {
    draft.finishTask(command.taskId);
    finish(task.kind, draft.open(run), task, command.outcome);
    endRunLetter(draft, command.taskId);
  } else finishSilently(draft, task, command.outcome);
  return done;
}

/** A record that is written for another reason takes it along; whoever has asked for a letter waits for it. */
function finishSilently(draft: Draft, { taskId }: OutboxTask, outcome: OutboxOutcome): void {
  const nothingLeft = outcome.kind === 'done' ? outcome.nothingLeft : undefined;
  if (endLetterOf(draft, taskId, nothingLeft === undefined ? { kind: 'applied' } : noop(nothingLeft))) return;
  if (!draft.volatile.finished.has(taskId)) draft.stage({ kind: 'taskFinished', taskId });
}

/** The run that asked is deleted and hears of nothing. But a child that had started is still to be treated by its parent's close policy. */
function finishLastMessage(draft: Draft, task: OutboxTask, outcome: OutboxOutcome): HistoryReply {
  if (task.kind === 'startChild' && outcome.kind === 'childStarted') {
    draft.finishTask(task.taskId);
    followClosePolicy(draft, task, outcome.runId);
    endRunLetter(draft, task.taskId);
  } else finishSilently(draft, task, outcome);
  return { kind: 'done' };
}

function finish<Kind extends OutboxTask['kind']>(kind: Kind, run: RunDraft, task: OutboxTaskOf<Kind>, outcome: OutboxOutcome): void {
  kinds[kind].finish?.(run, task, outcome);
}
