/** A query on its way to a worker, by way of matching. What the answer means, and which queue is tried next, is for the core to decide. */
import type { DirectQuery, FinishQueryDispatch, QueryDispatchOutcome } from '../../history/query/query-commands.ts';
import { taskQueueKind } from '../../history/generated/enums.ts';
import type { DispatchQuery } from '../../matching/commands.ts';
import { matchingPartitionOf, type TaskQueuePartition } from '../../matching/task-queue.ts';
import { type AskFailure, isAskFailure } from '../asks/asks.ts';
import type { Clock } from '../ports.ts';
import type { Asker, MatchingAnswer } from '../asks/router.ts';

export type QueryDispatchOptions = {
  readonly clock: Clock;
  /** Partitions of the matching topic. */
  readonly matchingPartitions: number;
  readonly router: Asker;
  /** The outcome, for the core. Undefined: accepted. */
  readonly finish: (command: FinishQueryDispatch) => AskFailure | undefined;
  /** The query has failed without an outcome. */
  readonly fail: (askId: number, failure: AskFailure) => void;
};

/** A matching host ends a query at the query's own deadline; this long after it the host is not heard of any more. */
const ANSWER_TIMEOUT_MS = 1_000;

export class QueryDispatch {
  readonly #options: QueryDispatchOptions;

  constructor(options: QueryDispatchOptions) {
    this.#options = options;
  }

  send(query: DirectQuery): void {
    const { clock, matchingPartitions, router, finish, fail } = this.#options;
    const queue = queueOf(query);
    const stickyDeadlineMs = clock.wallMs() + query.scheduleToStartTimeoutMs;
    const deadlineMs = queue.kind === 'sticky' ? Math.min(stickyDeadlineMs, query.deadlineMs) : query.deadlineMs;
    const request = {
      kind: 'dispatchQuery',
      queue,
      queryId: query.queryId,
      workflow: {
        key: query.key,
        workflowType: query.workflowType,
        previousStartedEventId: query.previousStartedEventId,
        historyLastEventId: query.lastEventId,
        taskQueueName: query.normalTaskQueue.name,
      },
      query: query.query,
      deadlineMs,
    } as const;
    const answeredByMs = clock.monoMs() + deadlineMs - clock.wallMs() + ANSWER_TIMEOUT_MS;
    router.askMatching(matchingPartitionOf(queue, matchingPartitions), request, answeredByMs, (answer) => {
      const outcome = outcomeOf(answer);
      if (isAskFailure(outcome)) return fail(query.askId, outcome);
      const remainingMs = query.deadlineMs - clock.wallMs();
      const failure = finish({ kind: 'finishQueryDispatch', query, outcome, remainingMs });
      if (failure !== undefined) fail(query.askId, failure);
    });
  }
}

function queueOf({ key, taskQueue }: DirectQuery): TaskQueuePartition {
  return {
    namespaceId: key.namespaceId,
    name: taskQueue.name,
    taskType: 'workflow',
    partition: 0,
    kind: taskQueue.kind === taskQueueKind.sticky ? 'sticky' : 'normal',
  };
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
