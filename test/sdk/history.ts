import proto from '@temporalio/proto';
import type { temporal } from '@temporalio/proto';
import type { WorkflowClient } from '@temporalio/client';
import { assert } from 'vitest';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** `workflowTaskFailedEventAttributes` → its message. */
export type AttributesOf = {
  [K in keyof HistoryEvent as K extends `${string}EventAttributes` ? K : never]-?: NonNullable<HistoryEvent[K]>;
};
type RunOf = { readonly workflowId: string; readonly runId: string };

/** One run's events as a scenario asserts them: the exact list of types, then the attributes that matter. */
export class RunHistory {
  readonly events: readonly HistoryEvent[];

  constructor(events: readonly HistoryEvent[]) {
    this.events = events;
  }

  /** `WorkflowExecutionStarted`, `WorkflowTaskScheduled`, … in order. */
  get types(): readonly string[] {
    return this.events.map(typeOf);
  }

  get isClosed(): boolean {
    const last = this.types.at(-1);
    return last !== undefined && closingTypes.has(last);
  }

  /** The run that follows this one: by a command, a retry policy or a cron schedule. */
  get nextRunId(): string | undefined {
    const {
      workflowExecutionContinuedAsNewEventAttributes: continued,
      workflowExecutionCompletedEventAttributes: completed,
      workflowExecutionFailedEventAttributes: failed,
      workflowExecutionTimedOutEventAttributes: timedOut,
    } = this.events.at(-1) ?? {};
    const next = (continued ?? completed ?? failed ?? timedOut)?.newExecutionRunId ?? '';
    return next === '' ? undefined : next;
  }

  all<K extends keyof AttributesOf>(attributes: K): readonly AttributesOf[K][] {
    return this.events.flatMap((event) => {
      const found = (event as AttributesOf)[attributes];
      return found === null || found === undefined ? [] : [found];
    });
  }

  /** The attributes of the only event of that kind. */
  only<K extends keyof AttributesOf>(attributes: K): AttributesOf[K] {
    const [found, second] = this.all(attributes);
    assert(found !== undefined, `no ${attributes} among ${this.types.join(', ')}`);
    assert(second === undefined, `more than one ${attributes} among ${this.types.join(', ')}`);
    return found;
  }

  /** The event of that type which comes `nth` (from 1). */
  event(type: string, nth = 1): HistoryEvent {
    const found = this.events.filter((event) => typeOf(event) === type)[nth - 1];
    assert(found !== undefined, `no ${type} number ${nth} among ${this.types.join(', ')}`);
    return found;
  }

  /** Id of the event of that type which comes `nth` (from 1). */
  idOf(type: string, nth = 1): number {
    return Number(this.event(type, nth).eventId);
  }
}

export async function readHistory(client: WorkflowClient, namespace: string, execution: RunOf, pageSize = 0): Promise<RunHistory> {
  const events: HistoryEvent[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await client.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution,
      maximumPageSize: pageSize,
      ...(nextPageToken === undefined ? {} : { nextPageToken }),
    });
    events.push(...(page.history?.events ?? []));
    nextPageToken = page.nextPageToken;
  } while (nextPageToken !== undefined && nextPageToken.length > 0);
  return new RunHistory(events);
}

/** Follows the run until `there` is true of what has been written: a long poll, not a sleep. */
export async function followHistory(
  client: WorkflowClient,
  namespace: string,
  execution: RunOf,
  there: (history: RunHistory) => boolean,
): Promise<RunHistory> {
  let events: HistoryEvent[] = [];
  let nextPageToken: Uint8Array | undefined;
  for (;;) {
    const page = await client.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution,
      waitNewEvent: true,
      ...(nextPageToken === undefined ? {} : { nextPageToken }),
    });
    events = [...events, ...(page.history?.events ?? [])];
    const history = new RunHistory(events);
    if (there(history)) return history;
    nextPageToken = page.nextPageToken;
    const ended = nextPageToken === undefined || nextPageToken.length === 0;
    assert(!ended, `the run ended before it was seen: ${history.types.join(', ')}`);
  }
}

/** Scheduled, started and completed: what most workflow tasks leave. */
export const workflowTask = ['WorkflowTaskScheduled', 'WorkflowTaskStarted', 'WorkflowTaskCompleted'] as const;

/** An activity whose last attempt completed. */
export const activity = ['ActivityTaskScheduled', 'ActivityTaskStarted', 'ActivityTaskCompleted'] as const;

const closingTypes: ReadonlySet<string> = new Set([
  'WorkflowExecutionCompleted',
  'WorkflowExecutionFailed',
  'WorkflowExecutionTimedOut',
  'WorkflowExecutionCanceled',
  'WorkflowExecutionTerminated',
  'WorkflowExecutionContinuedAsNew',
]);

/** EVENT_TYPE_WORKFLOW_TASK_SCHEDULED → WorkflowTaskScheduled */
function typeOf(event: HistoryEvent): string {
  const name = proto.temporal.api.enums.v1.EventType[event.eventType ?? 0] ?? 'EVENT_TYPE_UNKNOWN';
  const words = name.slice('EVENT_TYPE_'.length).toLowerCase().split('_');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
