/**
 * The durable state of one history shard, and the only ways to change it.
 *
 *     evolve ──▶ change(run id), begin, forget, addTask, finishTask … ──▶ the maps, which all others only read (ShardView)
 *                     └────────────────────────────────────────────────▶ Changes: what the next checkpoint has to write
 *
 * A run of a shard is a `RunView` to everyone; whoever changes one needs a `Run`, and `change` alone gives it. So no change is ever missing in
 * a checkpoint. What changes something that a run's row shows (that it was put aside, the end of its retention) asks for a `Run` too.
 */
import type { TaskPlace } from '../commands/shard-task-commands.ts';
import { type HandedOverTask, type HandOverLines, lineOf, withoutAccepted, withTask } from '../run/hand-over-lines.ts';
import type { AcceptedLetters } from '../commands/hand-over-commands.ts';
import type { LetterMarks } from '../run/letter-marks.ts';
import { UnsentTasks } from '../run/unsent-tasks.ts';
import { Changes } from './changes.ts';
import { ChildStarts } from '../run/child-starts.ts';
import type { StateWire } from './state-wire.ts';
import type { ExecutionId, RunKey } from '../../kernel/run-key.ts';
import { lastMessageOf } from '../run/last-message.ts';
import { childStartName, currentName, Residency, runName, type StartedBy } from './residency.ts';
import { type AsideRun, childStartKey, executionKey, isRunning, type Run, type RunView, type ShardView } from '../run/state.ts';
import { isOutbox, isTimer, type PendingTask, type PendingTransfer } from '../run/tasks.ts';
import { TimerQueue, type TimerView } from '../run/timer-queue.ts';
import { TransferTasks } from '../run/transfer-tasks.ts';

export class Shard implements ShardView {
  taskIdLast = 0;
  timeMs = 0;
  handOvers: HandOverLines | undefined;
  letterMarks: LetterMarks | undefined;
  runCount = 0;
  readonly #runs = new Map<string, Run>();
  readonly runs: ReadonlyMap<string, RunView> = this.#runs;
  readonly #currentRuns = new Map<string, RunView>();
  readonly currentRuns: ReadonlyMap<string, RunView> = this.#currentRuns;
  readonly #childStarts = new ChildStarts();
  readonly childStarts: ReadonlyMap<string, string> = this.#childStarts.runIds;
  readonly #transfers = new TransferTasks();
  readonly transfers: ReadonlyMap<number, PendingTransfer> = this.#transfers.byId;
  readonly #undelivered = new Map<string, number>();
  readonly undelivered: ReadonlyMap<string, number> = this.#undelivered;
  /** Which tasks those are: to find them takes no look at all that wait. */
  readonly #undeliveredIds = new Map<string, Set<number>>();
  readonly #timers = new TimerQueue();
  readonly timers: TimerView = this.#timers;
  readonly #aside = new Map<string, AsideRun>();
  readonly aside: ReadonlyMap<string, AsideRun> = this.#aside;
  readonly #tasksAside = new Map<number, PendingTask>();
  readonly tasksAside: ReadonlyMap<number, PendingTask> = this.#tasksAside;
  readonly #unsentTasks = new UnsentTasks();
  readonly #changes: Changes | undefined;
  readonly #residency: Residency | undefined;

  /** `stateWire`: of the checkpoints; undefined: nothing is written anywhere, nothing is noted, and all of the shard stays in memory. */
  constructor(stateWire?: StateWire) {
    if (stateWire === undefined) return;
    const residency = new Residency();
    this.#residency = residency;
    const onEncoded = (run: RunView, bytes: number): void => residency.hot.sized(run.key.runId, bytes, !isRunning(run));
    this.#changes = new Changes({ shard: this, wire: stateWire, onEncoded }, residency.behind);
  }

  // What is no part of the state has getters: the fields are what is compared with replay (run/canonical.ts).

  get changes(): Changes | undefined {
    return this.#changes;
  }

  get unsentTasks(): UnsentTasks {
    return this.#unsentTasks;
  }

  get transferTasks(): TransferTasks {
    return this.#transfers;
  }

  get residency(): Residency | undefined {
    return this.#residency;
  }

