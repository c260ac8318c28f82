/**
 * What a reset reads of the histories of its workflow, with little memory: page by page, and the kept events of a long history go to the shard part by
 * part, before anything behind them is read.
 *
 *     base run   1 … 1000 │ 1001 … 2000 │ … finish − 1 ─▶ kept │ finish … last ─┐
 *     the run that continued it                                │ 1 … last ──────┴─▶ signals, updates, attachments, news of children: applied again
 */
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryPosition } from '../../history/run/history-replies.ts';
import type { ResetWorkflow } from '../../history/commands/operation-commands.ts';
import { EventType, TimeoutType, WorkflowTaskFailedCause } from '../../wire/generated/lean/enums.ts';
import { decodeHistoryEvent, type HistoryEvent } from '../../wire/generated/lean/history.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { invalidArgument, unlessNotFound } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Held } from '../held-bytes.ts';
import type { Call } from '../transport/call.ts';
import { positionNow, storedEvents } from '../pages/history-pages.ts';

/**
 * Kept events that are one record, and one turn of the event loop: some 4 ms. A history of no more is reset by one command. As many are read at once:
 * where the journal is read for them, each page costs the whole record that it stands in.
 */
const resetPartEventsMax = 1_000;
const resetPartBytesMax = 1024 * 1024;
/** The events that are applied again, with those that the same record keeps, come to one record of the journal. */
const resetReappliedBytesMax = 6 * 1024 * 1024;

/** The task is found among the events next to it, unless what one task has brought about is long. */
const firstLookBack = 20;

/** The caller waits for this call; what it holds in memory counts. */
export type Reading = { readonly context: HandlerContext; readonly call: Call; readonly held: Held };

/** What is applied again; the caller may do without. */
export type Reapplied = { readonly signals: boolean; readonly updates: boolean };

export type Kept = {
  readonly base: RunKey;
  readonly newRunId: string;
  /** '' = none: it is for the last command to say. Else the run that an earlier request with this id has made. */
  readonly madeRunId: string;
} & Pick<ResetWorkflow, 'isPrepared' | 'keptEvents'>;

export type Later = Pick<ResetWorkflow, 'laterEvents' | 'readTo'>;

export type Asked = { readonly finishEventId: number; readonly requestId: string };

/**
 * Up to the event that is gone on from. `begins`: the shard prepares a run from now on, which is to be dropped if nobody goes on with it. Throws before that
 * where it would refuse the event in the end.
 */
export async function keepEvents(
  reading: Reading,
  base: HistoryPosition,
  asked: Asked,
  begins: (run: RunKey) => Promise<void>,
): Promise<Kept> {
  const { context, call, held } = reading;
  const { key } = base;
  const newRunId = context.ports.newRunId();
  const kept = { base: key, newRunId, madeRunId: '' };
  let part: Uint8Array[] = [];
  let bytes = 0;
  let heldBytes = 0;
  let firstEventId = 1;
  const turns = context.computing.turnsOf(call, key.namespaceId);
  /** Answers another run id: the request has its run already. */
  const send = async (): Promise<string> => {
    // Not in the turn that has read it.
    await turns.next();
    const command = { kind: 'prepareReset', key, newRunId, requestId: asked.requestId, firstEventId, events: part } as const;
    const { runId } = await context.history(call, key, command);
    firstEventId += part.length;
    part = [];
    bytes = 0;
    return runId;
  };
  for await (const event of eventsOf(reading, base, 1, asked.finishEventId - 1)) {
    if (part.length === resetPartEventsMax || (part.length > 0 && bytes + event.length > resetPartBytesMax)) {
      if (firstEventId === 1) {
        if (!(await waitsForTask(reading, base, asked.finishEventId))) throw invalidArgument(notAtTask(asked.finishEventId));
        await begins({ ...key, runId: newRunId });
      }
      const runId = await send();
      if (runId !== newRunId) return { ...kept, isPrepared: true, keptEvents: [], madeRunId: runId };
    }
    part.push(event);
    bytes += event.length;
    // Of the largest part.
    if (bytes > heldBytes) held.grow(bytes - heldBytes);
    heldBytes = Math.max(heldBytes, bytes);
  }
  if (firstEventId === 1) return { ...kept, isPrepared: false, keptEvents: part };
  const runId = await send();
  return { ...kept, isPrepared: true, keptEvents: part, madeRunId: runId === newRunId ? '' : runId };
}

/** What came behind the kept events, in this run and in those that continue it. Read again it goes on where it was: a workflow may be told something all the time. */
export class LaterEvents {
  readonly #reading: Reading;
  readonly #reapplied: Reapplied;
  readonly #events: Uint8Array[] = [];
  #bytes: number;
  #run: RunKey;
  #nextEventId: number;
  /** The run that continues it; '' = none. */
  #nextRunId = '';

  constructor(
    reading: Reading,
    { base, keptEvents }: Pick<Kept, 'base' | 'keptEvents'>,
    { finishEventId, reapplied }: { readonly finishEventId: number; readonly reapplied: Reapplied },
  ) {
    this.#reading = reading;
    this.#reapplied = reapplied;
    this.#bytes = keptEvents.reduce((sum, { length }) => sum + length, 0);
    this.#run = base;
    this.#nextEventId = finishEventId;
  }

