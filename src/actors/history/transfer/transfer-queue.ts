/**
 * Runs the pending transfer tasks of one history shard: after the commit of the record that made them, and after a takeover, at least once.
 *
 *     workflowTask, activityTask ──▶ matching: matched with a poll, or stored there. The task stays pending in the shard until it
 *                                    started or is obsolete, and a takeover offers it again, unless it was noted that it is stored there.
 *     the others (the outbox)    ──▶ runOutboxTask, in the mailbox: a message ──▶ the target's shard; its answer becomes finishOutboxTask here.
 *     invokeCallback             ──▶ runCallback, in the mailbox: what to send ──▶ beside the shard (side-tasks/callback-tasks.ts).
 *
 * What cannot be delivered now is tried again, with a growing pause, for as long as the task is pending: attempts that met nobody (a target that
 * moves, a log that does not answer) are no failures, however many they are. What cannot be built, or is refused because of what it is (its
 * target cannot decide or write it), has failed; after many failures, or one that no further attempt can mend, it becomes a dead letter
 * (failed-tasks.ts). Tasks that fail wait beside those that wait for room: a namespace all of whose tasks fail holds up no other.
 */
import type { TaskFailure } from '../../../deadletters/task-failure.ts';
import type { Deliver, RunOutboxTask } from '../../../history/commands.ts';
import type { RowToWrite } from '../../../history/effects.ts';
import type { WriteRow } from '../../../history/execution/row-commands.ts';
import type { HistoryRecord } from '../../../history/record.ts';
import { executionKey } from '../../../history/state.ts';
import {
  type InvokeCallbackTask,
  isDispatch,
  isLastMessage,
  isTimer,
  type SideTask,
  type Task,
  type TransferTask,
} from '../../../history/tasks.ts';
import { unreachable } from '../../../kernel/assert.ts';
import { uuidAt } from '../../../kernel/uuid.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { Asker } from '../../asks/router.ts';
import { firstTry, type Tries } from '../../asks/tries.ts';
import type { RecordPosition } from '../../log.ts';
import type { CommitSubscriber } from '../../partition/partition-core.ts';
import type { Tenure } from '../../partition/tenure.ts';
import type { Clock, Random } from '../../ports.ts';
import type { FailedTasks } from '../hand-over/failed-tasks.ts';
import { thrownByTask } from '../hand-over/task-failures.ts';
import type { SideAnswer } from '../side-tasks/side-tasks.ts';
import { OutboxDelivery } from './outbox-delivery.ts';
import { TaskDispatch } from './task-dispatch.ts';
import { TASKS_PER_TURN_MAX, TaskLines } from './task-lines.ts';
import { namespaceGoneMessage, type TaskNamespaces } from './task-namespaces.ts';
import { TaskRetries } from './task-retries.ts';
import type { ClusterLayout, TaskAttempts, TransferShard } from './transfer-shard.ts';

export type TransferQueueOptions = {
  readonly shard: TransferShard;
  readonly failed: FailedTasks;
  /** undefined: nobody knows of any, and all are there. */
  readonly namespaces: TaskNamespaces | undefined;
  /** When it ends, whoever takes over runs what is pending. */
  readonly tenure: Pick<Tenure<never>, 'active' | 'after'>;
  /** Why it is not its turn. */
  readonly whyNoCallback: (task: InvokeCallbackTask) => TaskFailure | undefined;
  readonly router: Asker;
  readonly layout: ClusterLayout;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
};

const nothingLeft = 'what it was for is over';
/** The line of those that a takeover finds, or that waited elsewhere. Workflows have lines of their own. */
const PENDING = '';

export class TransferQueue implements CommitSubscriber<HistoryRecord> {
  readonly #options: TransferQueueOptions;
  readonly #tenure: Pick<Tenure<never>, 'active' | 'after'>;
  readonly #lines: TaskLines<TransferTask>;
  readonly #retries: TaskRetries;
  readonly #dispatch: TaskDispatch;
  readonly #outbox: OutboxDelivery;

