/**
 * The shell around MatchingCore: what leaves a matching host, and the news that come back to it.
 *
 *     MatchingCore ──▶ startTask ─────▶ history shard ──▶ taskStartAnswered ─┐
 *         ▲        ├─▶ forwardPoll/Task ▶ parent's host ─▶ forwarded…Answered ─┤
 *         │        └─▶ one OS timer for the next deadline ─▶ tick ────────────┤
 *         └───────────────────────────────────────────────────────────────────┘
 *
 * Every such request ends in exactly one answer to the core, whatever happens; an answer to an earlier memory meets no correlation of
 * the present one.
 */
import { errorText } from '../../kernel/error-text.ts';
import { unreachable } from '../../kernel/assert.ts';
import type { Handled } from '../../kernel/handled.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { StartActivityTask, StartWorkflowTask } from '../../history/commands.ts';
import type { Rejection } from '../../history/replies.ts';
import { taskQueueKind } from '../../history/generated/enums.ts';
import type { ForwardedPollOutcome, ForwardedTaskOutcome, MatchingCommand, StartOutcome } from '../../matching/commands.ts';
import type {
  Broken,
  CountStoredTasks,
  ForwardPoll,
  ForwardTask,
  LoadStoredTasks,
  MatchingEffect,
  StartTask,
  WithdrawActivityStart,
} from '../../matching/effects.ts';
import type { MatchingCore } from '../../matching/matching-core.ts';
import type { MatchingRecord } from '../../matching/records.ts';
import type { MatchingReply } from '../../matching/replies.ts';
import { matchingPartitionOf, type TaskQueuePartition } from '../../matching/task-queue.ts';
import type { Logger } from '../../observability/logger.ts';
import { type AskFailure, isAskFailure, NOBODY, internalError } from '../asks/asks.ts';
import type { Checkpointer } from '../checkpoint/checkpointer.ts';
import type { PartitionShell } from '../partition/partition-core.ts';
import type { Clock } from '../ports.ts';
import type { Asker, HistoryAnswer, MatchingAnswer, StartedTask } from '../asks/router.ts';
import type { ReplySink } from '../asks/switchboard.ts';
import type { Tenure } from '../partition/tenure.ts';
import { backOffMs } from '../../kernel/back-off.ts';
import { failedOnceMore, FAILURES_MAX, firstTry, isRefusedForGood, nextTry } from '../asks/tries.ts';
import { WallAlarm } from '../wall-alarm.ts';
import type { ColdTasks } from './cold-tasks.ts';
import { tellUnread } from './matching-checkpoints.ts';
import { PartitionNews } from './partition-news.ts';

export type HostCommand = MatchingCommand<StartedTask>;
export type HostReply = MatchingReply<StartedTask>;
export type HostEffect = MatchingEffect<StartedTask>;
export type HostHandled = Handled<MatchingRecord, HostReply, HostEffect>;

export type MatchingShellOptions = {
  readonly core: MatchingCore<StartedTask>;
  readonly tenure: Tenure<HostCommand>;
  readonly sink: ReplySink<HostReply>;
  readonly router: Asker;
  /** Partitions of the matching topic. */
  readonly matchingPartitions: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** undefined: there is no database. */
  readonly checkpointer: Checkpointer | undefined;
  readonly coldTasks: ColdTasks | undefined;
};

/** Shards answer in milliseconds; past this the start is asked again for the same poll. */
const START_TIMEOUT_MS = 10_000;
const FORWARD_TIMEOUT_MS = 10_000;
const WITHDRAW_TIMEOUT_MS = 10_000;
const WITHDRAW_RETRY_MS = 250;
const WITHDRAW_RETRY_MS_MAX = 10_000;
const COUNT_RETRY_MS = 1_000;
const COUNT_RETRY_MS_MAX = 30_000;

export class MatchingShell implements PartitionShell<HostCommand, HostReply, MatchingRecord, HostEffect> {
  readonly #options: MatchingShellOptions;
  readonly #core: MatchingCore<StartedTask>;
  readonly #tenure: Tenure<HostCommand>;
  /** Forwarded polls that wait at the parent: correlation -> ask. */
  readonly #forwardedPolls = new Map<number, number>();
  readonly #alarm: WallAlarm;
  readonly #partitionNews: PartitionNews;

