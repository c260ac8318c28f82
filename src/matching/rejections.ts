/** Every refusal of a matching host, with its text. */
import { matchingLimits as limits } from './limits.ts';
import type { MatchingRejected, MatchingRejection } from './replies.ts';

/** Clients compare this text. */
export const noPoller = rejected('no-poller', 'no poller seen for task queue recently, worker may be down');
export const queryExpired = rejected('query-expired', 'query timed out before a worker could process it');
export const queryNotFound = rejected('query-not-found', 'query task not found, or already expired');
export const tooManyPolls = rejected('too-many-polls', `task queue partition has ${limits.pollsPerQueueMax} open polls, its limit`);
export const tooManyQueries = rejected('too-many-queries', `task queue partition has ${limits.queriesPerQueueMax} open queries, its limit`);
export const backlogFull = rejected('backlog-full', `task queue partition has ${limits.storedTasksPerQueueMax} stored tasks, its limit`);
export const tooManyQueues = rejected(
  'too-many-queues',
  `matching host has ${limits.queuesPerHostMax} task queue partitions in use, its limit`,
);

function rejected(reason: MatchingRejection['reason'], message: string): MatchingRejected {
  return { kind: 'rejected', rejection: { reason, message } };
}
