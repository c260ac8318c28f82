/** Promises of the history core that no fault of a log puts to the test: plain functions that throw, for the planted bugs as well. */
import assert from 'node:assert/strict';
import { defaultCheckpointLimits } from '../../src/projections/checkpoints/checkpoint-limits.ts';
import { CheckpointSchedule } from '../../src/projections/checkpoints/checkpoint-schedule.ts';
import { Checkpointer } from '../../src/projections/checkpoints/checkpointer.ts';
import { inOneLane } from '../../src/projections/checkpoints/one-lane.ts';
import type { HistoryDelta } from '../../src/projections/database-port.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { turns } from '../support/event-loop.ts';
import { HandClock } from '../support/hand-clock.ts';
import { MemoryDatabase, MemoryTables } from '../support/memory-database.ts';
import { sqliteDatabase } from '../../src/projections/sqlite/sqlite-database.ts';
import { ShardTable } from '../../src/projections/checkpoints/shard-table.ts';
import { LoopTurns } from '../../src/ports/loop-turns.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { TransferWindow } from '../../src/history/residency/transfer-window.ts';
import { RowPages } from '../../src/actors/history/durable/row-pages.ts';
import { VisibilityRows } from '../../src/projections/list/visibility-rows.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import type { StateWire } from '../../src/history/shard/state-wire.ts';
import { defaultTimerWindowLimits } from '../../src/history/residency/timer-window.ts';
import type { TimerPage } from '../../src/history/shard/rows.ts';
import { askOf } from '../../src/kernel/handled.ts';
import { emptyDelta, positionAt, runRow, uuid } from '../contract/database/samples.ts';
import { Checkpoints } from '../history/checkpointed-shard.ts';
import { stateCodec } from '../../src/codec/state-codec.ts';
import {
  activityRef,
  bytes,
  cancelTimer,
  completeWorkflow,
  key,
  namespaceId,
  scheduleActivity,
  ShardUnderTest,
  startChild,
  startTimer,
  deleteWorkflow,
  terminateWorkflow,
  updateWorkflow,
} from '../history/shard-under-test.ts';

/** A shard is cut, captured and written while it goes on, and comes back out of its rows. */
export function rowsAreTheStateAtTheCut(): void {
  const shard = unwatched(stateCodec);
  const checkpoints = new Checkpoints(shard);
  // A run that stays in the table while its successor has the workflow id, until its retention ends.
  shard.start({ retentionMs: 1000 });
  shard.ask(terminateWorkflow());
  const runId = shard.start();
  shard.start({ key: { namespaceId, workflowId: 'other', runId: '' } });
  checkpoints.cut();
  checkpoints.capture(1);
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity(), startTimer('t1', 60_000)]);
  checkpoints.capture(Infinity);
  checkpoints.write('written');
  shard.completeActivity(shard.pollActivityTask());
  checkpoints.cut();
  shard.advance(1000);
  shard.fireDueTimers();
  checkpoints.capture(Infinity);
  checkpoints.write('failed');
  shard.signal();
  checkpoints.write('lost');
  checkpoints.write('written');
  assert.equal(shard.describe().key.runId, runId, 'the successor keeps the workflow id');
  checkpoints.finish();
}

/** What has changed since its row was written stays, also while that is on its way. */
export function unwrittenStaysInMemory(): void {
  const shard = unwatched(stateCodec);
  const checkpoints = new Checkpoints(shard);
  const runId = shard.start();
  checkpoints.finish();
  shard.signal();
  assert.equal(shard.core.evict(runId), false, 'its row is not what it is');
  checkpoints.cut();
  checkpoints.capture(Infinity);
  assert.equal(shard.core.evict(runId), false, 'its row is on its way');
  checkpoints.write('written');
  assert.equal(shard.core.evict(runId), true);
}

/** What was read before runs were deleted may be one of them. */
export function deletedRunsStayDeleted(): void {
  const shard = unwatched(stateCodec);
  const checkpoints = new Checkpoints(shard);
  shard.start({ retentionMs: 1000 });
  shard.ask(terminateWorkflow());
  writeAll(checkpoints);
  const begunAt = shard.core.beginLoad();
  const loaded = checkpoints.table.load(checkpoints.table.keys);
  shard.advance(1000);
  shard.fireDueTimers();
  writeAll(checkpoints);
  assert.equal(shard.core.installLoaded(loaded, begunAt), false, 'it has to be read again');
}

