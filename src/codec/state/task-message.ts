/** A pending task of the core as `perdure.state.v1.PendingTask`, and back: the journal's message of it, and what a record says there. */
import { LogError } from '../../ports/log.ts';
import { isNewsOfClose, isTimer, type PendingTask, type PendingTransfer } from '../../history/run/tasks.ts';
import { closeFields, closeOf, type CloseOutcome } from '../../kernel/close-outcome.ts';
import * as state from '../../wire/generated/state/history.ts';
import { fromWireTimer, fromWireTransfer, type TaskRecord, toWireTimer, toWireTransfer } from '../task-codec.ts';
import { type NumberOf, wordOf } from '../../wire/as-core.ts';

export function taskToMessage(task: PendingTask): state.PendingTask {
  const { namespaceId, workflowId } = task.key;
  const alone = recordOfNothing(namespaceId, workflowId);
  if (isTimer(task)) return { namespaceId, workflowId, transfer: undefined, timer: toWireTimer(task, alone), outcome: undefined };
  const outcome = isNewsOfClose(task) ? outcomeToMessage(task.outcome) : undefined;
  return { namespaceId, workflowId, transfer: toWireTransfer(task, alone), timer: undefined, outcome };
}

/** Throws on what no program has written. */
export function taskFromMessage({ namespaceId, workflowId, transfer, timer, outcome }: state.PendingTask): PendingTask {
  const alone = recordOfNothing(namespaceId, workflowId);
  if (timer !== undefined) return fromWireTimer(timer, alone);
  if (transfer === undefined) throw new LogError('corrupt', 'it is a task of a kind that this version does not know');
  const task = fromWireTransfer(transfer, alone);
  return isNewsOfClose(task) ? { ...task, outcome: outcomeFromMessage(task, outcome) } : task;
}

/** An id that a task shares with its record is left out there: this one has none, and no event that would say anything of the task. */
function recordOfNothing(namespaceId: string, workflowId: string): TaskRecord {
  return { namespaceId, workflowId, runId: '', runs: [] };
}

const closeKinds: NumberOf<CloseOutcome['kind']> = {
  completed: state.CloseKind.COMPLETED,
  failed: state.CloseKind.FAILED,
  canceled: state.CloseKind.CANCELED,
  timedOut: state.CloseKind.TIMED_OUT,
  terminated: state.CloseKind.TERMINATED,
};

function outcomeToMessage(outcome: CloseOutcome): state.CloseOutcome {
  return { ...closeFields(outcome), kind: closeKinds[outcome.kind] };
}

function outcomeFromMessage({ taskId }: Pick<PendingTransfer, 'taskId'>, message: state.CloseOutcome | undefined): CloseOutcome {
  const { kind: number = 0, value, retryState = 0 } = message ?? {};
  const kind = wordOf(closeKinds, number);
  if (kind !== undefined) return closeOf({ kind, value, retryState });
  throw new LogError('corrupt', `the news of task ${taskId} come of a close of the unknown kind ${number}`);
}
