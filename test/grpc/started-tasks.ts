/** Started tasks as history hands them out. */
import type { StartedActivityTask, StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import type { StartedTask } from '../../src/actors/asks/router.ts';
import type { TaskReply } from '../../src/matching/matching-replies.ts';
import { encodePayload, encodePayloads } from '../../src/wire/generated/lean/common.ts';
import { runId } from './frontend-bench.ts';

export const key = { namespaceId: 'default-id', workflowId: 'w', runId };

export const startedWorkflowTask: StartedWorkflowTask = {
  kind: 'workflowTask',
  key,
  workflowType: 'order',
  scheduledEventId: 2,
  startedEventId: 3,
  previousStartedEventId: 0,
  attempt: 1,
  scheduledTimeMs: 1_700_000_000_000,
  startedTimeMs: 1_700_000_000_123,
  taskQueue: { name: 'orders', kind: 1, normalName: '' },
  historyFirstEventId: 1,
  historyLastEventId: 3,
  tailEvents: [],
  queries: new Map(),
  updates: [],
};

export const startedActivityTask: StartedActivityTask = {
  kind: 'activityTask',
  key,
  workflowType: 'order',
  activityId: '5',
  activityType: 'charge',
  header: undefined,
  input: Buffer.from([10, 0]),
  heartbeatDetails: undefined,
  scheduledEventId: 5,
  attempt: 2,
  scheduledTimeMs: 1_700_000_000_000,
  currentAttemptScheduledTimeMs: 1_700_000_001_000,
  startedTimeMs: 1_700_000_002_000,
  scheduleToCloseTimeoutMs: 60_000,
  startToCloseTimeoutMs: 10_000,
  heartbeatTimeoutMs: 1_500,
  retryPolicy: {
    initialIntervalMs: 1_000,
    backoffCoefficient: 2,
    maximumIntervalMs: 100_000,
    maximumAttempts: 0,
    nonRetryableErrorTypes: ['Fatal'],
  },
  priority: undefined,
};

/** As matching answers a poll. */
export function taskReply(task: StartedTask, backlogCountHint = 0): TaskReply<StartedTask> {
  const origin = {
    key,
    historyShard: 1,
    scheduledEventId: task.scheduledEventId,
    stamp: 1,
    expiryTimeMs: 0,
    taskId: 1,
    priority: undefined,
  };
  return { kind: 'task', task, origin, pollRequestId: 'poll', backlogCountHint };
}

/** Payloads of one value of so many bytes. */
export function payloadsOf(dataBytes: number): Uint8Array {
  const metadata = new Map([['encoding', Buffer.from('binary/plain')]]);
  return encodePayloads({ payloads: [encodePayload({ metadata, data: new Uint8Array(dataBytes), externalPayloads: [] })] });
}
