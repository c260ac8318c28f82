/**
 * A matching host: the actor around MatchingCore, owner of one partition of the matching topic.
 *
 *     router ─▶ PartitionActor ▶ MatchingCore ──▶ startTask ─────▶ history shard ──▶ taskStartAnswered ─┐
 *                   ▲                         ├─▶ forwardPoll/Task ▶ parent's host ─▶ forwarded…Answered ─┤
 *                   │                         └─▶ one OS timer for the next deadline ─▶ tick ────────────┤
 *                   └────────────────────────────────────────────────────────────────────────────────────┘
 *
 * Every such request ends in exactly one answer to the core, whatever happens; an answer to an earlier memory meets no correlation of
 * the present one.
 */
import { errorText } from '../kernel/error-text.ts';
import { unreachable } from '../kernel/assert.ts';
import type { CommandIds, Handled } from '../kernel/handled.ts';
import type { StartActivityTask, StartWorkflowTask } from '../history/commands.ts';
import type { Rejection } from '../history/replies.ts';
import type { ForwardedPollOutcome, MatchingCommand, MatchingRequest, StartOutcome } from '../matching/commands.ts';
import type { Broken, ForwardPoll, ForwardTask, MatchingEffect, StartTask, WithdrawActivityStart } from '../matching/effects.ts';
import { commandBytes } from '../matching/command-bytes.ts';
import { MatchingCore } from '../matching/matching-core.ts';
import type { MatchingRecord } from '../matching/records.ts';
import type { MatchingReply } from '../matching/replies.ts';
import { matchingPartitionOf } from '../matching/task-queue.ts';
import { isAskFailure, NOBODY, internalError } from './asks.ts';
import { PartitionActor, type ActorOptions } from './partition-actor.ts';
import type { CommitSubscriber, PartitionCore, PartitionMemory, PartitionShell } from './partition-core.ts';
import type { Asker, HistoryAnswer, MatchingAnswer, StartedTask } from './router.ts';
import type { Tenure } from './tenure.ts';
import { WallAlarm } from './wall-alarm.ts';

export type MatchingHostOptions = ActorOptions<Reply, MatchingRecord> & {
  /** From 0. */
  readonly partition: number;
  /** Partitions of the matching topic. */
  readonly matchingPartitions: number;
  readonly router: Asker;
};

type Command = MatchingCommand<StartedTask>;
type Reply = MatchingReply<StartedTask>;
type Effect = MatchingEffect<StartedTask>;

/** Shards answer in milliseconds; past this the start is asked again for the same poll. */
const START_TIMEOUT_MS = 10_000;
const FORWARD_TIMEOUT_MS = 10_000;
const WITHDRAW_TIMEOUT_MS = 10_000;
const WITHDRAW_RETRY_MS = 250;
const WITHDRAW_RETRY_MS_MAX = 10_000;
/** Only what history cannot decide or write is given up. */
const WITHDRAW_FAILURES_MAX = 20;
/** Each memory counts its correlations from a start of its own. */
const CORRELATIONS_PER_MEMORY = 2 ** 40;

export class MatchingHost {
  readonly actor: PartitionActor<Command, Reply, MatchingRecord, Effect, MatchingMemory>;
  #memories = 0;

