/**
 * A run that the shard cannot go on with: one of its own commands for it (a timer, an outbox answer) cannot be decided, however often it
 * is tried. The run is put aside, so that its shard goes on:
 *
 *     timers, transfers ──runPutAside──▶ aside ──runTakenBack──▶ timers, transfers
 *                                          ▲
 *               tasks of later records ────┘
 *
 * The run stays readable, and callers and workers that hold one of its tasks may go on: what they do is decided as ever, only the tasks that follow
 * wait aside too. When it closes (`terminate` is the way out) it is taken back, so that its parent hears of it and its retention ends.
 * Nothing is lost meanwhile; retention is never put aside, unless it is what fails.
 */
import type { PutAside } from '../commands/history-commands.ts';
import type { Draft } from '../draft/draft.ts';
import { findRun } from '../run/reject.ts';
import type { HistoryReply } from '../run/history-replies.ts';

const reasonCharsMax = 1000;

export function putAside(draft: Draft, command: PutAside): HistoryReply {
  const run = findRun(draft.shard, command.key);
  if (run === undefined || draft.shard.aside.has(run.key.runId)) return { kind: 'done' };
  const { failedCommand, taskId } = command;
  draft.open(run).addShardFact({ kind: 'runPutAside', failedCommand, taskId, reason: command.reason.slice(0, reasonCharsMax) });
  return { kind: 'done' };
}