  constructor(options: MatchingShellOptions) {
    this.#options = options;
    this.#core = options.core;
    this.#tenure = options.tenure;
    this.#partitionNews = new PartitionNews(options);
    this.#alarm = new WallAlarm(
      options.clock,
      () => options.clock.wallMs(),
      () => this.#tick(),
    );
  }

  activated(): void {
    this.#tenure.submit({ kind: 'activate' });
  }

  accepted(_command: HostCommand | undefined, record: MatchingRecord | undefined): void {
    if (record !== undefined) this.#options.checkpointer?.accepted();
    this.#arm();
  }

  /** Its own commands bring news that is told once: what hangs on them ends with its deadline. */
  undecided(): void {
    this.#arm();
  }

  deactivated(): void {
    this.#alarm.set(Infinity);
    for (const askId of this.#forwardedPolls.values()) this.#options.router.cancel(askId);
    this.#forwardedPolls.clear();
    this.#options.checkpointer?.stop();
  }

  answer(askId: number, reply: HostReply): void {
    const delivered = this.#options.sink.answer(askId, reply);
    // The caller left while this answer was on its way: the core believes the poll ended well, so nobody else takes the start back.
    if (!delivered && reply.kind === 'task') this.#takeBack(reply.task, reply.origin, reply.pollRequestId);
  }

  act(effect: HostEffect): void {
    switch (effect.kind) {
      case 'reply':
        return this.answer(effect.askId, effect.reply);
      case 'broken':
        return this.#broken(effect);
      case 'startTask':
        return this.#startTask(effect);
      case 'withdrawActivityStart':
        return this.#withdraw(effect);
      case 'forwardPoll':
        return this.#forwardPoll(effect);
      case 'cancelForwardedPoll':
        return this.#cancelForwardedPoll(effect.correlation);
      case 'forwardTask':
        return this.#forwardTask(effect);
      case 'tellPartition':
        return this.#partitionNews.tell(effect.command);
      case 'forgetNews':
        return this.#partitionNews.forget(effect.namespaceId);
      case 'loadStoredTasks':
        return void this.#loadStoredTasks(effect);
      case 'countStoredTasks':
        return void this.#countStoredTasks(effect);
      case 'tasksUnread':
        return tellUnread(effect.unread, this.#options.logger);
      default:
        return unreachable(effect);
    }
  }

  #broken({ askId, what, queue, error }: Broken): void {
    const reason = errorText(error);
    this.#options.logger.error('a task queue met an error', {
      command: what,
      namespaceId: queue?.namespaceId,
      taskQueue: queue?.name,
      error: error instanceof Error ? error : reason,
    });
    if (askId !== NOBODY) this.#options.sink.fail(askId, internalError(reason));
  }

  // ── Timer ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Moved only towards the present: most deadlines pass away unfired, and one idle tick costs less than a timer for each poll. */
  #arm(): void {
    const dueMs = this.#core.nextDeadline();
    if (dueMs !== undefined && dueMs < this.#alarm.armedForMs) this.#alarm.set(dueMs);
  }

  #tick(): void {
    // Also where nothing is due yet: should the clock have been set back, the core sees it by this.
    if (this.#core.nextDeadline() !== undefined) this.#tenure.submit({ kind: 'tick' });
  }

  // ── Rows of stored tasks ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Never rejects. */
  async #loadStoredTasks(load: LoadStoredTasks): Promise<void> {
    const { queue, key } = load;
    const rows = await this.#options.coldTasks?.read(load);
    this.#tenure.submit(
      rows === undefined ? { kind: 'storedTasksNotLoaded', queue, key } : { kind: 'storedTasksLoaded', queue, key, rows },
    );
  }

  /** As often as it takes: nothing but a number that people see waits for it. Never rejects. */
  async #countStoredTasks(effect: CountStoredTasks, attempt = 1): Promise<void> {
    const { queue, afterTaskId } = effect;
    const counted = await this.#options.coldTasks?.count(effect);
    if (counted !== undefined) {
      const { count, lastTaskId: upToTaskId } = counted;
      this.#tenure.submit({ kind: 'storedTasksCounted', queue, afterTaskId, upToTaskId, count });
    } else if (this.#tenure.active) {
      const delayMs = backOffMs(attempt, COUNT_RETRY_MS, COUNT_RETRY_MS_MAX);
      this.#tenure.after(delayMs, () => void this.#countStoredTasks(effect, attempt + 1));
    }
  }

  // ── History ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #startTask(start: StartTask): void {
    const { queue, task, pollRequestId, identity, workerVersion } = start;
    const { key, scheduledEventId, stamp, historyShard } = task;
    const deadlineMs = this.#deadlineIn(START_TIMEOUT_MS);
    if (queue.taskType === 'workflow') {
      const taskQueue = { name: queue.name, kind: taskQueueKind[queue.kind], normalName: '' };
      const command = { kind: 'startWorkflowTask', key, scheduledEventId, stamp, pollRequestId, identity, taskQueue } as const;
      this.#options.router.askHistory(historyShard, command, deadlineMs, (answer) => this.#started(start, answer));
    } else {
      const command = { kind: 'startActivityTask', key, scheduledEventId, stamp, pollRequestId, identity, workerVersion } as const;
      this.#options.router.askHistory(historyShard, command, deadlineMs, (answer) => this.#started(start, answer));
    }
  }

  #started(start: StartTask, answer: HistoryAnswer<StartWorkflowTask> | HistoryAnswer<StartActivityTask>): void {
    if (!this.#tenure.active && !isAskFailure(answer) && answer.kind !== 'rejected') {
      // Whatever answer this memory could have given is lost with it.
      return this.#takeBack(answer, start.task, start.pollRequestId);
    }
    this.#tenure.submit({ kind: 'taskStartAnswered', correlation: start.correlation, outcome: startOutcome(answer) });
  }

  /** Only activities can be taken back; a workflow task waits for its timeout. */
  #takeBack(task: StartedTask, origin: StartTask['task'], pollRequestId: string): void {
    if (task.kind !== 'activityTask') return;
    const { historyShard, key, scheduledEventId } = origin;
    this.#withdraw({ kind: 'withdrawActivityStart', historyShard, key, scheduledEventId, pollRequestId });
  }

  /**
   * For as long as history is out of reach: the start that it has decided is committed when its log answers, and an activity that nobody
   * has would wait for its timeout, which may be days.
   */
  #withdraw(withdrawal: WithdrawActivityStart, tries = firstTry): void {
    const { historyShard, key, scheduledEventId, pollRequestId } = withdrawal;
    const command = { kind: 'withdrawActivityStart', key, scheduledEventId, pollRequestId } as const;
    this.#options.router.askHistory(historyShard, command, this.#deadlineIn(WITHDRAW_TIMEOUT_MS), (answer) => {
      if (!isAskFailure(answer)) return;
      const tried = isRefusedForGood(answer) ? failedOnceMore(tries) : tries;
      if (!this.#tenure.active || tried.failures >= FAILURES_MAX) return this.#notWithdrawn(key, scheduledEventId);
      const delayMs = backOffMs(tried.attempt, WITHDRAW_RETRY_MS, WITHDRAW_RETRY_MS_MAX);
      this.#tenure.after(delayMs, () => this.#withdraw(withdrawal, nextTry(tried)));
    });
  }

  #notWithdrawn({ namespaceId, workflowId, runId }: RunKey, scheduledEventId: number): void {
    const ids = { namespaceId, workflowId, runId, scheduledEventId };
    this.#options.logger.warn('an activity start was not withdrawn and waits for its timeout', ids);
  }

  // ── Parent partition ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #forwardPoll({ correlation, command }: ForwardPoll): void {
    const waitMs = command.deadlineMs - this.#options.clock.wallMs();
    const askId = this.#options.router.askMatching(
      this.#hostOf(command),
      command,
      this.#deadlineIn(waitMs + FORWARD_TIMEOUT_MS),
      (answer) => {
        this.#forwardedPolls.delete(correlation);
        this.#tenure.submit({ kind: 'forwardedPollAnswered', correlation, outcome: forwardedPollOutcome(answer) });
      },
    );
    this.#forwardedPolls.set(correlation, askId);
  }

  /** An answer that is already in the mailbox comes first; this one then means nothing. */
  #cancelForwardedPoll(correlation: number): void {
    const askId = this.#forwardedPolls.get(correlation);
    if (askId !== undefined) this.#options.router.cancel(askId);
    this.#forwardedPolls.delete(correlation);
    this.#tenure.submit({ kind: 'forwardedPollAnswered', correlation, outcome: { kind: 'emptyPoll' } });
  }

  #forwardTask({ correlation, command }: ForwardTask): void {
    // The parent answers a task that it holds, when its time there is over or the parent moves.
    const heldMs = command.holdUntilMs === 0 ? 0 : command.holdUntilMs - this.#options.clock.wallMs();
    const deadlineMs = this.#deadlineIn(heldMs + FORWARD_TIMEOUT_MS);
    this.#options.router.askMatching(this.#hostOf(command), command, deadlineMs, (answer) => {
      this.#tenure.submit({ kind: 'forwardedTaskAnswered', correlation, outcome: forwardedTaskOutcome(answer) });
    });
  }

  #hostOf({ queue }: { readonly queue: TaskQueuePartition }): number {
    return matchingPartitionOf(queue, this.#options.matchingPartitions);
  }

  #deadlineIn(ms: number): number {
    return this.#options.clock.monoMs() + ms;
  }
}

