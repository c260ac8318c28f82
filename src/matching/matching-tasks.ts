/** What waits for a worker, and what commands and answers say of it. */
import type { RunKey } from '../kernel/run-key.ts';
import type { PriorityFields } from '../kernel/priority.ts';

/** A task that waits for a worker. Which task it is say run, scheduled event id and stamp; `taskId` is of its shard's counter. */
export type MatchingTask = {
  readonly key: RunKey;
  readonly historyShard: number;
  readonly scheduledEventId: number;
  readonly stamp: number;
  /** Schedule-to-start: offered to nobody afterwards; 0 = never expires. */
  readonly expiryTimeMs: number;
  readonly taskId: number;
  /** undefined: as all are that say nothing. */
  readonly priority: PriorityFields | undefined;
};

/** Equal for two copies of one task. */
export function taskIdentity(task: MatchingTask): string {
  return `${task.key.runId}/${task.scheduledEventId}/${task.stamp}/${task.key.workflowId}`;
}

export function isExpired({ expiryTimeMs }: MatchingTask, nowMs: number): boolean {
  return expiryTimeMs !== 0 && expiryTimeMs <= nowMs;
}

/** Approximate bytes of a stored task in memory: its objects, and its names twice, once in its identity. Two bytes a character. */
export function taskBytes({ key, priority }: MatchingTask): number {
  const priorityBytes = priority === undefined ? 0 : 80 + 2 * priority.fairnessKey.length;
  return 300 + 4 * key.workflowId.length + priorityBytes;
}

/** What the answer to a query-only poll says about the workflow, besides the query. */
export type QueriedWorkflow = {
  readonly key: RunKey;
  readonly workflowType: string;
  readonly previousStartedEventId: number;
  /** The last event of the whole history. A sticky worker gets no events, others get all of them. */
  readonly historyLastEventId: number;
  /** The normal queue, also on a sticky task. */
  readonly taskQueueName: string;
};

export type QueryResult = {
  readonly answered: boolean;
  readonly answer: Uint8Array | undefined;
  readonly errorMessage: string;
  readonly failure: Uint8Array | undefined;
};
