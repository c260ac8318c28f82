/**
 * Speculative workflow tasks on their way: to matching, which holds one for a poll and stores none, and back when their time is up. All of it is
 * in memory, and ends with the ownership of the shard.
 *
 *     offered ─▶ sticky queue ── nobody polls it ──▶ the normal queue ── nobody polls it either, or no answer ──┐
 *        └────────────── schedule-to-start timeout ────────────────────────────────────────────────────────────┼─▶ endSpeculative
 *     started ────────── start-to-close timeout ───────────────────────────────────────────────────────────────┘
 */
import type { EndSpeculative } from '../../history/commands/update-commands.ts';
import type { SpeculativeEffect } from '../../history/run/speculative-effect.ts';
import { taskQueueKind } from '../../history/generated/enums.ts';
import type { TaskQueue } from '../../history/generated/public-api.ts';
import { matchingPartitionOf, partitionOf } from '../../kernel/task-queue.ts';
import { unreachable } from '../../kernel/assert.ts';
import type { Asker, MatchingAnswer } from '../asks/router.ts';
import type { Clock, Random, Timer } from '../../ports/machine.ts';
import type { ClusterLayout } from './transfer/transfer-shard.ts';
import type { DirectQuery, FinishQueryDispatch, QueryDispatchOutcome } from '../../history/commands/query-commands.ts';
import type { DispatchQuery } from '../../matching/matching-commands.ts';
import { isAskFailure, ownWork, type AskFailure } from '../asks/asks.ts';

export type SpeculativeTasksOptions = {
  readonly shard: number;
  readonly router: Pick<Asker, 'askMatching'>;
  readonly layout: Pick<ClusterLayout, 'matchingPartitions'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly submit: (command: EndSpeculative) => void;
};

type Offered = Extract<SpeculativeEffect, { readonly kind: 'speculativeOffered' }>;
type Started = Extract<SpeculativeEffect, { readonly kind: 'speculativeStarted' }>;

/** Matching answers when it has held the task for as long as it may; this long after it is not heard of any more. */
const ANSWER_TIMEOUT_MS = 1_000;

export class SpeculativeTasks {
  readonly #options: SpeculativeTasksOptions;
  /** Timers by run id: a run has one workflow task at a time. */
  readonly #timers = new Map<string, Timer>();

  constructor(options: SpeculativeTasksOptions) {
    this.#options = options;
  }

  act(effect: SpeculativeEffect): void {
    switch (effect.kind) {
      case 'speculativeOffered':
        this.#offer(effect, effect.taskQueue);
        return this.#arm(effect, effect.expiryTimeMs - this.#options.clock.wallMs(), () => this.#isNotPolled(effect));
      case 'speculativeStarted':
        return this.#arm(effect, effect.startToCloseTimeoutMs, () => this.#end(effect, effect.startedTimeMs, 'startToClose'));
      default:
        return unreachable(effect);
    }
  }

  close(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  #offer(offered: Offered, taskQueue: TaskQueue): void {
    const { clock, router, layout, shard } = this.#options;
    const { key, scheduledEventId, stamp, expiryTimeMs, priority } = offered;
    // Polls of all its partitions come to the root while they wait.
    const queue = partitionOf(key.namespaceId, taskQueue, 'workflow');
    const task = { key, historyShard: shard, scheduledEventId, stamp, expiryTimeMs, taskId: 0, priority };
    const answeredByMs = clock.monoMs() + Math.max(0, expiryTimeMs - clock.wallMs()) + ANSWER_TIMEOUT_MS;
    const request = { kind: 'addWorkflowTask', queue, task, forwardedFrom: undefined, holdUntilMs: expiryTimeMs } as const;
    router.askMatching(matchingPartitionOf(queue, layout.matchingPartitions), request, ownWork(answeredByMs), (answer) => {
      if (answer.kind === 'done') return;
      if (answer.kind === 'stickyUnavailable')
        this.#offer(offered, { name: taskQueue.normalName, kind: taskQueueKind.normal, normalName: '' });
      else this.#isNotPolled(offered);
    });
  }

  #isNotPolled(offered: Offered): void {
    this.#end(offered, offered.scheduledTimeMs, 'scheduleToStart');
  }

  #end({ key, scheduledEventId }: Offered | Started, sinceMs: number, because: EndSpeculative['because']): void {
    this.#options.submit({ kind: 'endSpeculative', key, scheduledEventId, sinceMs, because, jitter: this.#options.random.fraction() });
  }

  #arm({ key: { runId } }: Offered | Started, delayMs: number, run: () => void): void {
    this.#timers.get(runId)?.cancel();
    const timer = this.#options.clock.after(Math.max(0, delayMs), () => {
      if (this.#timers.get(runId) === timer) this.#timers.delete(runId);
      run();
    });
    this.#timers.set(runId, timer);
  }
}

/** A query on its way to a worker, by way of matching. What the answer means, and which queue is tried next, is for the core to decide. */

type QueryDispatchOptions = {
  readonly clock: Clock;
  readonly matchingPartitions: number;
  readonly router: Asker;
  /** The outcome, for the core. Undefined: accepted. */
  readonly finish: (command: FinishQueryDispatch) => AskFailure | undefined;
  readonly fail: (askId: number, failure: AskFailure) => void;
};

/** A matching host ends a query at the query's own deadline; this long after it the host is not heard of any more. */
const QUERY_ANSWER_TIMEOUT_MS = 1_000;

export function dispatchQuery(query: DirectQuery, { clock, matchingPartitions, router, finish, fail }: QueryDispatchOptions): void {
  const queue = partitionOf(query.key.namespaceId, query.taskQueue, 'workflow');
  const stickyDeadlineMs = clock.wallMs() + query.scheduleToStartTimeoutMs;
  const deadlineMs = queue.kind === 'sticky' ? Math.min(stickyDeadlineMs, query.deadlineMs) : query.deadlineMs;
  const { key, workflowType, previousStartedEventId, lastEventId: historyLastEventId, normalTaskQueue } = query;
  const workflow = { key, workflowType, previousStartedEventId, historyLastEventId, taskQueueName: normalTaskQueue.name };
  const request = { kind: 'dispatchQuery', queue, queryId: query.queryId, workflow, query: query.query, deadlineMs } as const;
  const answeredByMs = clock.monoMs() + deadlineMs - clock.wallMs() + QUERY_ANSWER_TIMEOUT_MS;
  router.askMatching(matchingPartitionOf(queue, matchingPartitions), request, ownWork(answeredByMs), (answer) => {
    const outcome = outcomeOf(answer);
    if (isAskFailure(outcome)) return fail(query.askId, outcome);
    const remainingMs = query.deadlineMs - clock.wallMs();
    const failure = finish({ kind: 'finishQueryDispatch', query, outcome, remainingMs });
    if (failure !== undefined) fail(query.askId, failure);
  });
}

function outcomeOf(answer: MatchingAnswer<DispatchQuery>): QueryDispatchOutcome | AskFailure {
  switch (answer.kind) {
    case 'queryAnswer':
      return { kind: 'answered', result: answer.result };
    case 'deadline':
      return { kind: 'expired' };
    case 'rejected':
      if (answer.rejection.reason === 'query-expired') return { kind: 'expired' };
      return answer.rejection.reason === 'no-poller' ? { kind: 'noPoller' } : { kind: 'queueFull', message: answer.rejection.message };
    case 'stickyUnavailable':
      return { kind: 'noPoller' };
    case 'notHere':
      // The matching host is not: who asked this shard would take it for the shard's answer.
      return { kind: 'unavailable', message: answer.message };
    default:
      return answer;
  }
}
