/**
 * One memory of a matching host: what leaves the host, and the news that come back to it.
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
import { assert, unreachable } from '../../kernel/assert.ts';
import type { StartActivityTask, StartWorkflowTask } from '../../history/commands/history-commands.ts';
import { taskQueueKind } from '../../history/generated/enums.ts';
import type { ForwardedPollOutcome, ForwardedTaskOutcome, MatchingCommand, StartOutcome } from '../../matching/matching-commands.ts';
import type { ConfigurePartition } from '../../matching/matching-commands.ts';
import type { Broken, CountStoredTasks, ForwardPoll, ForwardTask, LoadStoredTasks } from '../../matching/matching-effects.ts';
import type { MatchingEffect, StartTask, WithdrawActivityStart } from '../../matching/matching-effects.ts';
import type { MatchingCore } from '../../matching/matching-core.ts';
import type { MatchingLimits } from '../../matching/matching-limits.ts';
import type { MatchingRecord } from '../../matching/matching-records.ts';
import type { MatchingReply } from '../../matching/matching-replies.ts';
import { matchingPartitionOf, taskQueuePartitionKey, type TaskQueuePartition, taskTypes, typeOfTask } from '../../kernel/task-queue.ts';
import { internalError, isAskFailure, NOBODY, ownWork } from '../asks/asks.ts';
import type { Checkpointer } from '../../projections/checkpoints/checkpointer.ts';
import { checkpointerOf } from '../../projections/checkpoints/partition-checkpoints.ts';
import type { JournalId, Restored } from '../../projections/database-port.ts';
import type { ActorOptions } from '../partition/partition-actor.ts';
import type { CommitSubscriber } from '../../ports/commit-subscriber.ts';
import type { PartitionCore, ShellMemory, Tenure } from '../partition/partition-core.ts';
import type { Clock } from '../../ports/machine.ts';
import type { Asker, HistoryAnswer, MatchingAnswer, StartedTask } from '../asks/router.ts';
import { backOffMs } from '../../kernel/back-off.ts';
import { failedOnceMore, FAILURES_MAX, firstTry, isRefusedForGood, nextTry } from '../asks/tries.ts';
import { WallAlarm } from '../../ports/wall-alarm.ts';
import { ColdTasks } from './matching-checkpoints.ts';
import { installBacklog, matchingCheckpoints, recordBytes, tellUnread, type MatchingCheckpointOptions } from './matching-checkpoints.ts';
import { Fifo } from '../../kernel/fifo.ts';

export type HostCommand = MatchingCommand<StartedTask>;
export type HostReply = MatchingReply<StartedTask>;
export type HostEffect = MatchingEffect<StartedTask>;

export type MatchingHostOptions = ActorOptions<HostReply, MatchingRecord> & {
  readonly partition: number;
  readonly matchingPartitions: number;
  readonly taskQueuePartitions: number;
  readonly router: Asker;
  /** The backlog is written to a database, and taken from there; absent: it lives in memory and in the journal. */
  readonly checkpoints?: MatchingCheckpointOptions;
  readonly limits?: Partial<MatchingLimits>;
};

/** Shards answer in milliseconds; past this the start is asked again for the same poll. */
const START_TIMEOUT_MS = 10_000;
const FORWARD_TIMEOUT_MS = 10_000;
const WITHDRAW_TIMEOUT_MS = 10_000;
const WITHDRAW_RETRY_MS = 250;
const WITHDRAW_RETRY_MS_MAX = 10_000;
const COUNT_RETRY_MS = 1_000;
const COUNT_RETRY_MS_MAX = 30_000;

/** One memory of the host, from replay to the loss of ownership. Nothing but checkpoints is built from its records beside the core. */
export class MatchingMemory implements ShellMemory<HostCommand, HostReply, MatchingRecord, HostEffect> {
  readonly matching: MatchingCore<StartedTask>;
  readonly core: PartitionCore<HostCommand, HostReply, MatchingRecord, HostEffect>;
  readonly shell = this;
  readonly subscribers: readonly CommitSubscriber<MatchingRecord>[];
  readonly checkpointer: Checkpointer | undefined;
  readonly #options: MatchingHostOptions;
  readonly #tenure: Tenure<HostCommand>;
  readonly #coldTasks: ColdTasks | undefined;
  /** Forwarded polls that wait at the parent: correlation -> ask. */
  readonly #forwardedPolls = new Map<number, number>();
  readonly #alarm: WallAlarm;
  readonly #partitionNews: PartitionNews;

