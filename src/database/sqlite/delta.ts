/**
 * The rows of a checkpoint, inside the transaction that its guard has opened. They are written in chunks: at each `yield` the thread may answer
 * others.
 */
import { nameBytes } from '../name-bytes.ts';
import { idBytes, optionalWhole, whole } from './values.ts';
import { writeLetter } from './letter-rows.ts';
import { removeVisibility, rewriteVisibility, writeVisibility } from './visibility-rows.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { DeadLettersDelta, HistoryDelta, ListedId, MatchingDelta } from '../../actors/database.ts';
import type { VisibilityRow } from '../../visibility/row.ts';
import type { Connection } from './connection.ts';

const putRun = `
  INSERT INTO runs (partition, run_id, namespace_id, workflow_id, status, forget_ms, state) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (partition, run_id) DO UPDATE SET
    namespace_id = excluded.namespace_id, workflow_id = excluded.workflow_id, status = excluded.status,
    forget_ms = excluded.forget_ms, state = excluded.state`;
const putExecution = `
  INSERT INTO executions (partition, namespace_id, workflow_id, run_id) VALUES (?, ?, ?, ?)
  ON CONFLICT (partition, namespace_id, workflow_id) DO UPDATE SET run_id = excluded.run_id`;
const putChildStart = `
  INSERT INTO child_starts (partition, parent_run_id, initiated_event_id, run_id) VALUES (?, ?, ?, ?)
  ON CONFLICT (partition, parent_run_id, initiated_event_id) DO UPDATE SET run_id = excluded.run_id`;
const putHistory = `
  INSERT INTO history (partition, run_id, branch, first_event_id, last_event_id, events) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (partition, run_id, branch, first_event_id) DO UPDATE SET last_event_id = excluded.last_event_id, events = excluded.events`;
const putTransferTask = `
  INSERT INTO transfer_tasks (partition, task_id, aside, at_matching, task) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (partition, task_id) DO UPDATE SET aside = excluded.aside, at_matching = excluded.at_matching, task = excluded.task`;
const noteAtMatching = 'UPDATE transfer_tasks SET at_matching = 1 WHERE partition = ? AND task_id = ?';
const putTimer = `
  INSERT INTO timers (partition, task_id, fire_ms, aside, task) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (partition, task_id) DO UPDATE SET fire_ms = excluded.fire_ms, aside = excluded.aside, task = excluded.task`;
const putMatchingTask = `
  INSERT INTO matching_tasks (partition, task_id, queue, task) VALUES (?, ?, ?, ?)
  ON CONFLICT (partition, task_id) DO UPDATE SET queue = excluded.queue, task = excluded.task`;

const dropTransferTask = 'DELETE FROM transfer_tasks WHERE partition = ? AND task_id = ?';
const dropTimer = 'DELETE FROM timers WHERE partition = ? AND task_id = ?';
const dropMatchingTask = 'DELETE FROM matching_tasks WHERE partition = ? AND task_id = ?';
const dropLetter = 'DELETE FROM dead_letters WHERE partition = ? AND message_id = ?';
const dropHistory = 'DELETE FROM history WHERE partition = ? AND run_id = ?';
const dropChildStarts = 'DELETE FROM child_starts WHERE partition = ? AND run_id = ?';
const dropRun = 'DELETE FROM runs WHERE partition = ? AND run_id = ?';
const dropExecution = 'DELETE FROM executions WHERE partition = ? AND namespace_id = ? AND workflow_id = ? AND run_id = ?';

export function* writeHistoryDelta(connection: Connection, partition: number, delta: HistoryDelta): Generator<void, void> {
  const chunk = new Chunk();
  const runs = connection.statement(putRun);
  for (const { runId, namespaceId, workflowId, status, forgetMs, state } of delta.runs) {
    const forget = optionalWhole(forgetMs, 'end of retention');
    runs.run(partition, idBytes(runId), idBytes(namespaceId), nameBytes(workflowId), whole(status, 'status'), forget, state);
    if (chunk.isFull(state.length)) yield;
  }
  const executions = connection.statement(putExecution);
  for (const { namespaceId, workflowId, runId } of delta.currentRuns) {
    executions.run(partition, idBytes(namespaceId), nameBytes(workflowId), idBytes(runId));
    if (chunk.isFull(0)) yield;
  }
  const childStarts = connection.statement(putChildStart);
  for (const { parentRunId, initiatedEventId, runId } of delta.childStarts) {
    childStarts.run(partition, idBytes(parentRunId), whole(initiatedEventId, 'event id'), idBytes(runId));
    if (chunk.isFull(0)) yield;
  }
  const history = connection.statement(putHistory);
  for (const { runId, branch, firstEventId, lastEventId, events } of delta.history) {
    const first = whole(firstEventId, 'event id');
    history.run(partition, idBytes(runId), whole(branch, 'branch'), first, whole(lastEventId, 'event id'), events);
    if (chunk.isFull(events.length)) yield;
  }
  yield* writeTasks(connection, partition, delta, chunk);
  yield* writeVisibilityRows(connection, delta.visibility, [], chunk);
  // Last, so that a run that is retired is gone, whatever else the delta says of it.
  for (const run of delta.retiredRuns) {
    retire(connection, partition, run);
    if (chunk.isFull(0, visibilityWeight)) yield;
  }
}