const narrowWindow = { ...defaultTimerWindowLimits, aheadMsMax: 60_000 };

/** A shard with one workflow that waits on a timer; its window reaches a minute ahead. */
function sleeper(timerMs: number): { readonly shard: ShardUnderTest; readonly checkpoints: Checkpoints } {
  const shard = unwatched(stateCodec);
  const checkpoints = new Checkpoints(shard);
  shard.core.timerWindow.opens(narrowWindow);
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t1', timerMs)]);
  return { shard, checkpoints };
}

function leave({ core, nowMs }: ShardUnderTest): void {
  for (const _look of core.timerWindow.leave(() => nowMs));
}

function readWindow({ core, nowMs }: ShardUnderTest, { table }: Checkpoints): void {
  const { timerWindow } = core;
  const rows = table.timers(timerWindow.begin(nowMs));
  for (const row of rows) timerWindow.install(row);
  timerWindow.end(rows, nowMs);
}

/** A timer of next hour stays until its row is written, and comes back when its time is near. */
export function farTimersComeBack(): void {
  const { shard, checkpoints } = sleeper(3_600_000);
  checkpoints.cut();
  checkpoints.capture(Infinity);
  checkpoints.write('failed');
  leave(shard);
  shard.advance(3_570_000);
  readWindow(shard, checkpoints);
  shard.advance(30_000);
  shard.fireDueTimers();
  assert.equal(shard.history().includes('timerFired'), true, 'a timer fires whose row was not written');
}

/** A row is written, nobody knows, and a page passes it over because the timer is in memory: there it stays. */
export function whatAPagePassesOverStays(): void {
  const { shard, checkpoints } = sleeper(50_000);
  const { timerWindow } = shard.core;
  checkpoints.cut();
  checkpoints.capture(Infinity);
  checkpoints.write('lost');
  const rows = checkpoints.table.timers(timerWindow.begin(shard.nowMs));
  for (const row of rows) timerWindow.install(row);
  checkpoints.write('written');
  leave(shard);
  timerWindow.end(rows, shard.nowMs);
  shard.advance(50_000);
  shard.fireDueTimers();
  assert.equal(shard.history().includes('timerFired'), true, 'it fires in its time');
}

/** A window is read, and before it is answered the timer is cancelled and its row deleted. */
export async function windowsShareTheLaneOfWrites(): Promise<void> {
  const { shard, checkpoints } = sleeper(50_000);
  const { core } = shard;
  const journal = { kind: 'history', partition: 0 } as const;
  writeAll(checkpoints);
  leave(shard);
  let answer = (): void => {};
  const lane = inOneLane({
    write: () => {
      checkpoints.write('written');
      return Promise.resolve({ kind: 'written' });
    },
    flush: () => Promise.resolve('flushed'),
  });
  const table = new ShardTable<'timers'>({
    journal,
    checkpointer: { fence: 1, written: undefined, isSuperseded: () => Promise.resolve(false) },
    database: {
      timers: async (_journal, page) => {
        const rows = checkpoints.table.timers(page);
        await new Promise<void>((resolve) => (answer = resolve));
        return { fence: 1, nextOffset: 0, rows };
      },
    },
  });
  const pages = new RowPages({
    window: core.timerWindow,
    lane,
    read: (page: TimerPage) => table.read((of, id) => of.timers(id, page)),
    clock: new HandClock(),
    turns: new LoopTurns(new HandClock()),
    nowMs: () => shard.nowMs,
    logger: silentLogger,
    lines: { rowDamaged: '', notRead: '', readAgain: '' },
    onEnded: () => {},
    onFenced: () => {},
  });
  pages.activated();
  await turns();
  shard.signal();
  shard.complete(shard.pollWorkflowTask(), [cancelTimer('t1')]);
  checkpoints.cut();
  checkpoints.capture(Infinity);
  const written = lane.write(journal, 1, { kind: 'history', position: positionAt(1), delta: emptyDelta });
  await turns();
  answer();
  await written;
  // What is installed of a page is, in a slice of its own.
  await turns(4);
  pages.close();
  assert.equal(core.shard.timers.size, 0, 'what has ended does not come back with a window');
}