  constructor(options: MatchingHostOptions, matching: MatchingCore<StartedTask>, tenure: Tenure<HostCommand>) {
    const { checkpoints, partition, logger, clock } = options;
    const checkpointer =
      checkpoints &&
      checkpointerOf({
        ...options,
        checkpoints,
        logger: logger.with({ 'matching-partition': partition }),
        journal: journalOf(partition),
        state: matchingCheckpoints(matching),
        onDurable: () => {
          if (matching.hasToTick) tenure.submit({ kind: 'tick' });
        },
        onFenced: () => tenure.fenced(),
      });
    this.#options = options;
    this.#tenure = tenure;
    this.matching = matching;
    this.checkpointer = checkpointer;
    this.core = byWallClock(matching, clock);
    this.#coldTasks =
      checkpoints && checkpointer && new ColdTasks({ database: checkpoints.database, journal: journalOf(partition), checkpointer, logger });
    this.#partitionNews = new PartitionNews({ ...options, tenure });
    this.#alarm = new WallAlarm({ clock, nowMs: () => clock.wallMs(), ring: () => this.#tick() });
    this.subscribers =
      checkpointer === undefined
        ? []
        : [{ committed: (record, position, replayed) => checkpointer.committed(recordBytes(record), position, replayed) }];
  }

  async install(restored: Restored): Promise<void> {
    const { checkpoints, partition, logger } = this.#options;
    assert(checkpoints !== undefined && this.checkpointer !== undefined, 'a memory is installed from its database');
    const told = logger.with({ 'matching-partition': partition });
    await installBacklog(this.matching, checkpoints.database, journalOf(partition), restored, told);
    this.checkpointer.installed(restored);
  }

  // ── The shell ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

  activated(): void {
    this.#tenure.submit({ kind: 'activate' });
  }

  accepted(_command: HostCommand | undefined, record: MatchingRecord | undefined): void {
    if (record !== undefined) this.checkpointer?.accepted();
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
    this.checkpointer?.stop();
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
    const about = { command: what, namespaceId: queue?.namespaceId, taskQueue: queue?.name };
    this.#options.logger.error('a task queue met an error', { ...about, error: error instanceof Error ? error : reason });
    if (askId !== NOBODY) this.#options.sink.fail(askId, internalError(reason));
  }

  // ── Timer ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Moved only towards the present: most deadlines pass away unfired, and one idle tick costs less than a timer for each poll. */
  #arm(): void {
    const dueMs = this.matching.nextDeadline();
    if (dueMs !== undefined && dueMs < this.#alarm.armedForMs) this.#alarm.set(dueMs);
  }

