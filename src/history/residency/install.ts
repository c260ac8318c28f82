/** A shard out of the rows that checkpoints have written. */
import { assert } from '../../kernel/assert.ts';
import { type UnreadTask, childStartName, currentName, type LoadKey, runName } from '../shard/residency.ts';
import { Shard } from '../shard/shard.ts';
import { LetterMarks } from '../run/letter-marks.ts';
import { type AsideRun, childStartKey, isRunning, type Run, type RunView } from '../run/state.ts';
import { isDispatch, isTimer, type PendingTransfer, type TimerTask, type PendingTask } from '../run/tasks.ts';
import { timersOf } from '../run/timers-of.ts';
import type { ShardCounters, ShardRows, StoredRun, TaskRow, TransferTaskRow } from '../shard/rows.ts';
import type { EventsLeftOut, StateWire } from '../shard/state-wire.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryWire } from '../run/history-replies.ts';
import { evolve } from '../evolve/evolve.ts';
import type { HistoryRecord } from '../run/record.ts';

type DecodedRun = { readonly run: Run; readonly aside: AsideRun | undefined };

/** Into an empty shard, with a pause after each row: it equals the one that was folded up to where the rows go. */
export function* install(shard: Shard, rows: ShardRows, { counters, timeMs }: ShardCounters, wire: StateWire): Generator<undefined, void> {
  assert(shard.taskIdLast === 0 && shard.runs.size === 0, 'rows are installed into an empty shard');
  const { taskIdLast, runs, runsBehind, handOvers, letterMarks } = wire.decodeCounters(counters);
  shard.taskIdLast = taskIdLast;
  shard.runCount = runs;
  for (const run of runsBehind) shard.residency?.behind.install(run);
  if (handOvers !== undefined) shard.installHandOvers(handOvers);
  if (letterMarks !== undefined) shard.letterMarks = new LetterMarks(letterMarks);
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

function decodeRow(row: StoredRun, wire: StateWire): DecodedRun {
  const decoded = wire.decodeRun(row.state, row.events);
  const { namespaceId, workflowId, runId } = decoded.run.key;
  const isItsOwn = runId === row.runId && workflowId === row.workflowId && namespaceId === row.namespaceId;
  assert(isItsOwn, `the row of run ${row.runId} of ${row.workflowId} holds run ${runId} of ${workflowId}`);
  return decoded;
}

/** Installs what the row of a run stands for beside it: the start of a child, the end of a retention. Other tasks have rows of their own. */
function installDecoded(shard: Shard, row: StoredRun, { run, aside }: DecodedRun): void {
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

/** The tasks of a run may have been in the table alone when it was put aside, and have come here since: they are not to run. */
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
    shard.residency?.unread.set(taskId, { taskId, kind, error });
  }
}

export function installTransfer(shard: Shard, row: TransferTaskRow, wire: StateWire): PendingTransfer {
  const { taskId, aside, atMatching } = row;
  const decoded = wire.decodeTask(row.task);
  assert(decoded.taskId === taskId && !isTimer(decoded), `the row of transfer task ${taskId} holds ${decoded.kind} ${decoded.taskId}`);
  const task = atMatching && isDispatch(decoded) ? ({ ...decoded, atMatching: true } as const) : decoded;
  // It waits aside if its run does, whatever its row says; of a deleted run nothing waits aside.
  shard.installTask(task, aside || shard.aside.has(task.key.runId));
  return task;
}

function bytesOf(events: EventsLeftOut | undefined): number {
  let bytes = 0;
  for (const event of events?.values() ?? []) bytes += event.length;
  return bytes;
}

// ── Rows that were asked for ──────────────────────────────────────────────────────────────────────────────────────────────────

/** The answer to one key. What is in memory is as new as its row or newer, and stays. */
export type Loaded = {
  readonly key: LoadKey;
  /** What the load found: for `current` and `run` the newest run of the workflow id; for a child start the run that was made. undefined: none. */
  readonly currentRunId: string | undefined;
  /** Of `run` the one that the key names, of `current` that one; undefined: none. Where the id above is missing beside it, neither can be read. */
  readonly run: StoredRun | undefined;
};

