/**
 * A run that the shard cannot go on with: one of its own commands for it (a timer, an outbox answer) cannot be decided, however often it
 * is tried. The run is put aside, so that its shard goes on:
 *
 *     timers, transfers ──runPutAside──▶ aside ──runTakenBack──▶ timers, transfers
 *                                          ▲
 *               tasks of later records ────┘
 *
 * It stays readable, and callers and workers that hold a task of it may go on: what they do is decided as ever, only the tasks that follow
 * wait aside too. When it closes (`terminate` is the way out) it is taken back, so that its parent hears of it and its retention ends.
 * Nothing is lost meanwhile; retention is never put aside, unless it is what fails.
 */
import type { PutAside } from '../commands.ts';
import type { Draft } from '../draft.ts';
import type { HistoryReply } from '../replies.ts';
import type { ShardState } from '../state.ts';
import { isTimer, type PendingTask } from '../tasks.ts';

/** Characters of the reason that is kept and shown. */
const reasonCharsMax = 1000;

export function putAside(draft: Draft, command: PutAside): HistoryReply {
  const run = draft.shard.runs.get(command.key.runId);
  if (run === undefined || draft.shard.aside.has(run.key.runId)) return { kind: 'done' };
  const { failedCommand, taskId } = command;
  draft.open(run).addShardFact({ kind: 'runPutAside', failedCommand, taskId, reason: command.reason.slice(0, reasonCharsMax) });
  return { kind: 'done' };
}

export type PutAsideFact = { readonly failedCommand: string; readonly taskId: number; readonly reason: string };

export function evolvePutAside(shard: ShardState, runId: string, { failedCommand, taskId, reason }: PutAsideFact, timeMs: number): void {
  shard.aside.set(runId, { failedCommand, reason, timeMs });
  for (const task of [...shard.transfers.values(), ...shard.timers.values()]) {
    if (task.key.runId !== runId || (task.kind === 'retention' && task.taskId !== taskId)) continue;
    shard.tasksAside.set(task.taskId, task);
    if (isTimer(task)) shard.timers.remove(task.taskId);
    else shard.transfers.delete(task.taskId);
  }
}

/** Its tasks wait in the queues again. */
export function evolveTakenBack(shard: ShardState, runId: string): void {
  if (!shard.aside.delete(runId)) return;
  for (const task of shard.tasksAside.values()) {
    if (task.key.runId !== runId) continue;
    shard.tasksAside.delete(task.taskId);
    if (isTimer(task)) shard.timers.add(task);
    else shard.transfers.set(task.taskId, task);
  }
}

/** Retention is over: what waited aside goes with the run. */
export function forgetAside(shard: ShardState, runId: string): void {
  if (!shard.aside.delete(runId)) return;
  shard.undelivered.delete(runId);
  for (const task of shard.tasksAside.values()) if (task.key.runId === runId) shard.tasksAside.delete(task.taskId);
}

/** True: a task that a record makes now waits aside. */
export function waitsAside(shard: ShardState, task: PendingTask): boolean {
  return shard.aside.size > 0 && task.kind !== 'retention' && shard.aside.has(task.key.runId);
}
