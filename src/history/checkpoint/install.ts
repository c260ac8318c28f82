/** A shard out of the rows that checkpoints have written. */
import { assert } from '../../kernel/assert.ts';
import type { Shard } from '../shard.ts';
import { type AsideRun, childStartKey, isRunning, type Run } from '../state.ts';
import type { ShardCounters, ShardRows, StoredRun, TaskRow } from './rows.ts';
import type { EventsLeftOut, StateWire } from './state-wire.ts';

type DecodedRun = { readonly run: Run; readonly aside: AsideRun | undefined };

/** Into an empty shard: it equals the one that was folded up to where the rows go. */
export function install(shard: Shard, rows: ShardRows, { counters, timeMs }: ShardCounters, wire: StateWire): void {
  assert(shard.taskIdLast === 0 && shard.runs.size === 0, 'rows are installed into an empty shard');
  const { taskIdLast, runs, runsBehind } = wire.decodeCounters(counters);
  shard.taskIdLast = taskIdLast;
  shard.runCount = runs;
  for (const run of runsBehind) shard.residency?.behind.install(run);
  shard.timeMs = timeMs;
  for (const row of rows.runs) {
    installRun(shard, row, wire);
    shard.residency?.keys.add(row);
  }
  for (const { runId } of rows.currentRuns) {
    const run = shard.runs.get(runId);
    if (run !== undefined) shard.installCurrentRun(run);
  }
  for (const row of rows.transferTasks) installTask(shard, row, wire);
  for (const row of rows.timers) installTask(shard, row, wire);
  shard.changes?.installed();
}

/** Nothing is installed when the row cannot be read, and throws. */
export function installRun(shard: Shard, row: StoredRun, wire: StateWire): void {
  installDecoded(shard, row, decodeRow(row, wire));
}

export function decodeRow(row: StoredRun, wire: StateWire): DecodedRun {
  const decoded = wire.decodeRun(row.state, row.events);
  const { namespaceId, workflowId, runId } = decoded.run.key;
  const isItsOwn = runId === row.runId && workflowId === row.workflowId && namespaceId === row.namespaceId;
  assert(isItsOwn, `the row of run ${row.runId} of ${row.workflowId} holds run ${runId} of ${workflowId}`);
  return decoded;
}

/** With what its row stands for beside it: the start of a child, the end of a retention. Its other tasks have rows of their own. */
export function installDecoded(shard: Shard, row: StoredRun, { run, aside }: DecodedRun): void {
  shard.installRun(run);
  shard.residency?.hot.sized(row.runId, row.state.length + bytesOf(row.events), !isRunning(run));
  const { parent, firstRunId } = run.start;
  if (parent !== undefined && firstRunId === row.runId) shard.installChildStart(childStartKey(parent), row.runId);
  if (aside !== undefined) shard.installAside(row.runId, aside);
  const taskId = run.retentionTaskId;
  if (row.forgetMs === undefined || shard.timers.get(taskId) !== undefined) return;
  shard.installTask({ kind: 'retention', taskId, fireTimeMs: row.forgetMs, key: run.key }, false);
}

function installTask(shard: Shard, { taskId, task: bytes, aside }: TaskRow, wire: StateWire): void {
  const task = wire.decodeTask(bytes);
  assert(task.taskId === taskId, `the row of task ${taskId} holds task ${task.taskId}`);
  shard.installTask(task, aside);
}

function bytesOf(events: EventsLeftOut | undefined): number {
  let bytes = 0;
  for (const event of events?.values() ?? []) bytes += event.length;
  return bytes;
}