/** It is cancelled while the table alone has it, and a window is read before that is written, and after. */
export function cancelledTimersStayAway(): void {
  const { shard, checkpoints } = sleeper(50_000);
  writeAll(checkpoints);
  leave(shard);
  shard.signal();
  shard.complete(shard.pollWorkflowTask(), [cancelTimer('t1')]);
  readWindow(shard, checkpoints);
  assert.equal(shard.core.shard.timers.size, 0, 'its row is still there, and counts for nothing');
  writeAll(checkpoints);
  assert.equal(checkpoints.table.size.timers, 0, 'its row goes');
}

/** Seven workflows wait for a worker, in the table alone; two tasks come in a page, and matching has none of them. */
function dispatcher(delivered: readonly number[] = []): {
  readonly shard: ShardUnderTest;
  readonly checkpoints: Checkpoints;
  readonly tasks: readonly number[];
} {
  const shard = unwatched(stateCodec);
  const checkpoints = new Checkpoints(shard);
  windowOf(shard).opens({ tasksMax: 2, tasksLeft: 2, pageRows: 2 });
  for (let n = 0; n < 7; n++) shard.start({ key: { namespaceId, workflowId: `wf-${n}`, runId: '' } });
  const tasks = shard.transfers().map(({ taskId }) => taskId);
  for (const [n, taskId] of tasks.entries()) {
    if (delivered.includes(n)) windowOf(shard).delivered(taskId);
    else windowOf(shard).keeps(taskId);
  }
  writeAll(checkpoints);
  for (const _look of windowOf(shard).leave(() => shard.nowMs));
  return { shard, checkpoints, tasks };
}

function windowOf({ core: { transferWindow } }: ShardUnderTest): TransferWindow {
  assert(transferWindow !== undefined);
  return transferWindow;
}

/** Matching takes what is tried. Answers what that was. */
function dispatched(shard: ShardUnderTest, { table }: Checkpoints): readonly number[] {
  const window = windowOf(shard);
  const heard: number[] = [];
  let tried = shard.transfers();
  for (let rounds = 0; rounds < 20; rounds++) {
    for (const { taskId } of tried) {
      window.delivered(taskId);
      heard.push(taskId);
    }
    window.resume();
    if (window.wants()) {
      const { afterTaskId, max } = window.begin(shard.nowMs);
      const rows = table.transfers(afterTaskId, max);
      for (const row of rows) window.install(row);
      window.end(rows, shard.nowMs);
    }
    tried = window.takeBrought();
  }
  return heard;
}

/** Whatever was refused has its turn when matching takes it, once. */
export function whatIsRefusedHasItsTurn(): void {
  const { shard, checkpoints, tasks } = dispatcher();
  // Some end meanwhile.
  for (const n of [3, 5]) shard.ask(terminateWorkflow({ key: { namespaceId, workflowId: `wf-${n}`, runId: '' } }));
  assert.deepEqual(
    dispatched(shard, checkpoints).toSorted((one, other) => one - other),
    tasks.filter((_, n) => n !== 3 && n !== 5),
  );
  writeAll(checkpoints);
  assert.equal(checkpoints.table.size.transferTasks, 5, 'the rows of those that have ended go');
}

/** Between two that were refused are tasks that matching has, in one page with the first of them. */
export function whatMatchingHasIsPassedOver(): void {
  const { shard, checkpoints, tasks } = dispatcher([1, 2]);
  assert.deepEqual(
    dispatched(shard, checkpoints).toSorted((one, other) => one - other),
    tasks.filter((_, n) => n !== 1 && n !== 2),
  );
}

/** A takeover finds more than a page of tasks; what it makes itself is given out once. */
export function aTakeoverReadsAllTasks(): void {
  const { shard, checkpoints, tasks } = dispatcher();
  const { counters, rowsOfRestart, rows } = checkpoints.table;
  assert(counters !== undefined);
  shard.core = new HistoryCore({ wire: historyWire, stateWire: stateCodec });
  windowOf(shard).opens({ tasksMax: 2, tasksLeft: 2, pageRows: 2 });
  shard.core.install({ ...rowsOfRestart, runs: rows.runs, currentRuns: rows.currentRuns }, counters);
  shard.core.leaveRestInTable();
  shard.core.residency.keys.addKnown([]);
  shard.core.residency.keys.rebuilt();
  shard.start({ key: { namespaceId, workflowId: 'new', runId: '' } });
  const [own] = shard.transfers().map(({ taskId }) => taskId);
  windowOf(shard).delivered(own ?? 0);
  writeAll(checkpoints);
  for (const _look of windowOf(shard).leave(() => shard.nowMs));
  assert.deepEqual(dispatched(shard, checkpoints), tasks);
}