  constructor(options: MatchingHostOptions) {
    this.actor = new PartitionActor<Command, Reply, MatchingRecord, Effect, MatchingMemory>(options, {
      partition: options.partition,
      logFields: { 'matching-partition': options.partition },
      create: (tenure) => {
        const core = new MatchingCore<StartedTask>({ firstCorrelation: this.#memories++ * CORRELATIONS_PER_MEMORY });
        return new MatchingMemory(options, core, tenure);
      },
      scale: { bytesOf: commandBytes, finishesWork: (command) => command.kind === 'answerQuery' || command.kind === 'shutdownWorker' },
      // What was started or dropped is journaled, so that the next owner does not offer it again.
      lastCommand: { kind: 'flushRemovals' },
    });
  }

  /** Open polls end: empty, or with the task that is being started for them. */
  endPolls(): void {
    this.actor.submitOwn({ kind: 'endPolls' });
  }

  counts(): ReturnType<MatchingCore<StartedTask>['counts']> | undefined {
    return this.actor.memory?.counts();
  }
}

/** One memory of the host, from replay to the loss of ownership: the core with a timer beside it, and the shell around it. */
class MatchingMemory
  implements
    PartitionMemory<Command, Reply, MatchingRecord, Effect>,
    PartitionCore<Command, Reply, MatchingRecord, Effect>,
    PartitionShell<Command, Reply, Effect>
{
  /** What the loop drives: this, around the pure core. */
  readonly core = this;
  readonly shell = this;
  /** The backlog is all in memory: nothing is built from its records beside the core. */
  readonly subscribers: readonly CommitSubscriber<MatchingRecord>[] = [];
  readonly #options: MatchingHostOptions;
  readonly #core: MatchingCore<StartedTask>;
  readonly #tenure: Tenure<Command>;
  /** Forwarded polls that wait at the parent: correlation -> ask. */
  readonly #forwardedPolls = new Map<number, number>();
  readonly #alarm: WallAlarm;

  constructor(options: MatchingHostOptions, core: MatchingCore<StartedTask>, tenure: Tenure<Command>) {
    this.#options = options;
    this.#core = core;
    this.#tenure = tenure;
    this.#alarm = new WallAlarm(
      options.clock,
      () => options.clock.wallMs(),
      () => this.#tick(),
    );
  }

  // ── The core, watched ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * By the wall clock alone, as the deadlines that callers give. The journal's time never goes back: where an earlier owner's clock was an
   * hour ahead, every poll would be over before it came, for an hour.
   */
  handle(command: Command, _journalTimeMs: number, askId: number): Handled<MatchingRecord, Reply, Effect> {
    try {
      return this.#core.handle(command, this.#options.clock.wallMs(), askId);
    } finally {
      this.#arm();
    }
  }

  /** A task that history could hold is no larger than what a record holds: this is refused, and history keeps it. */
  tooLarge(): undefined {
    return undefined;
  }

  idsOf(command: Command): CommandIds {
    const queue = 'queue' in command ? command.queue : undefined;
    return { command: command.kind, namespaceId: queue?.namespaceId, taskQueue: queue?.name };
  }

  /** Its own commands bring news that is told once: what hangs on them ends with its deadline. */
  undecided(): void {}

  accept(handled: Handled<MatchingRecord, Reply, Effect>): void {
    if (handled.kind === 'commit') this.#core.evolve(handled.record);
  }

  evolve(record: MatchingRecord): void {
    this.#core.evolve(record);
  }

  cancel(askId: number): Handled<MatchingRecord, Reply, Effect> {
    const handled = this.#core.cancel(askId, this.#options.clock.wallMs());
    this.#arm();
    return handled;
  }

  counts(): ReturnType<MatchingCore<StartedTask>['counts']> {
    return this.#core.counts();
  }

  // ── The shell ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

  activated(): void {
    this.#tenure.submit({ kind: 'activate' });
  }

  deactivated(): void {
    this.#alarm.set(Infinity);
    for (const askId of this.#forwardedPolls.values()) this.#options.router.cancel(askId);
    this.#forwardedPolls.clear();
  }

  answer(askId: number, reply: Reply): void {
    const delivered = this.#options.sink.answer(askId, reply);
    // The caller left while this answer was on its way: the core believes the poll ended well, so nobody else takes the start back.
    if (!delivered && reply.kind === 'task') this.#takeBack(reply.task, reply.origin, reply.pollRequestId);
  }

  act(effect: Effect): void {
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
    const dueMs = this.#core.nextDeadline();
    if (dueMs === undefined) return;
    if (dueMs > this.#options.clock.wallMs()) this.#arm();
    else this.#tenure.submit({ kind: 'tick' });
  }

  // ── History ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #startTask(start: StartTask): void {
    const { queue, task, pollRequestId, identity, workerVersion } = start;
    const { key, scheduledEventId, stamp, historyShard } = task;
    const deadlineMs = this.#deadlineIn(START_TIMEOUT_MS);
    if (queue.taskType === 'workflow') {
      const taskQueue = { name: queue.name, kind: queue.kind === 'sticky' ? 2 : 1, normalName: '' };
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
  #withdraw(withdrawal: WithdrawActivityStart, attempt = 1): void {
    const { historyShard, key, scheduledEventId, pollRequestId } = withdrawal;
    const command = { kind: 'withdrawActivityStart', key, scheduledEventId, pollRequestId } as const;
    this.#options.router.askHistory(historyShard, command, this.#deadlineIn(WITHDRAW_TIMEOUT_MS), (answer) => {
      if (!isAskFailure(answer)) return;
      const mayPass = (answer.kind !== 'internal' && answer.kind !== 'tooLarge') || attempt < WITHDRAW_FAILURES_MAX;
      if (this.#tenure.active && mayPass) {
        const delayMs = Math.min(WITHDRAW_RETRY_MS * 2 ** (attempt - 1), WITHDRAW_RETRY_MS_MAX);
        return this.#tenure.after(delayMs, () => this.#withdraw(withdrawal, attempt + 1));
      }
      const { namespaceId, workflowId, runId } = key;
      this.#options.logger.warn('an activity start was not withdrawn and waits for its timeout', {
        namespaceId,
        workflowId,
        runId,
        scheduledEventId,
      });
    });
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
      const outcome = answer.kind === 'done' ? 'taken' : answer.kind === 'noMatch' ? 'noMatch' : 'unavailable';
      this.#tenure.submit({ kind: 'forwardedTaskAnswered', correlation, outcome });
    });
  }

  #hostOf(command: MatchingRequest): number {
    return matchingPartitionOf(command.queue, this.#options.matchingPartitions);
  }

  #deadlineIn(ms: number): number {
    return this.#options.clock.monoMs() + ms;
  }
}

function startOutcome(answer: HistoryAnswer<StartWorkflowTask> | HistoryAnswer<StartActivityTask>): StartOutcome<StartedTask> {
  if (isAskFailure(answer)) return { kind: answer.kind === 'notHere' ? 'refused' : 'unavailable' };
  if (answer.kind === 'rejected') return { kind: isObsolete(answer.rejection) ? 'obsolete' : 'unavailable' };
  return { kind: 'started', task: answer };
}

/** A refusal for good, or one that passes. */
function isObsolete(rejection: Rejection): boolean {
  return rejection.reason !== 'busy-workflow';
}

function forwardedPollOutcome(answer: MatchingAnswer<ForwardPoll['command']>): ForwardedPollOutcome<StartedTask> {
  return isAskFailure(answer) || answer.kind === 'rejected' ? { kind: 'unavailable' } : answer;
}
