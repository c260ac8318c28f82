import { PAGE_EVENTS_MAX } from '../../actors/history/events/history-store.ts';
import type { StartedActivityTask, StartedWorkflowTask } from '../../history/run/history-replies.ts';
import type { QueryTask } from '../../matching/matching-replies.ts';
import type { TaskQueuePartition } from '../../kernel/task-queue.ts';
import { decodeWorkflowQuery, type WorkflowQuery } from '../../wire/generated/lean/taskqueue.ts';
import { TaskQueueKind } from '../../wire/generated/lean/enums.ts';
import * as wire from '../../wire/generated/lean/workflow_service.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { eventPage, type EventPage } from '../pages/history-pages.ts';
import { updateRequestMessage } from './update-messages.ts';

/** Started tasks as workers get them: from a poll, or inline with the answer to a completion. */

/** No task, no query: the poll's time was over. */
export const emptyWorkflowTask: wire.PollWorkflowTaskQueueResponse = wire.emptyPollWorkflowTaskQueueResponse();
export const emptyActivityTask: wire.PollActivityTaskQueueResponse = wire.emptyPollActivityTaskQueueResponse();

const noQueries: ReadonlyMap<string, WorkflowQuery> = new Map();

export function workflowTaskAnswer(
  context: HandlerContext,
  call: Call,
  task: StartedWorkflowTask,
  backlogCountHint: number,
): wire.PollWorkflowTaskQueueResponse | Promise<wire.PollWorkflowTaskQueueResponse> {
  const page = eventPage(context, call, {
    key: task.key,
    firstEventId: task.historyFirstEventId,
    lastEventId: task.historyLastEventId,
    tailEvents: task.tailEvents,
    open: true,
    firstPage: task.firstPage,
    eventsMax: PAGE_EVENTS_MAX,
  });
  return page instanceof Promise
    ? page.then((events) => workflowTaskWith(context, task, backlogCountHint, events))
    : workflowTaskWith(context, task, backlogCountHint, page);
}

function workflowTaskWith(
  context: HandlerContext,
  task: StartedWorkflowTask,
  backlogCountHint: number,
  page: EventPage,
): wire.PollWorkflowTaskQueueResponse {
  const { namespaceId, workflowId, runId } = task.key;
  const { scheduledEventId, startedEventId, startedTimeMs, attempt } = task;
  return {
    ...emptyWorkflowTask,
    taskToken: context.tokens.workflowTask.sign({
      namespaceId,
      workflowId,
      runId,
      scheduledEventId,
      startedEventId,
      startedTimeMs,
      attempt,
    }),
    workflowExecution: { workflowId, runId },
    workflowType: { name: task.workflowType },
    previousStartedEventId: task.previousStartedEventId,
    startedEventId,
    attempt,
    backlogCountHint,
    history: { events: page.events },
    nextPageToken: page.nextPageToken,
    workflowExecutionTaskQueue: { name: task.taskQueue.name, kind: TaskQueueKind.NORMAL, normalName: '' },
    scheduledTimeMs: task.scheduledTimeMs,
    startedTimeMs,
    messages: task.updates.map((update) => updateRequestMessage(update, startedEventId)),
    queries: task.queries.size === 0 ? noQueries : new Map([...task.queries].map(([id, query]) => [id, decodeWorkflowQuery(query)])),
  };
}

/** A query-only task: nothing was started, and the token names the place that waits for the answer. */
export async function queryTaskAnswer(
  context: HandlerContext,
  call: Call,
  task: QueryTask,
  queue: TaskQueuePartition,
): Promise<wire.PollWorkflowTaskQueueResponse> {
  const { key, workflowType, previousStartedEventId, historyLastEventId, taskQueueName } = task.workflow;
  const page = await eventPage(context, call, {
    key,
    firstEventId: 1,
    lastEventId: task.sticky ? 0 : historyLastEventId,
    tailEvents: [],
    open: false,
    firstPage: undefined,
    eventsMax: PAGE_EVENTS_MAX,
  });
  return {
    ...emptyWorkflowTask,
    taskToken: context.tokens.queryTask.sign({
      namespaceId: key.namespaceId,
      taskQueue: queue.name,
      sticky: queue.kind === 'sticky',
      partition: task.queuePartition,
      queryId: task.queryId,
    }),
    workflowExecution: { workflowId: key.workflowId, runId: key.runId },
    workflowType: { name: workflowType },
    previousStartedEventId,
    attempt: 1,
    history: { events: page.events },
    nextPageToken: page.nextPageToken,
    query: decodeWorkflowQuery(task.query),
    workflowExecutionTaskQueue: { name: taskQueueName, kind: TaskQueueKind.NORMAL, normalName: '' },
  };
}

export function activityTaskAnswer(
  context: HandlerContext,
  task: StartedActivityTask,
  namespace: string,
): wire.PollActivityTaskQueueResponse {
  const { namespaceId, workflowId, runId } = task.key;
  const { scheduledEventId, activityId, attempt } = task;
  return {
    ...emptyActivityTask,
    taskToken: context.tokens.activityTask.sign({ namespaceId, workflowId, runId, scheduledEventId, activityId, attempt }),
    workflowNamespace: namespace,
    workflowType: { name: task.workflowType },
    workflowExecution: { workflowId, runId },
    activityType: { name: task.activityType },
    activityId,
    header: task.header,
    input: task.input,
    heartbeatDetails: task.heartbeatDetails,
    scheduledTimeMs: task.scheduledTimeMs,
    currentAttemptScheduledTimeMs: task.currentAttemptScheduledTimeMs,
    startedTimeMs: task.startedTimeMs,
    attempt,
    scheduleToCloseTimeoutMs: task.scheduleToCloseTimeoutMs,
    startToCloseTimeoutMs: task.startToCloseTimeoutMs,
    heartbeatTimeoutMs: task.heartbeatTimeoutMs,
    retryPolicy: task.retryPolicy,
    priority: task.priority,
  };
}