  constructor(options: TransferQueueOptions) {
    this.#options = options;
    this.#tenure = options.tenure;
    this.#lines = new TaskLines(
      (task) => this.run(task),
      (go) => this.#tenure.after(0, go),
    );
    this.#retries = new TaskRetries(options, (task, tries) => this.#run(task, tries));
    const attempts: TaskAttempts = {
      isStillOurs: (task) => this.#isStillOurs(task),
      fails: (task, tries, failure) => this.#fails(task, tries, failure),
      threw: (task, tries, error) => this.#threw(task, tries, error),
      over: (task) => this.#over(task),
      hasNamespace: (task, namespaceId, tries) => this.#hasNamespace(task, namespaceId, tries),
    };
    this.#dispatch = new TaskDispatch(options, attempts);
    this.#outbox = new OutboxDelivery(options, attempts);
  }

  /** After a takeover: what the journal left pending. */
  runPending(): void {
    this.runAll([...this.#options.shard.pendingTransferTasks()].filter(isToRun));
  }

  /** In their order, behind those that are on: a few in each turn of the event loop. */
  runAll(tasks: readonly TransferTask[]): void {
    this.#lines.add(PENDING, tasks);
  }

  committed(record: HistoryRecord, _position: RecordPosition, replayed: boolean): void {
    if (replayed) return;
    for (const { runId, facts } of record.runs) {
      for (const { fact } of facts) if (fact.kind === 'runTakenBack') this.#runTakenBack(record, runId);
    }
    for (const { task } of record.lettersBegun ?? []) {
      if (isTimer(task)) continue;
      this.#options.shard.unsentTasks.begun(task.taskId);
      this.run(task);
    }
    if (record.tasks.length > TASKS_PER_TURN_MAX || !this.#lines.isEmpty) return this.#runInTurn(record, record.tasks);
    for (const task of record.tasks) if (!isTimer(task)) this.run(task);
  }

  /** A worker may schedule thousands of activities at once, and what its workflow does next comes behind them. */
  #runInTurn({ namespaceId, workflowId }: HistoryRecord, tasks: readonly Task[]): void {
    const line = executionKey(namespaceId, workflowId);
    const transfers = tasks.filter((task) => !isTimer(task));
    if (transfers.length > TASKS_PER_TURN_MAX || this.#lines.has(line)) this.#lines.add(line, transfers);
    else for (const task of transfers) this.run(task);
  }

  /** What waited aside. What the record brings of its own is run with it, and what later ones bring is not committed yet. */
  #runTakenBack(record: HistoryRecord, runId: string): void {
    const ownTaskId = record.tasks[0]?.taskId ?? Infinity;
    const pending = [...this.#options.shard.pendingTransferTasks()];
    const earlier = pending.filter((task) => task.key.runId === runId && task.taskId < ownTaskId && isToRun(task));
    this.#runInTurn(record, earlier);
  }

  run(task: TransferTask): void {
    this.#run(task, firstTry);
  }

  #run(task: TransferTask, tries: Tries): void {
    if (!this.#tenure.active) return;
    const pending = this.#options.shard.pendingTask(task.taskId);
    if (pending === undefined) return this.#ended(task.taskId, tries);
    try {
      const injected = this.#options.failed.injected(task);
      if (injected !== undefined) this.#fails(task, tries, injected);
      else if (isLastMessage(pending) || this.#hasNamespace(task, task.key.namespaceId, tries)) this.#send(task, tries);
    } catch (error) {
      this.#threw(task, tries, error);
    }
  }

  /** Those that have not failed are counted nowhere. */
  #ended(taskId: number, tries: Tries): void {
    if (tries.failures === 0) return;
    this.#options.failed.forget(taskId);
    this.#options.shard.room?.delivered(taskId);
  }

  /** A bug of ours that meets this task is this task's trouble alone. */
  #threw(task: TransferTask, tries: Tries, error: unknown): void {
    const { namespaceId, workflowId, runId } = task.key;
    const { kind, taskId } = task;
    const problem = error instanceof Error ? error : new Error(String(error));
    this.#options.logger.error('a task cannot be run', {
      task: kind,
      taskId,
      namespaceId,
      workflowId,
      runId,
      attempt: tries.attempt,
      error: problem,
    });
    this.#fails(task, tries, thrownByTask(error));
  }

  #isStillOurs({ taskId }: TransferTask): boolean {
    return this.#tenure.active && this.#options.shard.pendingTask(taskId) !== undefined;
  }

  #fails(task: TransferTask, tries: Tries, failure: TaskFailure): void {
    if (!this.#isStillOurs(task)) return;
    const next = this.#options.failed.failed(task, failure, tries.attempt);
    switch (next.kind) {
      case 'notYet':
        return this.#retries.retry(task, tries, failure.error.errorMessage);
      case 'over':
        return this.#over(task);
      case 'again':
        return this.#retries.pause(task, tries, next.pauseMs);
      default:
        return unreachable(next);
    }
  }

  /** Tasks for workers end with their subjects. */
  #over({ kind, taskId }: TransferTask): void {
    this.#options.failed.forget(taskId);
    if (kind === 'workflowTask' || kind === 'activityTask') return;
    this.#options.shard.submit({ kind: 'finishOutboxTask', taskId, outcome: { kind: 'done', nothingLeft } });
  }

  // ── Namespaces that are gone ───────────────────────────────────────────────────────────────────────────────────────────────

  /** False: it goes no further; its namespace is gone, or is looked for. */
  #hasNamespace(task: TransferTask, namespaceId: string, tries: Tries): boolean {
    const { namespaces } = this.#options;
    const fate = namespaces?.fateOf(namespaceId) ?? 'there';
    if (fate === 'unknown') namespaces?.readAfresh((isRead) => this.#looked(task, namespaceId, tries, isRead));
    else if (fate === 'deleted') this.#namespaceGone(task, namespaceId, tries);
    return fate === 'there';
  }

  #looked(task: TransferTask, namespaceId: string, tries: Tries, isRead: boolean): void {
    if (!this.#isStillOurs(task)) return;
    const { namespaces } = this.#options;
    if (!isRead) this.#retries.retry(task, tries, `namespace ${namespaceId} is not known here, and the registry cannot be read now`);
    else if (namespaces?.fateOf(namespaceId) === 'there') this.#run(task, tries);
    else this.#namespaceGone(task, namespaceId, tries);
  }

  /** What a deletion has left to tell has nobody to hear it. */
  #namespaceGone(task: TransferTask, namespaceId: string, tries: Tries): void {
    const { failed, shard } = this.#options;
    const pending = shard.pendingTask(task.taskId);
    if (pending !== undefined && isLastMessage(pending)) return this.#over(task);
    const { pauseMs } = failed.namespaceGone(task, namespaceGoneMessage(namespaceId));
    this.#retries.pause(task, tries, pauseMs);
  }

  // ── Attempts ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #send(task: TransferTask, tries: Tries): void {
    if (!isDispatch(task)) this.#options.shard.unsentTasks.sent(task.taskId);
    switch (task.kind) {
      case 'workflowTask':
      case 'activityTask':
        return this.#dispatch.dispatch(task, tries);
      case 'startChild':
      case 'scheduleChildFirstTask':
      case 'signalExternal':
      case 'cancelExternal':
      case 'notifyParent':
      case 'closeChild':
      case 'startAction':
      case 'endAction':
      case 'lookAtAction':
      case 'notifySchedule':
        return this.#options.shard.submit({ kind: 'runOutboxTask', taskId: task.taskId, newRunId: this.#newRunId(), tries });
      case 'invokeCallback':
        return this.#callback(task, tries);
      case 'upsertVisibility':
        return this.#options.shard.submit({ kind: 'writeRow', taskId: task.taskId, tries });
      default:
        return unreachable(task);
    }
  }

  /** Its run is in memory. */
  writeRow({ taskId, tries }: RowToWrite): void {
    const task = this.#options.shard.pendingTask(taskId);
    if (task?.kind === 'upsertVisibility')
      void this.#options.shard.writeRow(task).then((answer) => this.#sideAnswered(task, tries, answer));
  }

  #sideAnswered(task: SideTask, tries: Tries, answer: SideAnswer): void {
    if (answer.kind === 'failed') return this.#fails(task, tries, answer.failure);
    if (tries.failures > 0) this.#options.failed.forget(task.taskId);
    this.#options.shard.submit(answer.command);
  }

  #callback(task: InvokeCallbackTask, tries: Tries): void {
    const failure = this.#options.whyNoCallback(task);
    if (failure !== undefined) return this.#fails(task, tries, failure);
    this.#options.shard.submit({ kind: 'runCallback', taskId: task.taskId, tries });
  }

  callbackFailed(taskId: number, tries: Tries, failure: TaskFailure): void {
    const task = this.#options.shard.pendingTask(taskId);
    if (task !== undefined) this.#fails(task, tries, failure);
  }

  #newRunId(): string {
    const { clock, random } = this.#options;
    return uuidAt(clock.wallMs(), random.nonce());
  }

  /** The message of a task is built. */
  deliver(message: Deliver): void {
    this.#outbox.deliver(message);
  }

  /** It cannot be built. It has been logged. */
  undecided({ taskId, tries }: RunOutboxTask | WriteRow, error: unknown): void {
    const task = this.#options.shard.pendingTask(taskId);
    if (task !== undefined) this.#fails(task, tries, thrownByTask(error));
  }

  /** What its target has answered cannot be written: it is asked again, and answers the same. */
  unfinished(taskId: number, error: unknown): void {
    const task = this.#options.shard.pendingTask(taskId);
    if (task !== undefined) this.#fails(task, firstTry, thrownByTask(error));
  }

  /** Its run is out of reach, which is no fault of the task. */
  notLoaded({ taskId, tries }: RunOutboxTask | WriteRow, reason: string): void {
    const task = this.#options.shard.pendingTask(taskId);
    if (task !== undefined) this.#retries.retry(task, tries, reason);
  }
}

/** What matching has stored it offers by itself. */
function isToRun(task: TransferTask): boolean {
  return !isDispatch(task) || task.atMatching !== true;
}
