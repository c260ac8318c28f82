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
import { saidError, type TaskFailure } from '../../../deadletters/task-failure.ts';
import type { DecidedRequest, Deliver, OutboxMessage, OutboxOutcome, RunOutboxTask } from '../../../history/commands/history-commands.ts';
import { taskQueueKind } from '../../../history/generated/enums.ts';
import type { HistoryReply } from '../../../history/run/history-replies.ts';
import { outboxOutcome, outboxTooLarge } from '../../../history/tasks/outbox.ts';
import type { MatchingRejected } from '../../../matching/matching-replies.ts';
import { historyShardOf } from '../../../kernel/shard.ts';
import { matchingPartitionOf, partitionOf, taskTypes, typeOfTask } from '../../../kernel/task-queue.ts';
import { isAskFailure, ownWork, type AskFailure } from '../../asks/asks.ts';
import type { RowToWrite } from '../../../history/run/effects.ts';
import type { WriteRow } from '../../../history/commands/task-commands.ts';
import type { HistoryRecord } from '../../../history/run/record.ts';
import { executionKey } from '../../../history/run/state.ts';
import { isDispatch, isLastMessage, isSide, isTimer } from '../../../history/run/tasks.ts';
import type { DispatchTask, InvokeCallbackTask, SideTask, Task, TransferTask } from '../../../history/run/tasks.ts';
import { unreachable } from '../../../kernel/assert.ts';
import { asError } from '../../../kernel/error-text.ts';
import { uuidAt } from '../../../kernel/uuid.ts';
import type { Asker } from '../../asks/router.ts';
import { firstTry, type Tries } from '../../asks/tries.ts';
import type { RecordPosition } from '../../../ports/log.ts';
import type { CommitSubscriber } from '../../../ports/commit-subscriber.ts';
import type { Tenure } from '../../partition/partition-core.ts';
import type { ClockAndLogger, Random } from '../../../ports/machine.ts';
import type { FailedTasks } from '../hand-over/failed-tasks.ts';
import { refusedDispatch, rejectedTask, thrownByTask, unansweredTask } from '../hand-over/task-failures.ts';
import type { SideAnswer } from '../side-tasks/side-tasks.ts';
import { TASKS_PER_TURN_MAX, TaskLines } from './task-lines.ts';
import { namespaceGoneMessage, type TaskNamespaces } from './task-namespaces.ts';
import { TaskRetries } from './task-retries.ts';
import type { ClusterLayout, TransferShard } from './transfer-shard.ts';

export type TransferQueueOptions = ClockAndLogger & {
  readonly shard: TransferShard;
  readonly failed: FailedTasks;
  readonly namespaces: TaskNamespaces;
  /** When it ends, whoever takes over runs what is pending. */
  readonly tenure: Pick<Tenure<never>, 'active' | 'after'>;
  readonly whyNoCallback: (task: InvokeCallbackTask) => TaskFailure | undefined;
  readonly router: Asker;
  readonly layout: ClusterLayout;
  readonly random: Random;
};

type OutboxTask = Exclude<TransferTask, DispatchTask | SideTask>;

const DELIVERY_TIMEOUT_MS = 10_000;
const nothingLeft = 'the task is obsolete';
/** The line of those that a takeover finds, or that waited elsewhere. Workflows have lines of their own. */
const PENDING = '';

export class TransferQueue implements CommitSubscriber<HistoryRecord> {
  readonly #options: TransferQueueOptions;
  readonly #lines: TaskLines<TransferTask>;
  readonly #retries: TaskRetries;

