/** A start with an update: a workflow begins, or is found, and has the update. */
import { startReply, startWorkflow } from './execution/start.ts';
import type { RoomForRuns, StartAndUpdate } from './commands/history-commands.ts';
import type { Draft } from './draft/draft.ts';
import { idConflictPolicy } from './generated/enums.ts';
import { findRun, workflowNotFound } from './run/reject.ts';
import type { HistoryReply } from './run/history-replies.ts';
import { isRunning, type RunView } from './run/state.ts';
import { admit, isKnown, join } from './update/admit-update.ts';

/** Start and update happen both or not at all: a start that finds its update refused has made no run. */
export function startAndUpdate(draft: Draft, { start, update, noRoom }: StartAndUpdate & RoomForRuns): HistoryReply | undefined {
  const current = findRun(draft.shard, { ...start.key, runId: '' });
  if (current !== undefined && isKnown(draft, current, update.updateId) && !isLost(current, update.updateId)) {
    return join(draft, current, update, startReply(current, false));
  }
  const started = startWorkflow(draft, { ...start, noRoom }, { withUpdate: true });
  if (started.kind === 'rejected') return { kind: 'startRefused', rejection: started.rejection };
  if (started.kind !== 'started') return started;
  const run = draft.runs.find(({ run: { key } }) => key.runId === started.runId)?.run ?? findRun(draft.shard, { ...start.key, ...started });
  if (run === undefined) return workflowNotFound(start.key);
  // Asked again, and its run has gone on as another one: that is the one that is open. An update that is over has its end where it was.
  const isElsewhere = !isRunning(run) && current !== undefined && isRunning(current);
  const isOver = (run.updates.get(update.updateId)?.completedEventId ?? 0) !== 0;
  const usesOpen = isElsewhere && !isOver && start.policies.conflictPolicy === idConflictPolicy.useExisting;
  const reply = usesOpen ? admit(draft, current, update, startReply(current, false)) : admit(draft, run, update, started);
  if (reply?.kind === 'rejected') draft.discard();
  return reply;
}

/** The run has closed before the update was completed: another run may begin, with another update of the same id. */
function isLost(run: RunView, updateId: string): boolean {
  return !isRunning(run) && run.updates.get(updateId)?.completedEventId === 0;
}
