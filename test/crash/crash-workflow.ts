/** The workflows of crash runs as their workers play them, and their events as the checker sees them. */
import { unreachable } from '../../src/kernel/assert.ts';
import {
  emptyCommand,
  emptyContinueAsNewWorkflowExecutionCommandAttributes,
  emptyScheduleActivityTaskCommandAttributes,
} from '../../src/wire/generated/lean/command.ts';
import { decodePayload, decodePayloads, encodePayload, encodePayloads, type RetryPolicy } from '../../src/wire/generated/lean/common.ts';
import { CommandType, ContinueAsNewInitiator, EventType, TaskQueueKind } from '../../src/wire/generated/lean/enums.ts';
import { emptyApplicationFailureInfo, emptyFailure, encodeFailure } from '../../src/wire/generated/lean/failure.ts';
import type { HistoryEvent } from '../../src/wire/generated/lean/history.ts';
import type { RespondWorkflowTaskCompletedRequest, StartWorkflowExecutionRequest } from '../../src/wire/generated/lean/workflow_service.ts';
import type { Program } from './crash-program.ts';
import type { ObservedEvent } from './recorded-history.ts';

/** A worker that lost its answer finds out by these timeouts, so they bound how long a crash can hold a workflow up. */
export const WORKFLOW_TASK_TIMEOUT_MS = 2_000;
const ACTIVITY_TIMEOUT_MS = 2_000;
const workflowType = { name: 'crash' };

type Commands = RespondWorkflowTaskCompletedRequest['commands'];

/** What a start says of it. `padding`: bytes of its input, which a row leaves to history if they are many. */
export function programStart(
  program: Program,
  padding: number,
): Pick<StartWorkflowExecutionRequest, 'workflowType' | 'workflowTaskTimeoutMs' | 'input' | 'retryPolicy' | 'cronSchedule'> {
  return {
    workflowType,
    workflowTaskTimeoutMs: WORKFLOW_TASK_TIMEOUT_MS,
    input: jsonPayloads({ program, padding: 'x'.repeat(padding) }),
    retryPolicy: program.kind === 'retried' ? soon(program.maximumAttempts) : undefined,
    cronSchedule: program.kind === 'scheduled' ? '@every 1s' : '',
  };
}

function soon(maximumAttempts: number): RetryPolicy {
  return { initialIntervalMs: 50, backoffCoefficient: 1, maximumIntervalMs: 50, maximumAttempts, nonRetryableErrorTypes: [] };
}

export function nextCommands(events: readonly HistoryEvent[], taskQueue: string): Commands {
  const started = events[0]!.workflowExecutionStartedEventAttributes!;
  const input = jsonValue(started.input) as { readonly program: Program; readonly padding: string };
  const { program } = input;
  switch (program.kind) {
    case 'plain':
      return plainCommands(program.signals, events, taskQueue);
    case 'retried':
      return [started.attempt <= program.failures ? failed() : completed(undefined)];
    case 'scheduled': {
      const run = 1 + Number(jsonValue(started.lastCompletionResult) ?? 0);
      return [run < program.runs ? completed(jsonPayloads(run)) : canceled()];
    }
    case 'continued': {
      const { more } = program;
      if (more === 0) return [completed(undefined)];
      return [continuedAsNew(jsonPayloads({ ...input, program: { ...program, more: more - 1 } }), taskQueue)];
    }
    default:
      return unreachable(program);
  }
}

/** An activity, then as many signals as its input says, then done. */
function plainCommands(expectedSignals: number, events: readonly HistoryEvent[], taskQueue: string): Commands {
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
          retryPolicy: soon(0),
        },
      },
    ];
  }
  const isDone = count(EventType.ACTIVITY_TASK_COMPLETED) > 0 && count(EventType.WORKFLOW_EXECUTION_SIGNALED) >= expectedSignals;
  return isDone ? [completed(undefined)] : [];
}

function completed(result: Uint8Array | undefined): Commands[number] {
  return {
    ...emptyCommand(),
    commandType: CommandType.COMPLETE_WORKFLOW_EXECUTION,
    completeWorkflowExecutionCommandAttributes: { result },
  };
}

function failed(): Commands[number] {
  const failure = encodeFailure({
    ...emptyFailure(),
    message: 'again',
    applicationFailureInfo: { ...emptyApplicationFailureInfo(), type: 'Again' },
  });
  return { ...emptyCommand(), commandType: CommandType.FAIL_WORKFLOW_EXECUTION, failWorkflowExecutionCommandAttributes: { failure } };
}

function canceled(): Commands[number] {
  return {
    ...emptyCommand(),
    commandType: CommandType.CANCEL_WORKFLOW_EXECUTION,
    cancelWorkflowExecutionCommandAttributes: { details: undefined },
  };
}

function continuedAsNew(input: Uint8Array, taskQueue: string): Commands[number] {
  return {
    ...emptyCommand(),
    commandType: CommandType.CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
    continueAsNewWorkflowExecutionCommandAttributes: {
      ...emptyContinueAsNewWorkflowExecutionCommandAttributes(),
      workflowType,
      taskQueue: { name: taskQueue, kind: TaskQueueKind.NORMAL, normalName: '' },
      input,
      initiator: ContinueAsNewInitiator.WORKFLOW,
    },
  };
}

const closingCommands: ReadonlySet<number> = new Set([
  CommandType.COMPLETE_WORKFLOW_EXECUTION,
  CommandType.FAIL_WORKFLOW_EXECUTION,
  CommandType.CANCEL_WORKFLOW_EXECUTION,
  CommandType.CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
]);

export function closesRun(commands: Commands): boolean {
  return commands.some(({ commandType }) => closingCommands.has(commandType));
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
    ...observeLinks(event),
    ...observeResult(event),
  };
}

function observeLinks({
  workflowExecutionStartedEventAttributes: started,
  workflowTaskFailedEventAttributes: failed,
  ...event
}: HistoryEvent): Pick<ObservedEvent, 'begun' | 'nextRunId' | 'reset'> {
  const close =
    event.workflowExecutionCompletedEventAttributes ??
    event.workflowExecutionFailedEventAttributes ??
    event.workflowExecutionTimedOutEventAttributes ??
    event.workflowExecutionContinuedAsNewEventAttributes;
  if (close !== undefined) return { nextRunId: close.newExecutionRunId };
  if (failed !== undefined && failed.newRunId !== '') return { reset: { baseRunId: failed.baseRunId, newRunId: failed.newRunId } };
  if (started === undefined) return {};
  const { continuedExecutionRunId: continuedRunId, firstExecutionRunId: firstRunId, attempt, initiator, input } = started;
  return { begun: { continuedRunId, firstRunId, attempt, initiator, inputBytes: input?.length ?? 0 } };
}

function observeResult(event: HistoryEvent): Pick<ObservedEvent, 'result'> {
  const done = event.activityTaskCompletedEventAttributes ?? event.workflowExecutionCompletedEventAttributes;
  const result = done === undefined ? undefined : jsonValue(done.result);
  return typeof result === 'string' || typeof result === 'number' ? { result: String(result) } : {};
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
