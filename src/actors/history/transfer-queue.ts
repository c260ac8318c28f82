/**
 * Runs the pending transfer tasks of one history shard: after the commit of the record that made them, and again after a takeover, at
 * least once each.
 *
 *     workflowTask, activityTask ──▶ matching: matched with a poll, or stored there. The task stays pending in the shard until it
 *                                    started or is obsolete, and a takeover offers it again, unless it was noted that it is stored there.
 *     the others (the outbox)    ──▶ runOutboxTask, in the mailbox: a message ──▶ the target's shard; its answer becomes finishOutboxTask here.
 *
 * What cannot be delivered now is tried again, with a growing pause, for as long as the task is pending. What cannot be built, or is
 * refused because of what it is (its target cannot decide or write it), has failed; after a few failures the task's run is put aside.
 * Attempts that met nobody (a target that moves, a log that does not answer) are no failures, however many they are.
 */
import { unreachable } from '../../kernel/assert.ts';
import { historyShardOf } from '../../kernel/shard.ts';
import { uuidAt } from '../../kernel/uuid.ts';
import { NowAndThen } from '../now-and-then.ts';
import { matchingPartitionOf, type TaskQueuePartition } from '../../matching/task-queue.ts';
import { taskQueueKind } from '../../history/generated/enums.ts';
import type { DecidedRequest, Deliver, OutboxMessage, OutboxOutcome, OwnHistoryCommand, RunOutboxTask } from '../../history/commands.ts';
import { outboxOutcome, outboxTooLarge } from '../../history/outbox/outbox.ts';
import type { HistoryRecord } from '../../history/record.ts';
import type { HistoryReply } from '../../history/replies.ts';
import { executionKey } from '../../history/state.ts';
import { type DispatchTask, isDispatch, isLastMessage, isTimer, type Task, type TransferTask } from '../../history/tasks.ts';
import type { Logger } from '../../observability/logger.ts';
import { type AskFailure, isAskFailure } from '../asks/asks.ts';
import { backOffMs } from '../../kernel/back-off.ts';
import { failedOnceMore, FAILURES_MAX, firstTry, nextTry, type Tries } from '../asks/tries.ts';
import type { TaskQueue } from '../../history/generated/public-api.ts';
import type { RecordPosition } from '../log.ts';
import type { CommitSubscriber } from '../partition/partition-core.ts';
import type { Clock, Random } from '../ports.ts';
import type { Asker } from '../asks/router.ts';
import type { Tenure } from '../partition/tenure.ts';
import { TASKS_PER_TURN_MAX, TaskLines } from './task-lines.ts';

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
  /** The task's run takes no part in the queues from now on: what the task needs cannot be done. */
  putAside(task: TransferTask, reason: string): void;
  /** A command of the shard's own: nobody waits for its answer. */
  submit(command: OwnHistoryCommand): void;
}

export type TransferQueueOptions = {
  readonly shard: TransferShard;
  /** When it ends, whoever takes over runs what is pending. */
  readonly tenure: Pick<Tenure<never>, 'active' | 'after'>;
  readonly router: Asker;
  readonly layout: ClusterLayout;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
};

type OutboxTask = Exclude<TransferTask, DispatchTask>;

const DELIVERY_TIMEOUT_MS = 10_000;
const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MS_MAX = 5_000;
/** However many wait, no more than 1,000 a second are tried again: a full backlog may hold up hundreds of thousands. */
const RETRY_DELAY_MS_PER_TASK = 1;
/** From this attempt on a delivery that still fails is worth a warning; one speaks for all that fail at the time. */
const WARN_ATTEMPT = 5;
const WARN_INTERVAL_MS = 5_000;
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
    if (!this.#tenure.active || this.#options.shard.pendingTask(task.taskId) === undefined) return;
    try {
      this.#send(task, tries);
    } catch (error) {
      this.#failed(task, tries, error);
    }
  }

  /** A bug of ours that meets this task is this task's trouble alone. */
  #failed(task: TransferTask, tries: Tries, error: unknown): void {
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
    this.#hopeless(task, failedOnceMore(tries), `${problem.name}: ${problem.message}`);
  }

  /** Trying again will hardly help: the task is tried some more times and then put aside, if it has a run that can be: others are tried for ever. */
  #hopeless(task: TransferTask, tries: Tries, reason: string): void {
    const pending = this.#options.shard.pendingTask(task.taskId);
    const hasRun = pending !== undefined && !isLastMessage(pending);
    if (hasRun && tries.failures >= FAILURES_MAX) this.#options.shard.putAside(task, reason);
    else this.#retry(task, tries, reason);
  }

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
      default:
        return unreachable(task);
    }
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
        if (reply.kind === 'stored') return shard.stored(task.taskId);
        if (reply.kind === 'done') return shard.room?.delivered(task.taskId);
        try {
          if (reply.kind === 'stickyUnavailable') this.#dispatchToNormalQueue(task, tries);
          else this.#retry(task, tries, whyNot(reply));
        } catch (error) {
          this.#failed(task, tries, error);
        }
      },
    );
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
    if (!this.#tenure.active || task === undefined || task.kind === 'workflowTask' || task.kind === 'activityTask') return;
    try {
      this.#deliver(task, message, tries);
    } catch (error) {
      this.#failed(task, tries, error);
    }
  }

  /** It cannot be built. It has been logged. */
  undecided({ taskId, tries }: RunOutboxTask, reason: string): void {
    const task = this.#options.shard.pendingTask(taskId);
    if (task !== undefined) this.#hopeless(task, failedOnceMore(tries), reason);
  }

  /** Its run is out of reach, which is no fault of the task. */
  notLoaded({ taskId, tries }: RunOutboxTask, reason: string): void {
    const task = this.#options.shard.pendingTask(taskId);
    if (task !== undefined) this.#retry(task, tries, reason);
  }

  #deliver(task: OutboxTask, outgoing: OutboxMessage | undefined, tries: Tries): void {
    const { router, layout, shard } = this.#options;
    if (outgoing === undefined) return shard.submit({ kind: 'finishOutboxTask', taskId: task.taskId, outcome: { kind: 'done' } });
    const target = historyShardOf(outgoing.targetNamespaceId, outgoing.targetWorkflowId, layout.historyShards);
    router.askHistory(target, this.#withRetention(outgoing.command), this.#deadlineMs(), (reply) => {
      if (!this.#tenure.active) return;
      if (reply.kind === 'internal') return this.#hopeless(task, failedOnceMore(tries), whyNot(reply));
      try {
        const outcome = outcomeOf(task, reply);
        if (outcome === undefined && reply.kind === 'tooLarge') this.#hopeless(task, failedOnceMore(tries), whyNot(reply));
        else if (outcome === undefined) this.#retry(task, tries, whyNot(reply));
        else shard.submit({ kind: 'finishOutboxTask', taskId: task.taskId, outcome });
      } catch (error) {
        this.#failed(task, tries, error);
      }
    });
  }

  /** A child is kept as long as its namespace says, which the registry knows and the parent's shard need not. */
  #withRetention(command: DecidedRequest): DecidedRequest {
    if (command.kind !== 'startWorkflow') return command;
    const retentionMs = this.#options.shard.retentionMsOf(command.key.namespaceId);
    return retentionMs === undefined ? command : { ...command, retentionMs };
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

function whyNot(reply: { readonly kind: string; readonly message?: string; readonly rejection?: { readonly message: string } }): string {
  return reply.rejection?.message ?? reply.message ?? `unexpected answer ${reply.kind}`;
}