function startOutcome(answer: HistoryAnswer<StartWorkflowTask> | HistoryAnswer<StartActivityTask>): StartOutcome<StartedTask> {
  if (isAskFailure(answer)) return { kind: standsStill(answer) ? 'refused' : 'unavailable' };
  if (answer.kind === 'rejected') return { kind: isObsolete(answer.rejection) ? 'obsolete' : 'refused' };
  return { kind: 'started', task: answer };
}

/** Nothing was started, and nothing will be for a while: the shard is not served, or what the workflow is cannot be read. */
function standsStill({ kind }: AskFailure): boolean {
  return kind === 'notHere' || kind === 'dataLoss';
}

/** A refusal for good, or one that passes: the workflow stands still. */
function isObsolete(rejection: Rejection): boolean {
  return rejection.reason !== 'busy-workflow';
}

function forwardedTaskOutcome(answer: MatchingAnswer<ForwardTask['command']>): ForwardedTaskOutcome {
  if (answer.kind === 'done' || answer.kind === 'stored') return 'taken';
  if (answer.kind === 'noMatch') return answer.isRefused ? 'refused' : 'noMatch';
  return 'unavailable';
}

function forwardedPollOutcome(answer: MatchingAnswer<ForwardPoll['command']>): ForwardedPollOutcome<StartedTask> {
  return isAskFailure(answer) || answer.kind === 'rejected' ? { kind: 'unavailable' } : answer;
}
