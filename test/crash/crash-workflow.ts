/** The workflow of crash runs as its workers play it, and its events as the checker sees them. */
import { emptyCommand, emptyScheduleActivityTaskCommandAttributes } from '../../src/wire/generated/lean/command.ts';
import { decodePayload, decodePayloads, encodePayload, encodePayloads } from '../../src/wire/generated/lean/common.ts';
import { CommandType, EventType, TaskQueueKind } from '../../src/wire/generated/lean/enums.ts';
import type { HistoryEvent } from '../../src/wire/generated/lean/history.ts';
import type { RespondWorkflowTaskCompletedRequest } from '../../src/wire/generated/lean/workflow_service.ts';
import type { ObservedEvent } from './recorded-history.ts';

/** A worker that lost its answer finds out by these timeouts, so they bound how long a crash can hold a workflow up. */
export const WORKFLOW_TASK_TIMEOUT_MS = 2_000;
const ACTIVITY_TIMEOUT_MS = 2_000;

/** The workflow: one activity, then as many signals as its input says, then done. */
export function nextCommands(events: readonly HistoryEvent[], taskQueue: string): RespondWorkflowTaskCompletedRequest['commands'] {
  const started = events[0]!.workflowExecutionStartedEventAttributes!;
  const expectedSignals = Number(jsonValue(started.input));
  const count = (type: number): number => events.filter((event) => event.eventType === type).length;
  if (count(EventType.ACTIVITY_TASK_SCHEDULED) === 0) {
    const scheduledEventId = events.at(-1)!.eventId + 2;
    return [
      {
        ...emptyCommand(),
        commandType: CommandType.SCHEDULE_ACTIVITY_TASK,
        scheduleActivityTaskCommandAttributes: {
          ...emptyScheduleActivityTaskCommandAttributes(),
          activityId: String(scheduledEventId),
          activityType: { name: 'crash' },
          taskQueue: { name: taskQueue, kind: TaskQueueKind.NORMAL, normalName: '' },
          startToCloseTimeoutMs: ACTIVITY_TIMEOUT_MS,
          retryPolicy: {
            initialIntervalMs: 50,
            backoffCoefficient: 1,
            maximumIntervalMs: 50,
            maximumAttempts: 0,
            nonRetryableErrorTypes: [],
          },
        },
      },
    ];
  }
  const done = count(EventType.ACTIVITY_TASK_COMPLETED) > 0 && count(EventType.WORKFLOW_EXECUTION_SIGNALED) >= expectedSignals;
  return done
    ? [
        {
          ...emptyCommand(),
          commandType: CommandType.COMPLETE_WORKFLOW_EXECUTION,
          completeWorkflowExecutionCommandAttributes: { result: undefined },
        },
      ]
    : [];
}

const eventTypeNames = new Map<number, string>(
  Object.entries(EventType).map(([name, value]) => [
    value,
    name.toLowerCase().replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase()),
  ]),
);

/** A later attempt of a workflow task is shown at the end, and is no part of history before it is over: a pause or a signal may take its place. */
export function storedEvents(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const { WORKFLOW_TASK_SCHEDULED, WORKFLOW_TASK_STARTED } = EventType;
  const at = events.findLastIndex(({ eventType }) => eventType !== WORKFLOW_TASK_STARTED);
  const last = events[at];
  const isShownOnly = last?.eventType === WORKFLOW_TASK_SCHEDULED && (last.workflowTaskScheduledEventAttributes?.attempt ?? 0) > 1;
  return isShownOnly ? events.slice(0, at) : events;
}

export function observe(event: HistoryEvent): ObservedEvent {
  const requested =
    event.workflowExecutionSignaledEventAttributes ??
    event.workflowExecutionPausedEventAttributes ??
    event.workflowExecutionUnpausedEventAttributes;
  const about =
    event.activityTaskStartedEventAttributes ??
    event.activityTaskCompletedEventAttributes ??
    event.activityTaskTimedOutEventAttributes ??
    event.activityTaskFailedEventAttributes ??
    event.workflowTaskStartedEventAttributes ??
    event.workflowTaskCompletedEventAttributes ??
    event.workflowTaskTimedOutEventAttributes ??
    event.workflowTaskFailedEventAttributes;
  return {
    eventId: event.eventId,
    timeMs: event.eventTimeMs,
    type: eventTypeNames.get(event.eventType) ?? String(event.eventType),
    ...(requested === undefined ? {} : { requestId: requested.requestId }),
    ...(about === undefined ? {} : { scheduledEventId: about.scheduledEventId }),
    ...(about !== undefined && 'startedEventId' in about ? { startedEventId: about.startedEventId } : {}),
    ...(event.activityTaskCompletedEventAttributes === undefined
      ? {}
      : { result: String(jsonValue(event.activityTaskCompletedEventAttributes.result)) }),
  };
}

export function jsonPayloads(value: unknown): Uint8Array {
  const metadata = new Map([['encoding', new TextEncoder().encode('json/plain')]]);
  const payload = { metadata, data: new TextEncoder().encode(JSON.stringify(value)), externalPayloads: [] };
  return encodePayloads({ payloads: [encodePayload(payload)] });
}

function jsonValue(payloads: Uint8Array | undefined): unknown {
  const first = payloads === undefined ? undefined : decodePayloads(payloads).payloads[0];
  return first === undefined ? undefined : JSON.parse(new TextDecoder().decode(decodePayload(first).data));
}
