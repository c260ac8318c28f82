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
import { saidError, type TaskFailure } from '../../deadletters/task-failure.ts';
import { unreachable } from '../../kernel/assert.ts';
import { historyShardOf } from '../../kernel/shard.ts';
import { uuidAt } from '../../kernel/uuid.ts';
import { NowAndThen } from '../now-and-then.ts';
import { matchingPartitionOf, type TaskQueuePartition } from '../../matching/task-queue.ts';
import { taskQueueKind } from '../../history/generated/enums.ts';
import type { DecidedRequest, Deliver, OutboxMessage, OutboxOutcome, OwnHistoryCommand, RunOutboxTask } from '../../history/commands.ts';
import type { RowToWrite } from '../../history/effects.ts';
import type { WriteRow } from '../../history/execution/row-commands.ts';
import { outboxOutcome, outboxTooLarge } from '../../history/outbox/outbox.ts';
import type { HistoryRecord } from '../../history/record.ts';
import type { HistoryReply } from '../../history/replies.ts';
import { executionKey } from '../../history/state.ts';
import {
  type DispatchTask,
  type InvokeCallbackTask,
  isDispatch,
  isLastMessage,
  isSide,
  isTimer,
  type SideTask,
  type Task,
  type TransferTask,
} from '../../history/tasks.ts';
import type { MatchingRejected } from '../../matching/replies.ts';
import type { Logger } from '../../observability/logger.ts';
import { type AskFailure, isAskFailure } from '../asks/asks.ts';
import { backOffMs } from '../../kernel/back-off.ts';
import { failedOnceMore, firstTry, nextTry, type Tries } from '../asks/tries.ts';
import type { TaskQueue } from '../../history/generated/public-api.ts';
import type { RecordPosition } from '../log.ts';
import type { CommitSubscriber } from '../partition/partition-core.ts';
import type { Clock, Random } from '../ports.ts';
import type { Asker } from '../asks/router.ts';
import type { Tenure } from '../partition/tenure.ts';
import type { FailedTasks } from './failed-tasks.ts';
import type { SideAnswer } from './side-tasks/side-tasks.ts';
import { refusedDispatch, rejectedTask, thrownByTask, unansweredTask } from './task-failures.ts';
import { TASKS_PER_TURN_MAX, TaskLines } from './task-lines.ts';
import { namespaceGoneMessage, type TaskNamespaces } from './task-namespaces.ts';

/** How many actors and queue partitions there are: fixed when the topics were made. */
export type ClusterLayout = {
  readonly historyShards: number;
  readonly matchingPartitions: number;
  readonly taskQueuePartitions: number;
};

/** Which tasks for workers may wait in memory for their next attempt (history/transfer/transfer-window.ts). Those that may not come back in `runAll`. */
export interface TransferRoom {
  /** A poll has it, or the memory of a sticky queue. */
  delivered(taskId: number): void;
  /** It was refused. False: it waits elsewhere. */
  keeps(taskId: number): boolean;
  /** The pause after that is over. False: likewise. */
  hasTurn(taskId: number): boolean;
  /** It has failed, and waits for its next attempt beside all others. False: too many do, it waits elsewhere. */
  fails(taskId: number): boolean;
  /** Elsewhere. */
  readonly othersWait: boolean;
}

/** What the queue needs of its shard. */
export interface TransferShard {
  readonly shard: number;
  /** Undefined: it has ended, or waits aside. */
  pendingTask(taskId: number): TransferTask | undefined;
  pendingTransferTasks(): Iterable<TransferTask>;
  /** Matching has stored it. */
  stored(taskId: number): void;
  /** undefined: for all. */
  readonly room: TransferRoom | undefined;
  /** How long closed runs of a namespace are kept; undefined: not known here and now. */
  retentionMsOf(namespaceId: string): number | undefined;
  /** The row of List of a run in memory, as it is. Never rejects. */
  writeRow(task: SideTask): Promise<SideAnswer>;
  /** A command of the shard's own: nobody waits for its answer. */
  submit(command: OwnHistoryCommand): void;
}

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

type OutboxTask = Exclude<TransferTask, DispatchTask | SideTask>;

const DELIVERY_TIMEOUT_MS = 10_000;
const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MS_MAX = 5_000;
/** However many wait, no more than 1,000 a second are tried again: a full backlog may hold up hundreds of thousands. */
const RETRY_DELAY_MS_PER_TASK = 1;
/** From this attempt on a delivery that still fails is worth a warning; one speaks for all that fail at the time. */
const WARN_ATTEMPT = 5;
const WARN_INTERVAL_MS = 5_000;
const nothingLeft = 'what it was for is over';
/** The line of those that a takeover finds, or that waited elsewhere. Workflows have lines of their own. */
const PENDING = '';

export class TransferQueue implements CommitSubscriber<HistoryRecord> {
  readonly #options: TransferQueueOptions;
  readonly #tenure: Pick<Tenure<never>, 'active' | 'after'>;
  /** Tasks that wait for their next attempt. */
  #waiting = 0;
  readonly #lines: TaskLines<TransferTask>;
  readonly #warnings: NowAndThen;

