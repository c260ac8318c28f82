/** A record larger than the journal takes: as in Temporal the run ends, for no later attempt could write it either. Callers are refused. */
import { finishStartChild } from './child/child-outcomes.ts';
import { terminateByServer } from './steps/close.ts';
import type { FinishOutboxTask } from './commands/history-commands.ts';
import type { Draft } from './draft/draft.ts';
import { findRun, rejectInvalid } from './run/reject.ts';
import type { HistoryReply } from './run/history-replies.ts';
import { isOf, isRunning } from './run/state.ts';
import type { FireTimer } from './commands/task-commands.ts';
import type { RunKey } from '../kernel/run-key.ts';

const reason = 'Transaction size exceeds limit.';

/** The answer to what a worker asks of a task that it has, or wants. */
export function endedBefore(draft: Draft, key: RunKey | undefined): HistoryReply | undefined {
  return endRun(draft, key) ? rejectInvalid(reason) : undefined;
}

export function doneBefore(draft: Draft, key: RunKey | undefined): HistoryReply | undefined {
  return endRun(draft, key) ? { kind: 'done' } : undefined;
}

export function timerEnds(draft: Draft, key: RunKey | undefined, { taskId }: FireTimer): HistoryReply | undefined {
  if (!endRun(draft, key)) return undefined;
  draft.finishTask(taskId);
  return { kind: 'done' };
}

export function outboxTaskEnds(draft: Draft, key: RunKey | undefined, { taskId, outcome }: FinishOutboxTask): HistoryReply | undefined {
  const task = draft.shard.transfers.get(taskId);
  const run = key === undefined ? undefined : findRun(draft.shard, key);
  if (task === undefined || run === undefined || !endRun(draft, key)) return undefined;
  draft.finishTask(taskId);
  if (task.kind === 'startChild') finishStartChild(draft.open(run), task, outcome);
  return { kind: 'done' };
}

function endRun(draft: Draft, key: RunKey | undefined): boolean {
  const run = key === undefined ? undefined : findRun(draft.shard, key);
  if (!isOf('workflow', run) || !isRunning(run)) return false;
  terminateByServer(draft.open(run), reason);
  return true;
}