  constructor(options: TransferQueueOptions) {
    this.#options = options;
    this.#lines = new TaskLines(
      (task) => this.run(task),
      (go) => options.tenure.after(0, go),
    );
    this.#retries = new TaskRetries(options, (task, tries) => this.#run(task, tries));
  }

  runPending(): void {
    this.runAll([...this.#options.shard.pendingTransferTasks()].filter(isToRun));
  }

  /** Runs tasks in their order, behind those that are on, a few in each turn of the event loop. */
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
    if (!this.#options.tenure.active) return;
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

  /** Only tasks that have failed are counted anywhere. */
  #ended(taskId: number, tries: Tries): void {
    if (tries.failures === 0) return;
    this.#options.failed.forget(taskId);
    this.#options.shard.room?.delivered(taskId);
  }

  /** A bug of ours that meets this task is this task's trouble alone. */
  #threw(task: TransferTask, tries: Tries, error: unknown): void {
    const { kind, taskId, key } = task;
    this.#options.logger.error('a task cannot be run', { task: kind, taskId, ...key, attempt: tries.attempt, error: asError(error) });
    this.#fails(task, tries, thrownByTask(error));
  }

  /** False: the task has ended, waits aside, or is the business of another owner of the shard. */
  #isStillOurs({ taskId }: TransferTask): boolean {
    return this.#options.tenure.active && this.#options.shard.pendingTask(taskId) !== undefined;
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
    const fate = namespaces.fateOf(namespaceId);
    if (fate === 'unknown') namespaces.readAfresh((isRead) => this.#looked(task, namespaceId, tries, isRead));
    else if (fate === 'deleted') this.#namespaceGone(task, namespaceId, tries);
    return fate === 'there';
  }

  #looked(task: TransferTask, namespaceId: string, tries: Tries, isRead: boolean): void {
    if (!this.#isStillOurs(task)) return;
    if (!isRead) this.#retries.retry(task, tries, `namespace ${namespaceId} is not known here, and the registry cannot be read now`);
    else if (this.#options.namespaces.fateOf(namespaceId) === 'there') this.#run(task, tries);
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
    const { shard, whyNoCallback, clock, random } = this.#options;
    const { taskId } = task;
    if (!isDispatch(task)) shard.unsentTasks.sent(taskId);
    switch (task.kind) {
      case 'workflowTask':
      case 'activityTask':
        return this.#dispatch(task, tries);
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
        return shard.submit({ kind: 'runOutboxTask', taskId, newRunId: uuidAt(clock.wallMs(), random.nonce()), tries });
      case 'invokeCallback': {
        const failure = whyNoCallback(task);
        return failure === undefined ? shard.submit({ kind: 'runCallback', taskId, tries }) : this.#fails(task, tries, failure);
      }
      case 'upsertVisibility':
        return shard.submit({ kind: 'writeRow', taskId, tries });
      default:
        return unreachable(task);
    }
  }

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

  /** Of whoever made the attempt: its message or row could not be built or written, or its callback was not delivered. */
  attemptFailed(taskId: number, tries: Tries, failure: TaskFailure): void {
    const task = this.#options.shard.pendingTask(taskId);
    if (task !== undefined) this.#fails(task, tries, failure);
  }

  // ── Tasks for workers, to matching ─────────────────────────────────────────────────────────────────────────────────────────

  /**
   *     sticky queue ── nobody polls it ──▶ the normal queue, any partition ─┬─ done       a poll has it, or the memory of a sticky queue
   *                                                                         └─ stored     it is not offered again, though a takeover finds it pending
   */
  #dispatch(task: DispatchTask, tries: Tries, taskQueue = task.taskQueue): void {
    const { router, layout, shard, clock, random } = this.#options;
    const drawn = (): number => Math.floor(random.fraction() * layout.taskQueuePartitions);
    const queue = partitionOf(task.key.namespaceId, taskQueue, typeOfTask[task.kind], drawn);
    const { key, scheduledEventId, stamp, taskId, priority, scheduleToStartTimeoutMs } = task;
    const expiryTimeMs = scheduleToStartTimeoutMs === 0 ? 0 : clock.wallMs() + scheduleToStartTimeoutMs;
    const offered = { key, historyShard: shard.shard, scheduledEventId, stamp, expiryTimeMs, taskId, priority };
    const request = { kind: taskTypes[queue.taskType].add, queue, task: offered, forwardedFrom: undefined, holdUntilMs: 0 };
    const host = matchingPartitionOf(queue, layout.matchingPartitions);
    const isFirst = shard.unsentTasks.sent(taskId);
    router.askMatching(host, request, ownWork(clock.monoMs() + DELIVERY_TIMEOUT_MS), (reply) => {
      if (reply.kind === 'stored' || reply.kind === 'done') return this.#dispatched(task, tries, reply.kind);
      if (isFirst && hasDoneNothing[reply.kind] && this.#isStillOurs(task)) shard.unsentTasks.refused(taskId);
      try {
        if (reply.kind === 'stickyUnavailable') this.#dispatchToNormalQueue(task, tries);
        else this.#fails(task, tries, whyNotDispatched(reply));
      } catch (error) {
        this.#threw(task, tries, error);
      }
    });
  }

  #dispatched({ taskId }: DispatchTask, tries: Tries, how: 'stored' | 'done'): void {
    const { shard, failed } = this.#options;
    if (tries.failures > 0) failed.forget(taskId);
    if (how === 'stored') shard.stored(taskId);
    else shard.room?.delivered(taskId);
  }

  /** Nobody polls the sticky queue: any worker may have the task, with its whole history, at once. */
  #dispatchToNormalQueue(task: DispatchTask, tries: Tries): void {
    if (!this.#isStillOurs(task)) return;
    this.#dispatch(task, tries, { name: task.taskQueue.normalName, kind: taskQueueKind.normal, normalName: '' });
  }

  // ── Messages of outbox tasks, to the shards of their targets ───────────────────────────────────────────────────────────────

  /** The message of a task is built: the answer to it ends the task. */
  deliver({ taskId, message, tries }: Deliver): void {
    const task = this.#options.shard.pendingTask(taskId);
    if (task === undefined || isDispatch(task) || isSide(task) || !this.#isStillOurs(task)) return;
    try {
      this.#deliverMessage(task, message, tries);
    } catch (error) {
      this.#threw(task, tries, error);
    }
  }

  #deliverMessage(task: OutboxTask, outgoing: OutboxMessage | undefined, tries: Tries): void {
    const { router, layout, shard, tenure, clock } = this.#options;
    if (outgoing === undefined) return this.#over(task);
    if (!this.#hasNamespace(task, outgoing.targetNamespaceId, tries)) return;
    const target = historyShardOf(outgoing.targetNamespaceId, outgoing.targetWorkflowId, layout.historyShards);
    router.askHistory(target, withRetention(outgoing.command, shard), ownWork(clock.monoMs() + DELIVERY_TIMEOUT_MS), (reply) => {
      if (!tenure.active) return;
      try {
        const outcome = outcomeOf(task, reply);
        if (outcome === undefined) this.#fails(task, tries, whyNotDelivered(reply));
        else shard.submit({ kind: 'finishOutboxTask', taskId: task.taskId, outcome });
      } catch (error) {
        this.#threw(task, tries, error);
      }
    });
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

/** Whether nobody has the task, nor will have it because of that. */
const hasDoneNothing: Readonly<Record<(MatchingRejected | AskFailure)['kind'] | 'noMatch' | 'stickyUnavailable', boolean>> = {
  ...{ rejected: true, noMatch: true, stickyUnavailable: true, notHere: true, busy: true, tooLarge: true, internal: true, dataLoss: true },
  ...{ unavailable: false, deadline: false },
};

function whyNotDispatched(reply: MatchingRejected | AskFailure | { readonly kind: 'noMatch' }): TaskFailure {
  if (reply.kind === 'rejected') return refusedDispatch(reply.rejection);
  // It would have been stored, had there been room in its partition's journal.
  if (reply.kind === 'noMatch') return { kind: 'notYet', why: 'notReady', error: saidError('NoMatch', 'nobody polls its queue') };
  return unansweredTask(reply);
}

/** A child is kept as long as its namespace says, which the registry knows and the parent's shard need not. */
function withRetention(command: DecidedRequest, { retentionMsOf }: Pick<TransferShard, 'retentionMsOf'>): DecidedRequest {
  if (command.kind !== 'startWorkflow') return command;
  const retentionMs = retentionMsOf(command.key.namespaceId);
  return retentionMs === undefined ? command : { ...command, retentionMs };
}

function outcomeOf(task: OutboxTask, reply: HistoryReply | AskFailure): OutboxOutcome | undefined {
  if (reply.kind === 'tooLarge') return outboxTooLarge(task.kind);
  return isAskFailure(reply) ? undefined : outboxOutcome(task.kind, reply);
}

function whyNotDelivered(reply: HistoryReply | AskFailure): TaskFailure {
  if (isAskFailure(reply)) return unansweredTask(reply);
  if (reply.kind === 'rejected') return rejectedTask(reply.rejection);
  return { kind: 'failed', by: 'bug', error: saidError('Internal', `unexpected answer ${reply.kind}`) };
}
