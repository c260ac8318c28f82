/**
 * The tasks of a run that is put aside, between the shard's queues and `tasksAside` (put-aside.ts says why a run is).
 */
import type { Run, ShardState } from '../state.ts';
import { timersOf } from '../timer/timers-of.ts';
import { isTimer, type PendingTask } from '../tasks.ts';

export type PutAsideFact = { readonly failedCommand: string; readonly taskId: number; readonly reason: string };

export function evolvePutAside(shard: ShardState, run: Run, { failedCommand, taskId, reason }: PutAsideFact, timeMs: number): void {
  const { runId } = run.key;
  shard.aside.set(runId, { failedCommand, reason, timeMs });
  for (const task of shard.transfers.values()) {
    if (task.key.runId !== runId) continue;
    shard.transfers.delete(task.taskId);
    shard.tasksAside.set(task.taskId, task);
  }
  for (const timerId of timersOf(run)) putTimerAside(shard, timerId);
  if (shard.timers.get(taskId)?.key.runId === runId) putTimerAside(shard, taskId);
}

function putTimerAside(shard: ShardState, taskId: number): void {
  const timer = shard.timers.get(taskId);
  if (timer === undefined) return;
  shard.timers.remove(taskId);
  shard.tasksAside.set(taskId, timer);
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