  #tick(): void {
    // Also where nothing is due yet: should the clock have been set back, the core sees it by this.
    if (this.matching.nextDeadline() !== undefined) this.#tenure.submit({ kind: 'tick' });
  }

  // ── Rows of stored tasks ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Never rejects. */
  async #loadStoredTasks(load: LoadStoredTasks): Promise<void> {
    const { queue, key } = load;
    this.#tenure.submit({ kind: 'storedTasksLoaded', queue, key, rows: await this.#coldTasks?.read(load) });
  }

  /** Counts again as often as it takes: only a number that people see waits for it. Never rejects. */
  async #countStoredTasks(effect: CountStoredTasks, attempt = 1): Promise<void> {
    const { queue, afterTaskId } = effect;
    const counted = await this.#coldTasks?.count(effect);
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
    const { historyShard } = start.task;
    const deadlineMs = this.#deadlineIn(START_TIMEOUT_MS);
    this.#options.router.askHistory(historyShard, startCommand(start), ownWork(deadlineMs), (answer) => this.#started(start, answer));
  }

  #started(start: StartTask, answer: HistoryAnswer<StartWorkflowTask> | HistoryAnswer<StartActivityTask>): void {
    if (!this.#tenure.active && !isAskFailure(answer) && answer.kind !== 'rejected') {
      // Whatever answer this memory could have given is lost with it.
      return this.#takeBack(answer, start.task, start.pollRequestId);
    }
    this.#tenure.submit({ kind: 'taskStartAnswered', correlation: start.correlation, outcome: startOutcome(answer) });
  }

  #takeBack(task: StartedTask, origin: StartTask['task'], pollRequestId: string): void {
    if (!taskTypes[typeOfTask[task.kind]].takesBackStarts) return;
    const { historyShard, key, scheduledEventId } = origin;
    this.#withdraw({ kind: 'withdrawActivityStart', historyShard, key, scheduledEventId, pollRequestId });
  }

  /** As long as history is out of reach: an activity that was started and nobody has would wait for its timeout, perhaps for days. */
  #withdraw(withdrawal: WithdrawActivityStart, tries = firstTry): void {
    const { historyShard, key, scheduledEventId, pollRequestId } = withdrawal;
    const command = { kind: 'withdrawActivityStart', key, scheduledEventId, pollRequestId } as const;
    this.#options.router.askHistory(historyShard, command, ownWork(this.#deadlineIn(WITHDRAW_TIMEOUT_MS)), (answer) => {
      if (!isAskFailure(answer)) return;
      const tried = isRefusedForGood(answer) ? failedOnceMore(tries) : tries;
      if (!this.#tenure.active || tried.failures >= FAILURES_MAX) {
        const { namespaceId, workflowId, runId } = key;
        const ids = { namespaceId, workflowId, runId, scheduledEventId };
        return this.#options.logger.warn('an activity start could not be withdrawn; it ends with its timeout', ids);
      }
      const delayMs = backOffMs(tried.attempt, WITHDRAW_RETRY_MS, WITHDRAW_RETRY_MS_MAX);
      this.#tenure.after(delayMs, () => this.#withdraw(withdrawal, nextTry(tried)));
    });
  }

  // ── Parent partition ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #forwardPoll({ correlation, command }: ForwardPoll): void {
    const waitMs = command.deadlineMs - this.#options.clock.wallMs();
    const deadlineMs = this.#deadlineIn(waitMs + FORWARD_TIMEOUT_MS);
    const askId = this.#options.router.askMatching(this.#hostOf(command), command, ownWork(deadlineMs), (answer) => {
      this.#forwardedPolls.delete(correlation);
      const isUnavailable = isAskFailure(answer) || answer.kind === 'rejected';
      const outcome: ForwardedPollOutcome<StartedTask> = isUnavailable ? { kind: 'unavailable' } : answer;
      this.#tenure.submit({ kind: 'forwardedPollAnswered', correlation, outcome });
    });
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
    this.#options.router.askMatching(this.#hostOf(command), command, ownWork(deadlineMs), (answer) => {
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

function startCommand({ queue, task, pollRequestId, identity, workerVersion }: StartTask): StartWorkflowTask | StartActivityTask {
  const { key, scheduledEventId, stamp } = task;
  const started = { key, scheduledEventId, stamp, pollRequestId, identity };
  switch (queue.taskType) {
    case 'workflow':
      return { kind: 'startWorkflowTask', ...started, taskQueue: { name: queue.name, kind: taskQueueKind[queue.kind], normalName: '' } };
    case 'activity':
      return { kind: 'startActivityTask', ...started, workerVersion };
    default:
      return unreachable(queue.taskType);
  }
}

function startOutcome(answer: HistoryAnswer<StartWorkflowTask> | HistoryAnswer<StartActivityTask>): StartOutcome<StartedTask> {
  // Nothing was started, and nothing will be for a while: the shard is not served, or what the workflow is cannot be read.
  if (answer.kind === 'notHere' || answer.kind === 'dataLoss') return { kind: 'refused' };
  if (isAskFailure(answer)) return { kind: 'unavailable' };
  // A busy workflow stands still, which passes; all else is for good.
  if (answer.kind === 'rejected') return { kind: answer.rejection.reason === 'busy-workflow' ? 'refused' : 'obsolete' };
  return { kind: 'started', task: answer };
}

