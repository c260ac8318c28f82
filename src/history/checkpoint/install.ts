/** A shard out of the rows that checkpoints have written. */
import { assert } from '../../kernel/assert.ts';
import type { UnreadTask } from '../residency/residency.ts';
import type { Shard } from '../shard.ts';
import { LetterMarks } from '../redrive/letter-marks.ts';
import { type AsideRun, childStartKey, isRunning, type Run, type RunView } from '../state.ts';
import { isDispatch, isTimer, type PendingTransfer, type TimerTask } from '../tasks.ts';
import { timersOf } from '../timer/timers-of.ts';
import type { ShardCounters, ShardRows, StoredRun, TaskRow, TransferTaskRow } from './rows.ts';
import type { EventsLeftOut, StateWire } from './state-wire.ts';

type DecodedRun = { readonly run: Run; readonly aside: AsideRun | undefined };

/** Into an empty shard, with a pause after each row: it equals the one that was folded up to where the rows go. */
export function* install(shard: Shard, rows: ShardRows, { counters, timeMs }: ShardCounters, wire: StateWire): Generator<undefined, void> {
  assert(shard.taskIdLast === 0 && shard.runs.size === 0, 'rows are installed into an empty shard');
  const { taskIdLast, runs, runsBehind, handOvers, letterMarks, laterTasks, laterRuns, preparedRuns, answeredRequests } =
    wire.decodeCounters(counters);
  shard.taskIdLast = taskIdLast;
  shard.runCount = runs;
  for (const run of runsBehind) shard.residency?.behind.install(run);
  if (handOvers !== undefined) shard.installHandOvers(handOvers);
  if (letterMarks !== undefined) shard.letterMarks = new LetterMarks(letterMarks);
  shard.hasLaterTasks = laterTasks;
  shard.hasLaterRuns = laterRuns;
  shard.hasPreparedRuns = preparedRuns;
  shard.hasAnsweredRequests = answeredRequests;
  shard.timeMs = timeMs;
  for (const row of rows.runs) {
    installRun(shard, row, wire);
    shard.residency?.keys.add(row);
    yield;
  }
  for (const { runId } of rows.currentRuns) {
    const run = shard.runs.get(runId);
    if (run !== undefined) shard.installCurrentRun(run);
  }
  for (const row of rows.transferTasks) {
    orUnread(shard, row, 'transferTask', () => installTransfer(shard, row, wire));
    yield;
  }
  for (const row of rows.timers) {
    orUnread(shard, row, 'timer', () => installTimer(shard, row, wire));
    yield;
  }
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
  if (aside !== undefined) installAside(shard, run, aside);
  const taskId = run.retentionTaskId;
  // 0: it was prepared, and has become the current run since the row was written.
  if (row.forgetMs === undefined || taskId === 0 || shard.timers.get(taskId) !== undefined) return;
  shard.installTask({ kind: 'retention', taskId, fireTimeMs: row.forgetMs, key: run.key }, false);
}

export function installTimer(shard: Shard, { taskId, task: bytes, aside }: TaskRow, wire: StateWire): void {
  const task = wire.decodeTask(bytes);
  assert(task.taskId === taskId && isTimer(task), `the row of timer ${taskId} holds ${task.kind} ${task.taskId}`);
  shard.installTask(task, aside || waitsAside(shard, task));
}

/** Whatever its row says: it was in the table alone when its run was put aside. */
function waitsAside({ aside, runs }: Shard, { taskId, key }: TimerTask): boolean {
  const run = aside.size > 0 && aside.has(key.runId) ? runs.get(key.runId) : undefined;
  if (run === undefined) return false;
  for (const timerId of timersOf(run)) if (timerId === taskId) return true;
  return false;
}

/** Its tasks may have been in the table alone when it was put aside, and have come here since: they are not to run. */
function installAside(shard: Shard, run: RunView, aside: AsideRun): void {
  shard.installAside(run.key.runId, aside);
  for (const taskId of timersOf(run)) {
    const timer = shard.timers.get(taskId);
    if (timer !== undefined) shard.keepTaskAside(timer);
  }
  for (const task of shard.transfers.values()) if (task.key.runId === run.key.runId) shard.keepTaskAside(task);
}

/** One that cannot be read is the trouble of its workflow alone. */
function orUnread(shard: Shard, { taskId }: TaskRow, kind: UnreadTask['kind'], install: () => void): void {
  try {
    install();
  } catch (error) {
    shard.leaveTaskUnread({ taskId, kind, error });
  }
}

export function installTransfer(
  shard: Shard,
  { taskId, task: bytes, aside, atMatching }: TransferTaskRow,
  wire: StateWire,
): PendingTransfer {
  const decoded = wire.decodeTask(bytes);
  assert(decoded.taskId === taskId && !isTimer(decoded), `the row of transfer task ${taskId} holds ${decoded.kind} ${decoded.taskId}`);
  const task = atMatching && isDispatch(decoded) ? ({ ...decoded, atMatching: true } as const) : decoded;
  // Whatever its row says, likewise; of a deleted run nothing waits aside.
  shard.installTask(task, aside || shard.aside.has(task.key.runId));
  return task;
}

function bytesOf(events: EventsLeftOut | undefined): number {
  let bytes = 0;
  for (const event of events?.values() ?? []) bytes += event.length;
  return bytes;
}
