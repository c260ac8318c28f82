/** The workflows of crash runs as their workers play them, and their events as the checker sees them. */
import { unreachable } from '../../src/kernel/assert.ts';
import {
  emptyCommand,
  emptyContinueAsNewWorkflowExecutionCommandAttributes,
  emptyScheduleActivityTaskCommandAttributes,
} from '../../src/wire/generated/lean/command.ts';
import type { RetryPolicy } from '../../src/wire/generated/lean/common.ts';
import { CommandType, ContinueAsNewInitiator, EventType, TaskQueueKind } from '../../src/wire/generated/lean/enums.ts';
import { emptyApplicationFailureInfo, emptyFailure, encodeFailure } from '../../src/wire/generated/lean/failure.ts';
import type { HistoryEvent } from '../../src/wire/generated/lean/history.ts';
import type { Message } from '../../src/wire/generated/lean/update.ts';
import type { RespondWorkflowTaskCompletedRequest, StartWorkflowExecutionRequest } from '../../src/wire/generated/lean/workflow_service.ts';
import { type Program, RUN_TIMEOUT_MS } from './crash-program.ts';
import { observeUpdate, playUpdates } from './crash-updates.ts';
import { jsonPayloads, jsonValue } from './json-payloads.ts';
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
): Pick<
  StartWorkflowExecutionRequest,
  'workflowType' | 'workflowTaskTimeoutMs' | 'workflowRunTimeoutMs' | 'input' | 'retryPolicy' | 'cronSchedule'
> {
  return {
    workflowType,
    workflowTaskTimeoutMs: WORKFLOW_TASK_TIMEOUT_MS,
    input: jsonPayloads({ program, padding: 'x'.repeat(padding) }),
    workflowRunTimeoutMs: program.kind === 'timedOut' ? RUN_TIMEOUT_MS : 0,
    retryPolicy: retryPolicy(program),
    cronSchedule: program.kind === 'scheduled' ? '@every 1s' : '',
  };
}

function retryPolicy(program: Program): RetryPolicy | undefined {
  if (program.kind === 'timedOut') return soon(program.attempts);
  return program.kind === 'retried' ? soon(program.maximumAttempts) : undefined;
}

function soon(maximumAttempts: number): RetryPolicy {
  return { initialIntervalMs: 50, backoffCoefficient: 1, maximumIntervalMs: 50, maximumAttempts, nonRetryableErrorTypes: [] };
}

/** What a worker answers to a workflow task. */
export type Played = { readonly commands: Commands; readonly messages: readonly Message[] };

/** `updates`: that came with it. `outcome`: of those that it completes. */
export function play(
  events: readonly HistoryEvent[],
  updates: readonly Message[],
  { taskQueue, outcome }: { readonly taskQueue: string; readonly outcome: string },
): Played {
  const { program, ...input } = inputOf(events);
  if (program.kind !== 'plain') return { commands: chainCommands(events, { program, ...input }, taskQueue), messages: [] };
  const played = playUpdates(events, updates, outcome);
  const count = (type: number): number => events.filter((event) => event.eventType === type).length;
  const begins = count(EventType.ACTIVITY_TASK_SCHEDULED) === 0;
  const isTold = count(EventType.WORKFLOW_EXECUTION_SIGNALED) >= program.signals && played.completed >= program.updates;
  const isDone = isTold && played.open === 0 && count(EventType.ACTIVITY_TASK_COMPLETED) > 0;
  // The first of them: its worker knows it by the id of its event.
  const activity = begins ? [scheduledActivity(events.at(-1)!.eventId + 2, taskQueue)] : [];
  return { commands: [...activity, ...played.commands, ...(isDone ? [completed(undefined)] : [])], messages: played.messages };
}

type Chained = Exclude<Program, { readonly kind: 'plain' }>;
type Input = { readonly program: Program; readonly padding: string };

function inputOf(events: readonly HistoryEvent[]): Input {
  return jsonValue(events[0]!.workflowExecutionStartedEventAttributes!.input) as Input;
}

function chainCommands(events: readonly HistoryEvent[], input: Input & { readonly program: Chained }, taskQueue: string): Commands {
  const started = events[0]!.workflowExecutionStartedEventAttributes!;
  const { program } = input;
  switch (program.kind) {
    case 'retried':
      return [started.attempt <= program.failures ? failed() : completed(undefined)];
    case 'scheduled': {
      const run = 1 + Number(jsonValue(started.lastCompletionResult) ?? 0);
      return [run < program.runs ? completed(jsonPayloads(run)) : canceled()];
    }
    case 'timedOut':
      return [];
    case 'continued': {
      const { more } = program;
      if (more === 0) return [completed(undefined)];
      return [continuedAsNew(jsonPayloads({ ...input, program: { ...program, more: more - 1 } }), taskQueue)];
    }
    default:
      return unreachable(program);
  }
}

function scheduledActivity(scheduledEventId: number, taskQueue: string): Commands[number] {
  return {
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
  };
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

/** A task that is there for updates leaves no trace then. */
export function changesNothing({ commands, messages }: Played): boolean {
  return commands.length === 0 && messages.every(({ body }) => body?.typeUrl.endsWith('Rejection') === true);
}

const eventTypeNames = new Map<number, string>(
  Object.entries(EventType).map(([name, value]) => [
    value,
    name.toLowerCase().replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase()),
  ]),
);

/**
 * A later attempt of a workflow task, or one that is there for an update, is shown at the end, and is no part of history before it is over: something
 * else may take its place. Nothing tells the latter from one that is.
 */
export function storedEvents(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const { WORKFLOW_TASK_SCHEDULED, WORKFLOW_TASK_STARTED } = EventType;
  const at = events.findLastIndex(({ eventType }) => eventType !== WORKFLOW_TASK_STARTED);
  return events[at]?.eventType === WORKFLOW_TASK_SCHEDULED ? events.slice(0, at) : events;
}

export function observe(event: HistoryEvent): ObservedEvent {
  const requested =
    event.workflowExecutionSignaledEventAttributes ??
    event.workflowExecutionPausedEventAttributes ??
    event.workflowExecutionUnpausedEventAttributes;
  const started = event.workflowTaskStartedEventAttributes;
  const about =
    event.activityTaskStartedEventAttributes ??
    event.activityTaskCompletedEventAttributes ??
    event.activityTaskTimedOutEventAttributes ??
    event.activityTaskFailedEventAttributes ??
    started ??
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
    ...(started === undefined ? {} : { poller: started.identity }),
    ...observeLinks(event),
    ...observeResult(event),
    ...observeUpdate(event),
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