  // ── Runs ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  change(runId: string): Run | undefined {
    const run = this.#runs.get(runId);
    if (run === undefined) return undefined;
    this.#changes?.runChanges(run);
    this.#residency?.hot.used(runId, this.timeMs);
    return run;
  }

  begin(run: Run): void {
    this.#changes?.since.runBegan(run);
    this.runCount++;
    this.installRun(run);
    this.#currentRuns.set(executionKey(run.key.namespaceId, run.key.workflowId), run);
    const { parent, firstRunId } = run.start;
    if (parent !== undefined && firstRunId === run.key.runId) this.#childStarts.set(childStartKey(parent), run.key.runId);
    this.#residency?.begins(run.key, parent);
  }

  /** Nobody finds it until it is made the current one. */
  beginPreparing(run: Run): void {
    this.#changes?.since.runs.set(run.key.runId, run);
    this.runCount++;
    this.installRun(run);
    this.#residency?.preparationBegins(run.key);
  }

  /** A run that was prepared: the newest of its workflow id from now on. */
  makeCurrent(run: Run): void {
    this.#changes?.since.pointTo(run.key);
    this.installCurrentRun(run);
    this.#residency?.becomesCurrent(run.key);
  }

  /** Nothing of it stays, but for messages that are not delivered. */
  forget(run: Run): void {
    const { key } = run;
    this.#changes?.since.runForgotten(run);
    this.runCount--;
    this.#residency?.keys.deleted();
    this.takeOut(run);
    if (this.#aside.delete(key.runId)) this.#forgetTasksAside(key.runId);
    else if (this.#undelivered.has(key.runId)) this.#leaveMessages(run);
  }

  /** What other shards have not heard of the run yet, they still hear. */
  #leaveMessages(run: Run): void {
    for (const taskId of [...this.undeliveredOf(run.key.runId)]) {
      const task = this.transfers.get(taskId);
      if (task === undefined || !isOutbox(task)) continue;
      const message = lastMessageOf(run, task);
      this.#noLongerUndelivered(task);
      this.#wait(message);
      this.#noteMessage(message);
    }
  }

  /** The retention of these runs is over. Those that are not in memory have no tasks, and need not be loaded. */
  retire(keys: readonly RunKey[]): void {
    const cold = new Set<string>();
    for (const key of keys) {
      const run = this.change(key.runId);
      if (run === undefined) {
        cold.add(key.runId);
        this.#changes?.since.runRetired(key);
        this.runCount--;
        this.#residency?.keys.deleted();
        this.#residency?.noLongerUnread(key);
        if (this.isBehind(key.runId)) this.#forgetBehind(key.runId);
      } else {
        this.finishTask(run.retentionTaskId);
        this.forget(run);
      }
    }
    // The start of a child may have been asked for, and its run not.
    if (cold.size > 0) this.#childStarts.dropOf(cold);
  }

  /** Nobody can tell whether it was put aside. */
  #forgetBehind(runId: string): void {
    this.#residency?.behind.delete(runId);
    this.#forgetTasksAside(runId);
    // Its state would name it.
    for (const task of [...this.#timers.values()]) if (task.kind === 'retention' && task.key.runId === runId) this.finishTask(task.taskId);
  }

  /** What is on its way to a queue of dead letters does not wait aside, and is delivered by its letter. */
  #forgetTasksAside(runId: string): void {
    for (const task of this.#tasksAside.values()) {
      if (task.key.runId !== runId) continue;
      this.#noLongerUndelivered(task);
      this.#changes?.since.taskGone(task);
      this.#tasksAside.delete(task.taskId);
      this.letterMarks?.taskGone(task.taskId);
    }
  }

  // ── Tasks ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  addTask(task: PendingTask): void {
    this.taskIdLast = Math.max(this.taskIdLast, task.taskId);
    const waitsAside = this.#aside.size > 0 && task.kind !== 'retention' && this.#aside.has(task.key.runId);
    if (waitsAside) this.#waitAside(task);
    else this.#wait(task);
    if (isOutbox(task)) this.#undeliveredYet(task);
  }

  /** Ends the task of that id, whatever it is and whoever's. */
  finishTask(taskId: number): void {
    const task = this.#timers.get(taskId) ?? this.transfers.get(taskId) ?? this.#tasksAside.get(taskId);
    if (task === undefined) return this.#finishUnseen(taskId);
    // Its run is in memory; the run's row tells when retention ends.
    if (task.kind === 'retention') this.change(task.key.runId);
    this.#changes?.since.taskGone(task);
    this.#takeFromQueue(task);
    this.#tasksAside.delete(taskId);
    if (isOutbox(task)) this.#delivered(task);
  }

  /** Matching has stored it. One that is not in memory has a row, or has ended. */
  noteAtMatching(taskId: number): void {
    const task = this.#transfers.noteAtMatching(taskId);
    this.#changes?.since.taskAtMatching(taskId, task);
  }

  /** The task leaves its queue; one that is not in memory has a row. Until it is a letter, whoever sent it has not been heard. */
  handOver(handedOver: HandedOverTask): void {
    const { taskId } = handedOver.task;
    const task = this.transfers.get(taskId) ?? this.#timers.get(taskId);
    if (task === undefined) this.#finishUnseen(taskId);
    else {
      this.#changes?.since.taskGone(task);
      this.#takeFromQueue(task);
    }
    this.handOvers = withTask(this.handOvers, handedOver);
  }

  acceptLetters(accepted: AcceptedLetters): void {
    const { waiting } = lineOf(this.handOvers, accepted.category);
    this.handOvers = withoutAccepted(this.handOvers, accepted);
    for (const { sequence, task } of waiting) if (sequence <= accepted.sequence && isOutbox(task)) this.#delivered(task);
  }

  #finishUnseen(taskId: number): void {
    const unread = this.#residency?.unread.get(taskId);
    if (unread === undefined) return this.#changes?.since.unseenTaskGone(taskId);
    this.#residency?.unread.delete(taskId);
    this.#changes?.since.unreadTaskGone(unread);
  }

  #wait(task: PendingTask): void {
    this.#changes?.since.taskWaits(task);
    this.#intoQueue(task);
  }

  #intoQueue(task: PendingTask): void {
    if (isTimer(task)) this.#timers.add(task);
    else this.#transfers.add(task);
  }

  #waitAside(task: PendingTask): void {
    this.#changes?.since.taskWaitsAside(task);
    this.#tasksAside.set(task.taskId, task);
  }

  #takeFromQueue(task: PendingTask): void {
    if (isTimer(task)) this.#timers.remove(task.taskId);
    else {
      this.#transfers.remove(task.taskId);
      this.#unsentTasks.ended(task.taskId);
    }
  }

  #undeliveredYet({ taskId, key: { runId } }: PendingTask): void {
    const ids = this.#undeliveredIds.get(runId) ?? new Set();
    this.#undeliveredIds.set(runId, ids.add(taskId));
    this.#undelivered.set(runId, ids.size);
  }

  #delivered(task: PendingTask): void {
    this.#childStarts.giveUp(task, this.#runs);
    this.#noLongerUndelivered(task);
  }

  #noLongerUndelivered({ taskId, key: { runId } }: PendingTask): void {
    const ids = this.#undeliveredIds.get(runId);
    if (ids?.delete(taskId) !== true) return;
    if (ids.size > 0) return void this.#undelivered.set(runId, ids.size);
    this.#undelivered.delete(runId);
    this.#undeliveredIds.delete(runId);
  }

  postponeTimer(taskId: number, untilMs: number): void {
    this.#timers.postpone(taskId, untilMs);
  }

  undeliveredOf(runId: string): Iterable<number> {
    return this.#undeliveredIds.get(runId) ?? [];
  }

  // ── Runs that the shard cannot go on with ──────────────────────────────────────────────────────────────────────────────────

  putAside(run: Run, why: AsideRun): void {
    this.#aside.set(run.key.runId, why);
  }

  putTaskAside(task: PendingTask): void {
    this.#takeFromQueue(task);
    this.#waitAside(task);
  }

  /** False: it was not put aside. */
  takeBack(run: Run): boolean {
    return this.#aside.delete(run.key.runId);
  }

  takeTaskBack(task: PendingTask): void {
    this.#tasksAside.delete(task.taskId);
    this.#wait(task);
  }

  // ── What a table has, and memory has or has not ────────────────────────────────────────────────────────────────────────────

  installRun(run: Run): void {
    this.#runs.set(run.key.runId, run);
    this.#residency?.hot.add(run.key.runId, this.timeMs);
  }

  installCurrentRun(run: RunView): void {
    this.#currentRuns.set(executionKey(run.key.namespaceId, run.key.workflowId), run);
  }

  installChildStart(startKey: string, runId: string): void {
    this.#childStarts.set(startKey, runId);
  }

  installAside(runId: string, why: AsideRun): void {
    this.#aside.set(runId, why);
  }

  installTask(task: PendingTask, aside: boolean): void {
    if (aside) this.#tasksAside.set(task.taskId, task);
    else this.#intoQueue(task);
    this.#noteMessage(task);
  }

  installHandOvers(lines: HandOverLines): void {
    this.handOvers = lines;
    for (const { waiting } of lines.values()) for (const { task } of waiting) this.#noteMessage(task);
  }

  #noteMessage(task: PendingTask): void {
    if (!isOutbox(task)) return;
    this.#undeliveredYet(task);
    this.#childStarts.keep(task);
  }

  moveTimerHorizon(place: TaskPlace): void {
    this.#timers.moveHorizon(place);
  }

  /** The table has it, and nobody needs it here for long. */
  leaveTimer(taskId: number): void {
    this.#timers.remove(taskId);
  }

  leaveTransfer(taskId: number): void {
    this.#transfers.remove(taskId);
    this.#unsentTasks.ended(taskId);
  }

  /** The task was in the table alone when its run was put aside: it waits aside from now on, whatever its row says. */
  keepTaskAside(task: PendingTask): void {
    this.#takeFromQueue(task);
    this.#tasksAside.set(task.taskId, task);
  }

  hasTask(taskId: number): boolean {
    return this.transfers.has(taskId) || this.#timers.get(taskId) !== undefined || this.#tasksAside.has(taskId);
  }

  /** Whether the run's row says what the run is. */
  isWritten({ key: { runId } }: RunView): boolean {
    return this.#changes?.isUnwritten(runId) === false && !this.#aside.has(runId);
  }

  /** Memory drops a run whose row is up to date. False: it stays. */
  evict(run: RunView): boolean {
    if (this.#residency === undefined || !this.isWritten(run)) return false;
    this.#residency.somethingLeaves();
    this.takeOut(run);
    // Its row tells when its retention ends.
    this.#timers.remove(run.retentionTaskId);
    return true;
  }

  takeOut({ key, start: { parent, firstRunId } }: RunView): void {
    const run = this.#runs.get(key.runId);
    this.#runs.delete(key.runId);
    this.#residency?.hot.left(key.runId);
    if (parent !== undefined && firstRunId === key.runId) this.#childStarts.drop(childStartKey(parent));
    const execution = executionKey(key.namespaceId, key.workflowId);
    if (this.#currentRuns.get(execution) === run) this.#currentRuns.delete(execution);
  }

  // ── Runs whose rows cannot be read ─────────────────────────────────────────────────────────────────────────────────────────

  isBehind(runId: string): boolean {
    return this.#residency?.behind.has(runId) === true;
  }

  runToDeleteUnread(key: RunKey): RunKey | undefined {
    return this.#residency?.toDeleteUnread.get(key.runId === '' ? currentName(key) : runName(key));
  }

  /** The table was asked for a run that the journal goes on with, and has none: that is damage as well. */
  isLost(key: RunKey): boolean {
    return !this.#keepsAll && !this.#runs.has(key.runId) && !this.isRetired(key.runId) && this.#residency?.isAbsent(runName(key)) === true;
  }

  /** The run is in memory again, with the records that have waited: its row is behind it. */
  comesBack(run: Run, retention: PendingTask | undefined): void {
    const { runId } = run.key;
    this.#residency?.behind.comesBack(runId);
    this.#changes?.runChanges(run);
    if (retention !== undefined && this.#timers.get(retention.taskId) === undefined) this.installTask(retention, false);
    if (this.#aside.has(runId)) this.#putTasksAside(runId);
    else for (const task of [...this.#tasksAside.values()]) if (task.key.runId === runId) this.takeTaskBack(task);
  }

  #putTasksAside(runId: string): void {
    for (const task of [...this.transfers.values(), ...this.#timers.values()]) {
      if (task.key.runId === runId && task.kind !== 'retention') this.putTaskAside(task);
    }
  }

  // ── What is in neither, and what is in the table alone ─────────────────────────────────────────────────────────────────────

  isRunCold(key: RunKey): boolean {
    if (this.#keepsAll || this.#runs.has(key.runId) || this.isRetired(key.runId)) return false;
    return this.#mayBeKnown(key) && this.#residency?.isAbsent(runName(key)) === false;
  }

  /** A pointer that is not written yet and not here either named a run that is retired. */
  isCurrentCold(key: ExecutionId): boolean {
    if (this.#keepsAll) return false;
    const execution = executionKey(key.namespaceId, key.workflowId);
    if (this.#currentRuns.has(execution) || !this.#mayBeKnown(key)) return false;
    return this.#changes?.isPointerUnwritten(execution) === false && this.#residency?.isAbsent(currentName(key)) === false;
  }

  isChildStartCold(key: RunKey, startedBy: StartedBy): boolean {
    if (this.#keepsAll || this.childStarts.has(childStartKey(startedBy)) || !this.#mayBeKnown(key)) return false;
    return this.#residency?.isAbsent(childStartName(startedBy)) === false;
  }

  get #keepsAll(): boolean {
    return this.#residency?.allHere !== false;
  }

  #mayBeKnown(key: ExecutionId): boolean {
    return this.#residency?.keys.mayHave(key) === true;
  }

  /** Nothing of it stays, though its row may still be there. */
  isRetired(runId: string): boolean {
    return this.#changes?.isRetired(runId) === true;
  }
}
