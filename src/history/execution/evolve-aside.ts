/**
 * The tasks of a run that is put aside, between the shard's queues and `tasksAside` (put-aside.ts says why a run is).
 */
import type { Shard } from '../shard.ts';
import type { Run } from '../state.ts';
import { timersOf } from '../timer/timers-of.ts';

export type PutAsideFact = { readonly failedCommand: string; readonly taskId: number; readonly reason: string };

export function evolvePutAside(shard: Shard, run: Run, { failedCommand, taskId, reason }: PutAsideFact, timeMs: number): void {
  const { runId } = run.key;
  shard.putAside(run, { failedCommand, reason, timeMs });
  for (const task of shard.transfers.values()) if (task.key.runId === runId) shard.putTaskAside(task);
  for (const timerId of timersOf(run)) putTimerAside(shard, timerId);
  if (shard.timers.get(taskId)?.key.runId === runId) putTimerAside(shard, taskId);
}

function putTimerAside(shard: Shard, taskId: number): void {
  const timer = shard.timers.get(taskId);
  if (timer !== undefined) shard.putTaskAside(timer);
}

/** The run's tasks go back into the queues. */
export function evolveTakenBack(shard: Shard, run: Run): void {
  if (!shard.takeBack(run)) return;
  const { runId } = run.key;
  for (const task of shard.tasksAside.values()) if (task.key.runId === runId) shard.takeTaskBack(task);
}
