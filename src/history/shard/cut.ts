/**
 * The state of a shard as it was after one record, on its way into rows while the shard goes on.
 *
 *     record n ─ cut ─ capture ─ n+1 ─ capture ─ n+2 … ─▶ rows as after n
 *                                 └ before n+1 changes a run of the cut that is not encoded yet, that run is encoded
 *
 * So the cut costs nothing, nobody waits for all of it, and a command pays for its own run at most.
 */
import { collected } from '../../kernel/collected.ts';
import type { RunView, ShardView } from '../run/state.ts';
import { isDispatch, isTimer, type PendingTask } from '../run/tasks.ts';
import type { ChangeSet } from './change-set.ts';
import type { BehindCut } from './runs-behind.ts';
import type { RunRow, ShardCheckpoint, TimerRow, TransferTaskRow, WaitingRow } from './rows.ts';
import type { StateWire, WrittenCounters } from './state-wire.ts';

/** Whose rows, in which form, and who hears how large a run is: the bytes of its state, and of what that leaves to history. */
export type Encoding = {
  readonly shard: ShardView;
  readonly wire: StateWire;
  readonly onEncoded: (run: RunView, bytes: number) => void;
};

export class Cut {
  readonly #of: Encoding;
  readonly changes: ChangeSet;
  readonly #counters: WrittenCounters;
  readonly #timeMs: number;
  /** Runs whose rows this checkpoint leaves as they are, and what waits for them. */
  readonly behind: BehindCut;
  readonly #encoding: Generator<undefined, ShardCheckpoint>;
  readonly #rows = new Map<string, RunRow>();
  #checkpoint: ShardCheckpoint | undefined;
  #problem: { readonly error: unknown } | undefined;

  constructor(of: Encoding, behind: BehindCut, changes: ChangeSet) {
    this.#of = of;
    this.changes = changes;
    const { taskIdLast, timeMs, runCount: runs, handOvers, letterMarks } = of.shard;
    this.#counters = {
      taskIdLast,
      runs,
      runsBehind: behind.runs,
      ...(handOvers === undefined ? {} : { handOvers }),
      ...(letterMarks === undefined ? {} : { letterMarks: [...letterMarks.values()] }),
    };
    this.#timeMs = timeMs;
    this.behind = behind;
    this.#encoding = this.#encode();
  }

  get captured(): boolean {
    return this.#checkpoint !== undefined;
  }

  /** The run is about to change. What cannot be encoded stops the checkpoint and not the run: `capture` throws it. */
  touch(run: RunView): void {
    const { runId } = run.key;
    if (!this.changes.runs.has(runId) || this.#rows.has(runId) || this.#problem !== undefined) return;
    try {
      this.#encodeRun(run);
    } catch (error) {
      this.#problem = { error };
    }
  }

  /** Encodes a run or a task, and then as many more as `goOn` allows. Undefined: some are left. The same rows whenever it is asked again. */
  capture(goOn: () => boolean): ShardCheckpoint | undefined {
    if (this.#problem !== undefined) throw this.#problem.error;
    try {
      while (this.#checkpoint === undefined) {
        const next = this.#encoding.next();
        if (next.done === true) this.#checkpoint = next.value;
        else if (!goOn()) return undefined;
      }
    } catch (error) {
      this.#problem = { error };
      throw error;
    }
    return this.#checkpoint;
  }

  #encodeRun(run: RunView): void {
    const { namespaceId, workflowId, runId } = run.key;
    const { aside, timers } = this.#of.shard;
    const { state, bytesLeftOut } = this.#of.wire.encodeRun(run, aside.get(runId));
    const forgetMs = timers.get(run.retentionTaskId)?.fireTimeMs;
    this.#of.onEncoded(run, state.length + bytesLeftOut);
    this.#rows.set(runId, { namespaceId, workflowId, runId, status: run.status, state, forgetMs });
  }

  *#encode(): Generator<undefined, ShardCheckpoint> {
    const changes = this.changes;
    for (const run of changes.runs.values()) {
      if (this.#rows.has(run.key.runId)) continue;
      this.#encodeRun(run);
      yield;
    }
    const transferTasks: TransferTaskRow[] = [];
    const timers: TimerRow[] = [];
    const add = (task: PendingTask, aside: boolean): void => {
      const row = { taskId: task.taskId, task: this.#of.wire.encodeTask(task), aside };
      if (isTimer(task)) timers.push({ ...row, fireTimeMs: task.fireTimeMs });
      else transferTasks.push({ ...row, atMatching: isDispatch(task) && task.atMatching === true });
    };
    for (const task of changes.tasks.values()) {
      add(task, false);
      yield;
    }
    for (const task of changes.tasksAside.values()) {
      add(task, true);
      yield;
    }
    const runs = yield* collected(this.#rows.values());
    const currentRuns = yield* collected(changes.currentRuns.values());
    const childStarts = yield* collected(changes.childStarts.values());
    const tasksAtMatching = yield* collected(changes.atMatching);
    const goneTransferTasks = yield* collected(changes.goneTransfers);
    const goneTimers = yield* collected(changes.goneTimers);
    const retiredRuns = yield* collected(changes.retired.values());
    const tasks = { transferTasks, timers, tasksAtMatching, goneTransferTasks, goneTimers };
    const delta = { runs, currentRuns, childStarts, ...tasks, retiredRuns };
    const waiting: WaitingRow[] = [];
    for (const { runId, index, record } of this.behind.unwritten) {
      waiting.push({ runId, index, record: this.#of.wire.encodeRecord(record) });
      yield;
    }
    const counters = this.#of.wire.encodeCounters(this.#counters);
    return { delta, waiting, counters, timeMs: this.#timeMs };
  }
}