  /** Up to the end that there is now; `base`: where the base run ends. */
  async readOn(base: HistoryPosition): Promise<Later> {
    const { context, call } = this.#reading;
    const isBase = this.#run.runId === base.key.runId;
    await this.#read(isBase ? base : await positionNow(context, call, this.#run), isBase);
    while (this.#nextRunId !== '') {
      const run = await positionNow(context, call, { ...base.key, runId: this.#nextRunId }).catch(unlessNotFound);
      // What a run that is gone by now had been told is gone with it.
      if (run === undefined) break;
      this.#run = run.key;
      this.#nextEventId = 1;
      await this.#read(run, false);
    }
    return { laterEvents: this.#events, readTo: { runId: this.#run.runId, lastEventId: this.#nextEventId - 1 } };
  }

  async #read(run: HistoryPosition, isBase: boolean): Promise<void> {
    for await (const bytes of eventsOf(this.#reading, run, this.#nextEventId, run.lastEventId)) {
      const event = decodeHistoryEvent(bytes, ownLimits);
      if (isAppliedAgain(event, this.#reapplied) || (isBase && childEvents.has(event.eventType))) this.#add(bytes);
      this.#nextRunId = nextRunId(event);
      this.#nextEventId += 1;
    }
  }

  #add(bytes: Uint8Array): void {
    this.#reading.held.grow(bytes.length);
    this.#bytes += bytes.length;
    if (this.#bytes > resetReappliedBytesMax) {
      throw invalidArgument(`the events to apply again are larger than ${resetReappliedBytesMax} bytes (resetReappliedBytesMax)`);
    }
    this.#events.push(bytes);
  }
}

async function* eventsOf({ context, call }: Reading, { key }: HistoryPosition, firstEventId: number, lastEventId: number) {
  const turns = context.computing.turnsOf(call, key.namespaceId);
  for (let nextEventId = firstEventId; nextEventId <= lastEventId;) {
    // A chain on a schedule may have a great many runs, and whoever went away wants none of them.
    await turns.next();
    const events = await storedEvents(context, call, key, nextEventId, lastEventId, resetPartEventsMax);
    yield* events;
    nextEventId += events.length;
  }
}

/** Whether a workflow task, or the next attempt of one, is pending in front of that event: so the shard will see it, once all that is kept is written. */
async function waitsForTask(reading: Reading, base: HistoryPosition, finishEventId: number): Promise<boolean> {
  let wasPaused = false;
  for (let lastEventId = finishEventId - 1, count = firstLookBack; lastEventId >= 1; lastEventId -= count, count = resetPartEventsMax) {
    let state: TaskState | undefined;
    let isPaused = false;
    for await (const bytes of eventsOf(reading, base, Math.max(1, lastEventId - count + 1), lastEventId)) {
      const event = decodeHistoryEvent(bytes, ownLimits);
      const behind = taskBehind(event);
      isPaused = behind === undefined && (isPaused || isOfPause(event));
      state = behind ?? state;
    }
    wasPaused ||= isPaused;
    if (state !== undefined) return state === 'pending' || (state === 'repeated' && !wasPaused);
  }
  return false;
}

/** The words are those of the shard, which refuses the event where the history is one command. */
function notAtTask(finishEventId: number): string {
  return `Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: ${finishEventId}`;
}

type TaskState = 'pending' | 'repeated' | 'none';

/** The state of the workflow task behind an event; undefined: the event says nothing of it. */
function taskBehind(event: HistoryEvent): TaskState | undefined {
  switch (event.eventType) {
    case EventType.WORKFLOW_TASK_SCHEDULED:
    case EventType.WORKFLOW_TASK_STARTED:
      return 'pending';
    case EventType.WORKFLOW_TASK_COMPLETED:
      return 'none';
    case EventType.WORKFLOW_TASK_FAILED:
      return event.workflowTaskFailedEventAttributes?.cause === WorkflowTaskFailedCause.RESET_WORKFLOW ? 'none' : 'repeated';
    case EventType.WORKFLOW_TASK_TIMED_OUT:
      return event.workflowTaskTimedOutEventAttributes?.timeoutType === TimeoutType.SCHEDULE_TO_START ? 'none' : 'repeated';
    default:
      return undefined;
  }
}

/** What comes behind a pause is no repetition. */
function isOfPause({ eventType }: HistoryEvent): boolean {
  return eventType === EventType.WORKFLOW_EXECUTION_PAUSED || eventType === EventType.WORKFLOW_EXECUTION_UNPAUSED;
}

/** Whether an event is applied again, whichever run of the chain has it. */
function isAppliedAgain({ eventType }: HistoryEvent, { signals, updates }: Reapplied): boolean {
  switch (eventType) {
    case EventType.WORKFLOW_EXECUTION_SIGNALED:
      return signals;
    case EventType.WORKFLOW_EXECUTION_UPDATE_ADMITTED:
    case EventType.WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
      return updates;
    default:
      return eventType === EventType.WORKFLOW_EXECUTION_OPTIONS_UPDATED;
  }
}

const childEvents: ReadonlySet<number> = new Set([
  EventType.START_CHILD_WORKFLOW_EXECUTION_FAILED,
  EventType.CHILD_WORKFLOW_EXECUTION_STARTED,
  EventType.CHILD_WORKFLOW_EXECUTION_COMPLETED,
  EventType.CHILD_WORKFLOW_EXECUTION_FAILED,
  EventType.CHILD_WORKFLOW_EXECUTION_CANCELED,
  EventType.CHILD_WORKFLOW_EXECUTION_TIMED_OUT,
  EventType.CHILD_WORKFLOW_EXECUTION_TERMINATED,
]);

/** The run that goes on after the one that this event closes; '' = none, or the event closes no run. */
export function nextRunId(event: HistoryEvent): string {
  const close =
    event.workflowExecutionContinuedAsNewEventAttributes ??
    event.workflowExecutionCompletedEventAttributes ??
    event.workflowExecutionFailedEventAttributes ??
    event.workflowExecutionTimedOutEventAttributes;
  return close?.newExecutionRunId ?? '';
}
