/**
 * Deletes a run with its history, at once and in one record:
 *
 *     open ──terminated: its parent and its children are told──▶ closed ──forgotten──▶ nowhere
 *                                       └ those messages stay behind, with what they say of the run (`Sender`)
 *
 * One whose row is damaged goes by its ids alone: what it owes to others is not known, and they hear nothing of it.
 *
 * As in Temporal an open run is terminated first, for the reason that clients know.
 */
import type { RunKey } from '../../kernel/run-key.ts';
import type { DeleteWorkflow } from '../commands.ts';
import type { Draft } from '../draft.ts';
import { findAnyRun, findRun, workflowNotFound } from '../reject.ts';
import type { HistoryReply } from '../replies.ts';
import { forgetSchedule } from '../schedule/schedule-decisions.ts';
import { isRunning } from '../state.ts';
import { terminateByServer } from './close.ts';

export function deleteWorkflow(draft: Draft, command: DeleteWorkflow): HistoryReply {
  const { shard } = draft;
  const unread = shard.runToDeleteUnread(command.key);
  if (unread !== undefined) return deleteUnread(draft, unread);
  const run = command.isPurge === true ? findAnyRun(shard, command.key) : findRun(shard, command.key);
  // Its row is gone, and records wait for it.
  if (run === undefined && shard.isBehind(command.key.runId)) return deleteUnread(draft, command.key);
  if (run === undefined) return workflowNotFound(command.key);
  if (run.preparation !== undefined) {
    draft.retire(run.key);
    return { kind: 'done' };
  }
  const deleting = draft.open(run);
  if (run.schedule !== undefined) {
    forgetSchedule(deleting, run.schedule);
    return { kind: 'done' };
  }
  if (isRunning(run)) terminateByServer(deleting, 'Delete workflow execution');
  // Its messages may have been what failed: they are tried again, for nobody can tell the shard to any more.
  else if (shard.aside.has(run.key.runId)) deleting.addShardFact({ kind: 'runTakenBack' });
  deleting.finishTask(deleting.run.retentionTaskId);
  deleting.forget();
  return { kind: 'done' };
}

function deleteUnread(draft: Draft, { namespaceId, workflowId, runId }: RunKey): HistoryReply {
  draft.retire({ namespaceId, workflowId, runId });
  return { kind: 'done' };
}