type Wires = { readonly wire: HistoryWire; readonly stateWire: StateWire };

export function installLoaded(shard: Shard, { key, currentRunId, run }: Loaded, wires: Wires): void {
  switch (key.kind) {
    case 'run':
      if (!shard.isRunCold(key)) return;
      if (run === undefined || !installRow(shard, run, wires)) return shard.residency?.absent(runName(key));
      // It is likely to be asked for as the newest one too.
      if (currentRunId === key.runId && shard.isCurrentCold(key)) installPointer(shard, key);
      return;
    case 'current': {
      if (!shard.isCurrentCold(key)) return;
      if (currentRunId === undefined && run !== undefined) decodeRow(run, wires.stateWire);
      if (currentRunId === undefined) return shard.residency?.absent(currentName(key));
      const isThere = shard.runs.has(currentRunId) || (run !== undefined && installRow(shard, run, wires));
      if (!isThere) return shard.residency?.absent(currentName(key));
      return installPointer(shard, { ...key, runId: currentRunId });
    }
    case 'childStart': {
      const startedBy = { runId: key.parentRunId, initiatedEventId: key.initiatedEventId };
      if (shard.childStarts.has(childStartKey(startedBy))) return;
      // Its row cannot be read: this says why.
      if (run !== undefined) decodeRow(run, wires.stateWire);
      if (currentRunId === undefined || shard.isRetired(currentRunId)) return shard.residency?.absent(childStartName(startedBy));
      return shard.installChildStart(childStartKey(startedBy), currentRunId);
    }
  }
}

function installPointer(shard: Shard, { namespaceId, workflowId, runId }: RunKey): void {
  const run = shard.runs.get(runId);
  assert(run?.key.workflowId === workflowId && run.key.namespaceId === namespaceId, `run ${runId} is the newest of another workflow id`);
  shard.installCurrentRun(run);
}

/** False: it has ended for good, its row is not deleted yet. */
function installRow(shard: Shard, row: StoredRun, wires: Wires): boolean {
  if (shard.isRetired(row.runId)) return false;
  assert(!shard.runs.has(row.runId), 'no row takes the place of a run');
  const decoded = decodeRow(row, wires.stateWire);
  shard.residency?.noLongerUnread(row);
  if (shard.isBehind(row.runId)) comeBack(shard, row, decoded, wires.wire);
  else installDecoded(shard, row, decoded);
  return true;
}

function comeBack(shard: Shard, row: StoredRun, { run, aside }: ReturnType<typeof decodeRow>, wire: HistoryWire): void {
  const wasPrepared = run.preparation !== undefined;
  const caughtUp = catchUp(run, aside, shard.residency?.behind.recordsOf(row.runId) ?? [], wire);
  installDecoded(shard, row, { run, aside: caughtUp.aside });
  shard.comesBack(run, caughtUp.retention);
  if (wasPrepared && run.preparation === undefined) shard.makeCurrent(run);
}

// ── A row that could not be read, and can be now ──────────────────────────────────────────────────────────────────────────────

type CaughtUp = {
  readonly aside: AsideRun | undefined;
  /** The end of its retention, if one of the records has closed it. */
  readonly retention: PendingTask | undefined;
};

/** In a shard of its own: where the row is not the one from which the records go on (an older backup), the real one must not notice. */
function catchUp(run: Run, aside: AsideRun | undefined, records: Iterable<HistoryRecord>, wire: HistoryWire): CaughtUp {
  const { runId } = run.key;
  const alone = new Shard();
  alone.installRun(run);
  if (aside !== undefined) alone.installAside(runId, aside);
  for (const record of records) evolve(alone, partOf(record, runId), wire);
  return { aside: alone.aside.get(runId), retention: alone.timers.get(run.retentionTaskId) ?? alone.tasksAside.get(run.retentionTaskId) };
}

function partOf(record: HistoryRecord, runId: string): HistoryRecord {
  const runs = record.runs.filter((change) => change.runId === runId);
  const tasks = record.tasks.filter(({ key }) => key.runId === runId);
  const lettersBegun = record.lettersBegun?.filter(({ task }) => task.key.runId === runId) ?? [];
  return { ...record, runs, tasks, lettersBegun, retiredRuns: [] };
}