function forwardedTaskOutcome(answer: MatchingAnswer<ForwardTask['command']>): ForwardedTaskOutcome {
  if (answer.kind === 'done' || answer.kind === 'stored') return 'taken';
  if (answer.kind === 'noMatch') return answer.isRefused ? 'refused' : 'noMatch';
  return 'unavailable';
}

/** By the wall clock, as callers' deadlines: the journal's time may be ahead, and then each poll would be over before it came. */
function byWallClock(core: MatchingCore<StartedTask>, clock: Clock): PartitionCore<HostCommand, HostReply, MatchingRecord, HostEffect> {
  return {
    handle: (command, _journalTimeMs, askId) => core.handle(command, clock.wallMs(), askId),
    idsOf: (command) => {
      const queue = 'queue' in command ? command.queue : undefined;
      return { command: command.kind, namespaceId: queue?.namespaceId, taskQueue: queue?.name };
    },
    accept: (handled) => {
      if (handled.kind === 'commit') core.evolve(handled.record);
    },
    evolve: (record) => core.evolve(record),
    cancel: (askId) => core.cancel(askId, clock.wallMs()),
  };
}

export function journalOf(partition: number): JournalId {
  return { kind: 'matching', partition };
}

/**
 * Tells other partitions of queues what operators have said at the root, until they have confirmed it. A few asks at a time: a takeover tells all
 * that the host knows of, and a partition whose host is away waits behind the others.
 */

type PartitionNewsOptions = Pick<MatchingHostOptions, 'router' | 'clock' | 'matchingPartitions'> & {
  readonly tenure: Pick<Tenure<never>, 'active' | 'after'>;
};

const TELL_TIMEOUT_MS = 10_000;
const TELL_RETRY_MS = 250;
const TELL_RETRY_MS_MAX = 30_000;
const UNDER_WAY_MAX = 16;

type News = { readonly key: string; readonly command: ConfigurePartition; attempt: number };

class PartitionNews {
  readonly #options: PartitionNewsOptions;
  readonly #latest = new Map<string, News>();
  readonly #waiting = new Fifo<News>();
  #underWay = 0;

  constructor(options: PartitionNewsOptions) {
    this.#options = options;
  }

  tell(command: ConfigurePartition): void {
    const news: News = { key: taskQueuePartitionKey(command.queue), command, attempt: 0 };
    this.#latest.set(news.key, news);
    this.#enqueue(news);
  }

  forget(namespaceId: string): void {
    for (const [key, { command }] of this.#latest) if (command.queue.namespaceId === namespaceId) this.#latest.delete(key);
  }

  #enqueue(news: News): void {
    this.#waiting.push(news);
    this.#goOn();
  }

  #goOn(): void {
    while (this.#waiting.length > 0 && this.#underWay < UNDER_WAY_MAX && this.#options.tenure.active) {
      const news = this.#waiting.shift();
      if (this.#latest.get(news.key) === news) this.#ask(news);
    }
  }

  #ask(news: News): void {
    const { router, clock, matchingPartitions } = this.#options;
    this.#underWay++;
    const host = matchingPartitionOf(news.command.queue, matchingPartitions);
    router.askMatching(host, news.command, ownWork(clock.monoMs() + TELL_TIMEOUT_MS), (answer) => {
      this.#underWay--;
      if (isAskFailure(answer) || answer.kind === 'rejected') this.#again(news);
      else if (this.#latest.get(news.key) === news) this.#latest.delete(news.key);
      this.#goOn();
    });
  }

  #again(news: News): void {
    const { tenure } = this.#options;
    if (!tenure.active || this.#latest.get(news.key) !== news) return;
    tenure.after(backOffMs(++news.attempt, TELL_RETRY_MS, TELL_RETRY_MS_MAX), () => this.#enqueue(news));
  }
}
