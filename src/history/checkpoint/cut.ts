/**
 * The state of a shard as it was after one record, on its way into rows while the shard goes on.
 *
 *     record n ─ cut ─ capture ─ n+1 ─ capture ─ n+2 … ─▶ rows as after n
 *                                 └ before n+1 changes a run of the cut that is not encoded yet, that run is encoded
 *
 * So the cut costs nothing, nobody waits for all of it, and a command pays for its own run at most.
 */
import { collected } from '../../kernel/collected.ts';
import type { RunView, ShardView } from '../state.ts';
import { isDispatch, isTimer, type PendingTask } from '../tasks.ts';
import type { ChangeSet } from './change-set.ts';
import type { BehindCut } from '../residency/runs-behind.ts';
import type { RunRow, ShardCheckpoint, TimerRow, TransferTaskRow, WaitingRow } from './rows.ts';
import {
  stateSchema,
  stateSchemaBehind,
  stateSchemaHandOver,
  stateSchemaLaterRuns,
  stateSchemaLaterTasks,
  stateSchemaOperators,
  stateSchemaPreparations,
  type StateWire,
  type WrittenCounters,
} from './state-wire.ts';

export class Cut {
  readonly #shard: ShardView;
  readonly #wire: StateWire;
  readonly #onEncoded: (run: RunView, bytes: number) => void;
  readonly #changes: ChangeSet;
  readonly #counters: WrittenCounters;
  readonly #timeMs: number;
  /** Runs whose rows this checkpoint leaves as they are, and what waits for them. */
  readonly behind: BehindCut;
  readonly #encoding: Generator<undefined, ShardCheckpoint>;
  /** By run id: those that are encoded. */
  readonly #rows = new Map<string, RunRow>();
  #checkpoint: ShardCheckpoint | undefined;
  #problem: { readonly error: unknown } | undefined;

  constructor(shard: ShardView, behind: BehindCut, changes: ChangeSet, wire: StateWire, onEncoded: (run: RunView, bytes: number) => void) {
    this.#shard = shard;
    this.#wire = wire;
    this.#onEncoded = onEncoded;
    this.#changes = changes;
    const { taskIdLast, runCount: runs, handOvers, letterMarks, hasLaterTasks, hasLaterRuns, hasPreparedRuns, hasAnsweredRequests } = shard;
    this.#counters = {
      taskIdLast,
      runs,
      runsBehind: behind.runs,
      ...(handOvers === undefined ? {} : { handOvers }),
      ...(letterMarks === undefined ? {} : { letterMarks: [...letterMarks.values()] }),
      ...(hasLaterTasks === undefined ? {} : { laterTasks: hasLaterTasks }),
      ...(hasLaterRuns === undefined ? {} : { laterRuns: hasLaterRuns }),
      ...(hasPreparedRuns === undefined ? {} : { preparedRuns: hasPreparedRuns }),
      ...(hasAnsweredRequests === undefined ? {} : { answeredRequests: hasAnsweredRequests }),
    };
    this.#timeMs = shard.timeMs;
    this.behind = behind;
    this.#encoding = this.#encode();
  }

  get captured(): boolean {
    return this.#checkpoint !== undefined;
  }

  isGone(taskId: number): boolean {
    return this.#changes.isGone(taskId);
  }

  hasTask(taskId: number): boolean {
    return this.#changes.tasks.has(taskId);
  }

  isAtMatching(taskId: number): boolean {
    return this.#changes.atMatching.has(taskId);
  }

  has(runId: string): boolean {
    return this.#changes.runs.has(runId);
  }

  get runCount(): number {
    return this.#changes.runs.size;
  }

  get retiredCount(): number {
    return this.#changes.retired.size;
  }

  isRetired(runId: string): boolean {
    return this.#changes.retired.has(runId);
  }

  hasPointer(execution: string): boolean {
    return this.#changes.currentRuns.has(execution);
  }

  /** The run is about to change. What cannot be encoded stops the checkpoint and not the run: `capture` throws it. */
  touch(run: RunView): void {
    const { runId } = run.key;
    if (!this.#changes.runs.has(runId) || this.#rows.has(runId) || this.#problem !== undefined) return;
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
    const { aside, timers } = this.#shard;
    const { state, bytesLeftOut } = this.#wire.encodeRun(run, aside.get(runId));
    const forgetMs = timers.get(run.retentionTaskId)?.fireTimeMs;
    this.#onEncoded(run, state.length + bytesLeftOut);
    this.#rows.set(runId, { namespaceId, workflowId, runId, status: run.status, state, forgetMs });
  }

  *#encode(): Generator<undefined, ShardCheckpoint> {
    const changes = this.#changes;
    for (const run of changes.runs.values()) {
      if (this.#rows.has(run.key.runId)) continue;
      this.#encodeRun(run);
      yield;
    }
    const transferTasks: TransferTaskRow[] = [];
    const timers: TimerRow[] = [];
    const add = (task: PendingTask, aside: boolean): void => {
      const row = { taskId: task.taskId, task: this.#wire.encodeTask(task), aside };
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
      waiting.push({ runId, index, record: this.#wire.encodeRecord(record) });
      yield;
    }
    const counters = this.#wire.encodeCounters(this.#counters);
    return { schema: schemaOf(this.#counters), delta, waiting, counters, timeMs: this.#timeMs };
  }
}

function schemaOf({ runsBehind, handOvers, letterMarks, laterTasks, laterRuns, preparedRuns, answeredRequests }: WrittenCounters): number {
  if (answeredRequests === true) return stateSchemaOperators;
  if (preparedRuns === true) return stateSchemaPreparations;
  if (laterRuns === true) return stateSchemaLaterRuns;
  if (laterTasks === true) return stateSchemaLaterTasks;
  if (handOvers !== undefined || letterMarks !== undefined) return stateSchemaHandOver;
  return runsBehind.length === 0 ? stateSchema : stateSchemaBehind;
}
