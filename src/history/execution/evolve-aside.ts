/**
 * The tasks of a run that is put aside, between the shard's queues and `tasksAside` (put-aside.ts says why a run is).
 */
import type { ShardState } from '../state.ts';
import { isTimer, type PendingTask } from '../tasks.ts';

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

/** The run's tasks go back into the queues. */
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