export function* writeVisibilityRows(
  connection: Connection,
  rows: readonly VisibilityRow[],
  retired: readonly ListedId[],
  chunk = new Chunk(),
): Generator<void, void> {
  for (const row of rows) {
    writeVisibility(connection, row);
    if (chunk.isFull(0, visibilityWeight)) yield;
  }
  for (const { namespaceId, runId } of retired) {
    removeVisibility(connection, namespaceId, runId);
    if (chunk.isFull(0, visibilityWeight)) yield;
  }
}

export function* rewriteVisibilityRows(connection: Connection, rows: readonly VisibilityRow[]): Generator<void, void> {
  const chunk = new Chunk();
  for (const row of rows) {
    rewriteVisibility(connection, row);
    if (chunk.isFull(0, visibilityWeight)) yield;
  }
}

function* writeTasks(connection: Connection, partition: number, delta: HistoryDelta, chunk: Chunk): Generator<void, void> {
  const transferTasks = connection.statement(putTransferTask);
  for (const { taskId, aside, atMatching, task } of delta.transferTasks) {
    transferTasks.run(partition, whole(taskId, 'task id'), aside ? 1 : 0, atMatching ? 1 : 0, task);
    if (chunk.isFull(task.length)) yield;
  }
  const timers = connection.statement(putTimer);
  for (const { taskId, fireTimeMs, aside, task } of delta.timers) {
    timers.run(partition, whole(taskId, 'task id'), whole(fireTimeMs, 'fire time'), aside ? 1 : 0, task);
    if (chunk.isFull(task.length)) yield;
  }
  yield* runEach(connection, noteAtMatching, partition, delta.tasksAtMatching, chunk);
  yield* runEach(connection, dropTransferTask, partition, delta.goneTransferTasks, chunk);
  yield* runEach(connection, dropTimer, partition, delta.goneTimers, chunk);
}

export function* writeMatchingDelta(connection: Connection, partition: number, delta: MatchingDelta): Generator<void, void> {
  const chunk = new Chunk();
  const tasks = connection.statement(putMatchingTask);
  for (const { taskId, queue, task } of delta.tasks) {
    tasks.run(partition, whole(taskId, 'task id'), nameBytes(queue), task);
    if (chunk.isFull(task.length)) yield;
  }
  yield* runEach(connection, dropMatchingTask, partition, delta.goneTasks, chunk);
}

export function* writeDeadLettersDelta(connection: Connection, partition: number, delta: DeadLettersDelta): Generator<void, void> {
  const chunk = new Chunk();
  for (const row of delta.letters) {
    writeLetter(connection, partition, row);
    if (chunk.isFull(0, letterWeight)) yield;
  }
  yield* runEach(connection, dropLetter, partition, delta.goneLetters, chunk);
}

function* runEach(connection: Connection, sql: string, partition: number, ids: readonly number[], chunk: Chunk): Generator<void, void> {
  const statement = connection.statement(sql);
  for (const id of ids) {
    statement.run(partition, whole(id, 'task id'));
    if (chunk.isFull(0)) yield;
  }
}

function retire(connection: Connection, partition: number, run: RunKey): void {
  const runId = idBytes(run.runId);
  connection.statement(dropRun).run(partition, runId);
  connection.statement(dropHistory).run(partition, runId);
  connection.statement(dropChildStarts).run(partition, runId);
  connection.statement(dropExecution).run(partition, idBytes(run.namespaceId), nameBytes(run.workflowId), runId);
  removeVisibility(connection, run.namespaceId, run.runId);
}

/** How much is written at a stretch: about 2 ms. */
const rowsMax = 200;
const bytesMax = 256 * 1024;
/** With all its indexes a row takes as long as this many others. */
const visibilityWeight = 5;
const letterWeight = 3;

class Chunk {
  #rows = 0;
  #bytes = 0;

  /** Counts what was written; when true, another chunk begins. */
  isFull(bytes: number, rows = 1): boolean {
    this.#rows += rows;
    this.#bytes += bytes;
    if (this.#rows < rowsMax && this.#bytes < bytesMax) return false;
    this.#rows = 0;
    this.#bytes = 0;
    return true;
  }
}
