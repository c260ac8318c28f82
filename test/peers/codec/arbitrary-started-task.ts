import fc from 'fast-check';
import type { StartedActivityTask, StartedWorkflowTask } from '../../../src/history/run/history-replies.ts';
import { bytes, count, list, mapOf, maybeWith, orNone, record, retryPolicy, runKey, taskQueue, text } from './arbitrary.ts';

export const startedWorkflowTask: fc.Arbitrary<StartedWorkflowTask> = maybeWith(
  record({
    kind: fc.constant('workflowTask' as const),
    key: runKey,
    workflowType: text,
    scheduledEventId: count,
    startedEventId: count,
    previousStartedEventId: count,
    attempt: count,
    scheduledTimeMs: count,
    startedTimeMs: count,
    taskQueue,
    historyFirstEventId: count,
    historyLastEventId: count,
    tailEvents: list(bytes),
    queries: mapOf(bytes),
    updates: list(record({ updateId: text, request: bytes })),
  }),
  'firstPage',
  list(bytes),
);

export const startedActivityTask: fc.Arbitrary<StartedActivityTask> = record({
  kind: fc.constant('activityTask' as const),
  key: runKey,
  workflowType: text,
  activityId: text,
  activityType: text,
  header: orNone(bytes),
  input: orNone(bytes),
  heartbeatDetails: orNone(bytes),
  scheduledEventId: count,
  attempt: count,
  scheduledTimeMs: count,
  currentAttemptScheduledTimeMs: count,
  startedTimeMs: count,
  scheduleToCloseTimeoutMs: count,
  startToCloseTimeoutMs: count,
  heartbeatTimeoutMs: count,
  retryPolicy,
  priority: orNone(bytes),
});
