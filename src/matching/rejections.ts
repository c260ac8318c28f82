/** Every refusal of a matching host, with its text. */
import type { MatchingLimits } from './matching-limits.ts';
import type { MatchingRejected, MatchingRejection } from './matching-replies.ts';

/** Clients compare this text. */
export const noPoller = rejected('no-poller', 'no poller seen for task queue recently, worker may be down');
export const queryExpired = rejected('query-expired', 'query timed out before a worker could process it');
export const queryNotFound = rejected('query-not-found', 'query task not found, or already expired');

/** Clients see this text of Temporal's. */
export const tooManyWeights = rejected('too-many-weights', 'fairness weight overrides update rejected: exceeding maximum key size');

export function configsFull({ configBytesPerHostMax }: MatchingLimits): MatchingRejected {
  return rejected('configs-full', `configurations of task queues take ${configBytesPerHostMax} bytes of a matching host, its limit`);
}

export function tasksLeft(stored: number): MatchingRejected {
  return rejected('tasks-left', `task queues of the namespace have ${stored} stored tasks: poll them empty first`);
}

export function tooManyPolls({ pollsPerQueueMax }: MatchingLimits): MatchingRejected {
  return rejected('too-many-polls', `task queue partition has ${pollsPerQueueMax} open polls, its limit`);
}

export function tooManyQueries({ queriesPerQueueMax }: MatchingLimits): MatchingRejected {
  return rejected('too-many-queries', `task queue partition has ${queriesPerQueueMax} open queries, its limit`);
}

export function backlogFull(storedMax: number): MatchingRejected {
  return rejected('backlog-full', `task queue partition has ${storedMax} stored tasks, its limit`);
}

export function tooManyQueues({ queuesPerHostMax }: MatchingLimits): MatchingRejected {
  return rejected('too-many-queues', `matching host has ${queuesPerHostMax} task queue partitions in use, its limit`);
}

function rejected(reason: MatchingRejection['reason'], message: string): MatchingRejected {
  return { kind: 'rejected', rejection: { reason, message } };
}