  constructor(options: TransferQueueOptions) {
    this.#options = options;
    this.#tenure = options.tenure;
    this.#warnings = new NowAndThen(options.clock, WARN_INTERVAL_MS);
    this.#lines = new TaskLines(
      (task) => this.run(task),
      (go) => this.#tenure.after(0, go),
    );
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
    for (const { task } of record.lettersBegun ?? []) if (!isTimer(task)) this.run(task);
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

  #fails(task: TransferTask, tries: Tries, failure: TaskFailure): void {
    const { failed, shard } = this.#options;
    if (!this.#tenure.active || shard.pendingTask(task.taskId) === undefined) return;
    const next = failed.failed(task, failure, tries.attempt);
    switch (next.kind) {
      case 'notYet':
        return this.#retry(task, tries, failure.error.errorMessage);
      case 'over':
        return this.#over(task);
      case 'again':
        return this.#pause(task, tries, next.pauseMs);
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
    const { namespaces, shard } = this.#options;
    if (!this.#tenure.active || shard.pendingTask(task.taskId) === undefined) return;
    if (!isRead) this.#retry(task, tries, `namespace ${namespaceId} is not known here, and the registry cannot be read now`);
    else if (namespaces?.fateOf(namespaceId) === 'there') this.#run(task, tries);
    else this.#namespaceGone(task, namespaceId, tries);
  }

  /** What a deletion has left to tell has nobody to hear it. */
  #namespaceGone(task: TransferTask, namespaceId: string, tries: Tries): void {
    const { failed, shard } = this.#options;
    const pending = shard.pendingTask(task.taskId);
    if (pending !== undefined && isLastMessage(pending)) return this.#over(task);
    const { pauseMs } = failed.namespaceGone(task, namespaceGoneMessage(namespaceId));
    this.#pause(task, tries, pauseMs);
  }

  // ── Attempts ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #send(task: TransferTask, tries: Tries): void {
    switch (task.kind) {
      case 'workflowTask':
      case 'activityTask':
        return this.#dispatch(task, task.taskQueue, tries);
      case 'startChild':
      case 'scheduleChildFirstTask':
      case 'signalExternal':
      case 'cancelExternal':
      case 'notifyParent':
      case 'closeChild':
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

  #dispatch(task: DispatchTask, taskQueue: TaskQueue, tries: Tries): void {
    const { router, layout, shard } = this.#options;
    const queue = this.#partitionFor(task, taskQueue);
    router.askMatching(
      matchingPartitionOf(queue, layout.matchingPartitions),
      {
        kind: task.kind === 'workflowTask' ? 'addWorkflowTask' : 'addActivityTask',
        queue,
        task: {
          key: task.key,
          historyShard: shard.shard,
          scheduledEventId: task.scheduledEventId,
          stamp: task.stamp,
          expiryTimeMs: task.scheduleToStartTimeoutMs === 0 ? 0 : this.#options.clock.wallMs() + task.scheduleToStartTimeoutMs,
          taskId: task.taskId,
        },
        forwardedFrom: undefined,
        holdUntilMs: 0,
      },
      this.#deadlineMs(),
      (reply) => {
        if (reply.kind === 'stored' || reply.kind === 'done') return this.#dispatched(task, tries, reply.kind);
        try {
          if (reply.kind === 'stickyUnavailable') this.#dispatchToNormalQueue(task, tries);
          else this.#fails(task, tries, whyNotDispatched(reply));
        } catch (error) {
          this.#threw(task, tries, error);
        }
      },
    );
  }

  #dispatched({ taskId }: DispatchTask, tries: Tries, how: 'stored' | 'done'): void {
    const { shard, failed } = this.#options;
    if (tries.failures > 0) failed.forget(taskId);
    if (how === 'stored') shard.stored(taskId);
    else shard.room?.delivered(taskId);
  }

  /** Nobody polls the sticky queue: any worker may have the task, with its whole history, at once. */
  #dispatchToNormalQueue(task: DispatchTask, tries: Tries): void {
    if (!this.#tenure.active || this.#options.shard.pendingTask(task.taskId) === undefined) return;
    this.#dispatch(task, { name: task.taskQueue.normalName, kind: taskQueueKind.normal, normalName: '' }, tries);
  }

  #partitionFor(task: DispatchTask, taskQueue: TaskQueue): TaskQueuePartition {
    const sticky = taskQueue.kind === taskQueueKind.sticky;
    return {
      namespaceId: task.key.namespaceId,
      name: taskQueue.name,
      taskType: task.kind === 'workflowTask' ? 'workflow' : 'activity',
      partition: sticky ? 0 : Math.floor(this.#options.random.fraction() * this.#options.layout.taskQueuePartitions),
      kind: sticky ? 'sticky' : 'normal',
    };
  }