function writeAll(checkpoints: Checkpoints): void {
  checkpoints.cut();
  checkpoints.capture(Infinity);
  checkpoints.write('written');
}

/** A start whose append is under way, while memory has the end of that run already. */
export function rowsAreNotAheadOfTheLog(): void {
  const shard = unwatched();
  const view = { position: 0, namespaceById: () => undefined, systemSearchAttributes: new Map<string, number>() };
  const rows = new VisibilityRows({ shard: 1, core: shard.core, registry: { isFolded: true, view }, wire: historyWire });
  shard.start();
  for (const record of shard.records) rows.accepted(record);
  shard.ask(terminateWorkflow());
  for (const record of shard.records.slice(1)) rows.accepted(record);
  const shown = shard.records.map((record, offset) => {
    rows.committed(record, { epoch: 1, sequence: offset + 1, offset }, false);
    const batch = rows.take({ rowsMax: 10, bytesMax: 1_000_000 });
    rows.written();
    return batch.rows.map(({ status }) => status).join();
  });
  assert.deepEqual(shown, ['1', '5'], 'running, and terminated when that is committed');
}

/** A backup takes the place of a database whose owner goes on, with the very fence that it had then. */
export async function nothingIsWrittenUponABackup(): Promise<void> {
  const tables = new MemoryTables();
  const database = new MemoryDatabase(tables);
  const journal = { kind: 'history', partition: 0 } as const;
  let fenced = 0;
  const checkpointer = new Checkpointer({
    journal,
    database,
    state: {
      cut: () => {},
      cutCommitted: () => {},
      capture: () => true,
      captured: () => ({ ...positionAt(0), kind: 'history', delta: emptyDelta }),
      durable: () => {},
      abandon: () => {},
      unwrittenBytes: 0,
    },
    clock: new HandClock(),
    logger: silentLogger,
    limits: { ...defaultCheckpointLimits, recordsMax: 1 },
    schedule: new CheckpointSchedule({ clock: new HandClock(), logger: silentLogger }),
    retention: { journalRetentionMs: 0 },
    onFenced: () => void (fenced += 1),
  });
  checkpointer.installed(await database.restore(journal));
  const write = async (offset: number): Promise<number | undefined> => {
    checkpointer.accepted();
    checkpointer.committed(1, { epoch: 1, sequence: offset + 1, offset }, false);
    await turns();
    return tables.journal(journal).position?.lastOffset;
  };
  assert.equal(await write(0), 0);
  const backup = tables.copy();
  assert.equal(await write(1), 1);
  tables.become(backup);
  assert.equal(await write(2), 0, 'changes since the second checkpoint make no sense upon the first');
  assert.equal(fenced, 1);
}

/** A filter is built of the table's pages while workflows begin. */
export function filterKnowsWhatBeginsMeanwhile(): void {
  const shard = unwatched(stateCodec);
  const { keys: knownKeys } = shard.core.residency;
  knownKeys.rebuild();
  shard.start({ key: { namespaceId, workflowId: 'meanwhile', runId: '' } });
  knownKeys.rebuilt();
  assert.equal(knownKeys.mayHave({ namespaceId, workflowId: 'meanwhile' }), true, 'a workflow is known that began meanwhile');
  assert.equal(knownKeys.mayHave({ namespaceId, workflowId: 'never' }), false);
}

/** A workflow id is used again, and the older run is retired with the newer one written. */
export async function pointerStaysWithItsRun(): Promise<void> {
  const database = sqliteDatabase({ filename: undefined });
  const journal = { kind: 'history', partition: 0 } as const;
  const { fence } = await database.restore(journal);
  const execution = { namespaceId: uuid(), workflowId: 'wf' };
  const [older, newer] = [runRow(execution), runRow(execution)];
  const write = async (at: number, delta: Partial<HistoryDelta>): Promise<void> => {
    const written = await database.write(journal, fence, { kind: 'history', position: positionAt(at), delta: { ...emptyDelta, ...delta } });
    assert.equal(written.kind, 'written');
  };
  await write(1, { runs: [older], currentRuns: [older] });
  await write(2, { runs: [newer], currentRuns: [newer], retiredRuns: [older] });
  const { rows } = await database.load(journal, [{ kind: 'current', ...execution }]);
  assert.equal(rows[0]?.currentRunId, newer.runId, 'the newer run keeps the workflow id');
  await database.close();
}

