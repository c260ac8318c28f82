/**
 * Deletes a run with its history, at once and in one record:
 *
 *     open ──terminated: its parent and its children are told──▶ closed ──forgotten──▶ nowhere
 *                                       └ those messages stay behind, with what they say of the run (`Sender`)
 *
 * One whose row is damaged goes by its ids alone, and others hear nothing of it. An open one is terminated first, as in Temporal.
 */
import type { DeleteWorkflow } from '../commands/history-commands.ts';
import type { Draft } from '../draft/draft.ts';
import { findAnyRun, findRun, workflowNotFound } from '../run/reject.ts';
import { type HistoryReply, done } from '../run/history-replies.ts';
import { forgetSchedule } from '../steps/end-of-run.ts';
import { isOf, isRunning } from '../run/state.ts';
import { terminateByServer } from '../steps/close.ts';

export function deleteWorkflow(draft: Draft, command: DeleteWorkflow): HistoryReply {
  const { shard } = draft;
  if (draft.retiresUnread(command.key)) return { kind: 'done' };
  const run = command.isPurge === true ? findAnyRun(shard, command.key) : findRun(shard, command.key);
  // Its row is gone, and records wait for it.
  if (run === undefined && !shard.isBehind(command.key.runId)) return workflowNotFound(command.key);
  if (run === undefined || run.preparation !== undefined) {
    const { namespaceId, workflowId, runId } = command.key;
    draft.retire(run?.key ?? { namespaceId, workflowId, runId });
    return done;
  }
  const deleting = draft.open(run);
  if (isOf('schedule', run)) {
    forgetSchedule(deleting, run.own);
    return { kind: 'done' };
  }
  if (isRunning(run)) terminateByServer(deleting, 'Delete workflow execution');
  // Its messages may have been what failed: they are tried again, for nobody can tell the shard to any more.
  else if (shard.aside.has(run.key.runId)) deleting.addShardFact({ kind: 'runTakenBack' });
  deleting.finishTask(deleting.run.retentionTaskId);
  deleting.forget();
  return { kind: 'done' };
}