  /** The message of a task is built. */
  deliver({ taskId, message, tries }: Deliver): void {
    const task = this.#options.shard.pendingTask(taskId);
    if (!this.#tenure.active || task === undefined || isDispatch(task) || isSide(task)) return;
    try {
      this.#deliver(task, message, tries);
    } catch (error) {
      this.#threw(task, tries, error);
    }
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
    if (task !== undefined) this.#retry(task, tries, reason);
  }

  #deliver(task: OutboxTask, outgoing: OutboxMessage | undefined, tries: Tries): void {
    const { router, layout, shard } = this.#options;
    if (outgoing === undefined) return this.#over(task);
    if (!this.#hasNamespace(task, outgoing.targetNamespaceId, tries)) return;
    const target = historyShardOf(outgoing.targetNamespaceId, outgoing.targetWorkflowId, layout.historyShards);
    router.askHistory(target, this.#withRetention(outgoing.command), this.#deadlineMs(), (reply) => {
      if (!this.#tenure.active) return;
      try {
        const outcome = outcomeOf(task, reply);
        if (outcome === undefined) this.#fails(task, tries, whyNotDelivered(reply));
        else shard.submit({ kind: 'finishOutboxTask', taskId: task.taskId, outcome });
      } catch (error) {
        this.#threw(task, tries, error);
      }
    });
  }

  /** A child is kept as long as its namespace says, which the registry knows and the parent's shard need not. */
  #withRetention(command: DecidedRequest): DecidedRequest {
    if (command.kind !== 'startWorkflow') return command;
    const retentionMs = this.#options.shard.retentionMsOf(command.key.namespaceId);
    return retentionMs === undefined ? command : { ...command, retentionMs };
  }

  /** It has failed, as a person will see should it become a letter. */
  #pause(task: TransferTask, tries: Tries, pauseMs: number): void {
    const { shard, failed, random } = this.#options;
    if (isDispatch(task) && shard.room?.fails(task.taskId) === false) return failed.forget(task.taskId);
    this.#tenure.after(pauseMs * (0.8 + 0.4 * random.fraction()), () => this.#run(task, nextTry(failedOnceMore(tries))));
  }

  #retry(task: TransferTask, tries: Tries, reason: string): void {
    if (!this.#tenure.active) return;
    const { attempt } = tries;
    const room = isDispatch(task) && tries.failures === 0 ? this.#options.shard.room : undefined;
    const othersWait = room?.othersWait === true;
    if (attempt >= WARN_ATTEMPT || othersWait) this.#warn(task, attempt, reason);
    if (room?.keeps(task.taskId) === false) return;
    const waitingMs = this.#waiting * RETRY_DELAY_MS_PER_TASK;
    const backedOffMs = backOffMs(attempt, RETRY_DELAY_MS, Math.max(RETRY_DELAY_MS_MAX, waitingMs));
    const delayMs = (othersWait ? Math.max(backedOffMs, waitingMs) : backedOffMs) * (0.8 + 0.4 * this.#options.random.fraction());
    this.#waiting += 1;
    this.#tenure.after(delayMs, () => {
      this.#waiting -= 1;
      if (room?.hasTurn(task.taskId) !== false) this.#run(task, nextTry(tries));
    });
  }

  #warn(task: TransferTask, attempt: number, reason: string): void {
    if (!this.#warnings.now()) return;
    const { namespaceId, workflowId, runId } = task.key;
    this.#options.logger.warn('a task cannot be delivered', {
      task: task.kind,
      taskId: task.taskId,
      namespaceId,
      workflowId,
      runId,
      attempt,
      reason,
      waiting: this.#waiting + 1,
    });
  }

  #deadlineMs(): number {
    return this.#options.clock.monoMs() + DELIVERY_TIMEOUT_MS;
  }
}

/** What matching has stored it offers by itself. */
function isToRun(task: TransferTask): boolean {
  return !isDispatch(task) || task.atMatching !== true;
}

function outcomeOf(task: OutboxTask, reply: HistoryReply | AskFailure): OutboxOutcome | undefined {
  if (reply.kind === 'tooLarge') return outboxTooLarge(task.kind);
  return isAskFailure(reply) ? undefined : outboxOutcome(task.kind, reply);
}

function whyNotDelivered(reply: HistoryReply | AskFailure): TaskFailure {
  if (isAskFailure(reply)) return unansweredTask(reply);
  return reply.kind === 'rejected' ? rejectedTask(reply.rejection) : unexpected(reply);
}

function whyNotDispatched(reply: MatchingRejected | AskFailure | { readonly kind: 'noMatch' }): TaskFailure {
  if (reply.kind === 'rejected') return refusedDispatch(reply.rejection);
  // It would have been stored, had there been room in its partition's journal.
  if (reply.kind === 'noMatch') return { kind: 'notYet', why: 'notReady', error: saidError('NoMatch', 'nobody polls its queue') };
  return unansweredTask(reply);
}

function unexpected({ kind }: { readonly kind: string }): TaskFailure {
  return { kind: 'failed', isInternal: true, error: saidError('Internal', `unexpected answer ${kind}`) };
}