/** Without the looks that a shard under test takes at every step: what is planted here must show in what users would notice. */
function unwatched(stateWire?: StateWire): ShardUnderTest {
  const shard = new ShardUnderTest({}, stateWire);
  shard.checks = false;
  return shard;
}

/** A long poll, a query, and a completion whose record is refused for its size. */
export function refusedRecordKeepsWaits(): void {
  const shard = unwatched();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t1', 60_000)]);
  shard.signal();
  shard.ask({ kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: true });
  const poll = shard.lastAskId;
  shard.request({ kind: 'queryWorkflow', key, queryId: 'q', query: bytes('q'), rejectCondition: 1, deadlineMs: shard.nowMs + 1000 });
  const query = shard.lastAskId;
  const task = shard.pollWorkflowTask();
  const completion = shard.completion(task, [completeWorkflow()]);
  assert.equal(shard.decide(completion).kind, 'commit');
  shard.ask(completion);
  assert.deepEqual(
    shard.effects.map(askOf).toSorted((a = 0, b = 0) => a - b),
    [poll, query],
    'both are answered by the record that is accepted',
  );
}

/** A heartbeat has moved the timeout that calls. */
export function irrelevantTimerLeavesNoTrace(): void {
  const shard = unwatched();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity({ heartbeatTimeoutMs: 2000, startToCloseTimeoutMs: 60_000 })]);
  const activity = activityRef(shard.pollActivityTask());
  shard.advance(1500);
  shard.ask({ kind: 'recordActivityHeartbeat', activity, details: undefined, identity: 'worker' });
  shard.ask(updateWorkflow());
  const written = shard.history();
  shard.advance(500);
  shard.fireDueTimers();
  assert.deepEqual(shard.history(), written, 'a timer that has nothing to do writes nothing');
}

export function putAsideWaits(): void {
  const shard = unwatched();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t1', 1000)]);
  const { key: run } = shard.describe();
  shard.ask({ kind: 'putAside', key: run, failedCommand: 'fireTimer', taskId: 0, reason: 'planted' });
  shard.signal();
  assert.deepEqual(shard.pendingTasks(), [], 'what follows waits aside');
  shard.advance(10_000);
  shard.fireDueTimers();
  assert.equal(shard.history().includes('timerFired'), false, 'its timers do not fire');
}

export function closedIsTakenBack(): void {
  const shard = unwatched();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startChild({ parentClosePolicy: 1 })]);
  shard.carry(shard.pendingTask('startChild'));
  const child = { namespaceId, workflowId: 'child', runId: '' };
  shard.carry(shard.pendingTask('scheduleChildFirstTask'));
  const { key: run } = shard.describe(child);
  shard.ask({ kind: 'putAside', key: run, failedCommand: 'fireTimer', taskId: 0, reason: 'planted' });
  shard.ask(terminateWorkflow({ key: child }));
  shard.pumpOutbox();
  assert.equal(shard.history().includes('childWorkflowExecutionTerminated'), true, 'the parent hears of it');
  assert.equal(shard.core.shard.aside.size, 0);
}

/** The answer to a child's start is lost, and the parent closes. */
export function lostStartIsNoOrphan(): void {
  const shard = unwatched();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startChild({ parentClosePolicy: 1 })]);
  const { taskId } = shard.pendingTask('startChild');
  const outbox = shard.outboxMessage(taskId);
  assert.equal(outbox === undefined ? '' : shard.ask(outbox.command)?.kind, 'started');
  shard.ask(terminateWorkflow());
  shard.pumpOutbox();
  assert.equal(shard.describe({ namespaceId, workflowId: 'child', runId: '' }).status, 5, 'the child follows its close policy');
}

/** A child and a parent are deleted while the other one's shard is out of reach. */
export function deletedIsHeardOf(): void {
  const shard = unwatched();
  const child = { namespaceId, workflowId: 'child', runId: '' };
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startChild({ parentClosePolicy: 1 })]);
  shard.carry(shard.pendingTask('startChild'));
  const made = shard.describe(child).key;
  shard.ask(deleteWorkflow(child));
  assert.equal(shard.ask({ kind: 'describeWorkflow', key: made })?.kind, 'rejected', 'nothing of it stays');
  shard.pumpOutbox();
  assert.equal(shard.history().includes('childWorkflowExecutionTerminated'), true, 'the parent hears of it');
}
