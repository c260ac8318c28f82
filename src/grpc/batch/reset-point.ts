/** To which event a reset of a batch job goes: what it is told is the first workflow task or the last, and each workflow has its own. */
import { PAGE_EVENTS_MAX } from '../../actors/history/events/history-store.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { BatchOperationReset } from '../../wire/generated/lean/batch.ts';
import { EventType, ResetType } from '../../wire/generated/lean/enums.ts';
import { decodeHistoryEvent } from '../../wire/generated/lean/history.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { positionNow, storedEvents } from '../pages/history-pages.ts';

export type ResetTarget = { readonly kind: 'event'; readonly eventId: number } | { readonly kind: 'first' | 'last' };

/** undefined: it names none. */
export function resetTarget({ options, resetType }: BatchOperationReset): ResetTarget | undefined {
  if (options === undefined) {
    if (resetType === ResetType.FIRST_WORKFLOW_TASK) return { kind: 'first' };
    return resetType === ResetType.LAST_WORKFLOW_TASK ? { kind: 'last' } : undefined;
  }
  if (options.workflowTaskId !== undefined) return { kind: 'event', eventId: options.workflowTaskId };
  if (options.firstWorkflowTask !== undefined) return { kind: 'first' };
  return options.lastWorkflowTask === undefined ? undefined : { kind: 'last' };
}

/** The event that ends the workflow task to which a workflow is reset, of that run. Where it waits for its worker, that is one behind the last. */
export type ResetPoint = { readonly runId: string; readonly eventId: number };

/** A run without a workflow task that was completed is reset to the one that is, or was, scheduled. */
export async function resetPoint(context: HandlerContext, call: Call, key: RunKey, target: ResetTarget): Promise<ResetPoint> {
  if (target.kind === 'event') return { runId: key.runId, eventId: target.eventId };
  const position = await positionNow(context, call, key);
  const find = target.kind === 'first' ? first : last;
  const eventId = await find(context, call, position.key, position.lastEventId);
  if (eventId === 0) throw invalidArgument('unable to find any scheduled or completed task');
  return { runId: position.key.runId, eventId };
}

async function first(context: HandlerContext, call: Call, key: RunKey, lastEventId: number): Promise<number> {
  let scheduled = 0;
  for (let from = 1; from <= lastEventId;) {
    const events = await storedEvents(context, call, key, from, lastEventId, PAGE_EVENTS_MAX);
    for (const bytes of events) {
      const { eventId, eventType } = decodeHistoryEvent(bytes, ownLimits);
      if (eventType === EventType.WORKFLOW_TASK_COMPLETED) return eventId;
      if (eventType === EventType.WORKFLOW_TASK_SCHEDULED && scheduled === 0) scheduled = eventId + 1;
    }
    from += events.length;
  }
  return scheduled;
}

/** From the end: what was completed last is there. */
async function last(context: HandlerContext, call: Call, key: RunKey, lastEventId: number): Promise<number> {
  for (let to = lastEventId; to >= 1; to -= PAGE_EVENTS_MAX) {
    const from = Math.max(1, to - PAGE_EVENTS_MAX + 1);
    let [completed, scheduled] = [0, 0];
    for (let next = from; next <= to;) {
      const events = await storedEvents(context, call, key, next, to, PAGE_EVENTS_MAX);
      for (const bytes of events) {
        const { eventId, eventType } = decodeHistoryEvent(bytes, ownLimits);
        if (eventType === EventType.WORKFLOW_TASK_COMPLETED) completed = eventId;
        if (eventType === EventType.WORKFLOW_TASK_SCHEDULED && scheduled === 0) scheduled = eventId + 1;
      }
      next += events.length;
    }
    if (completed > 0) return completed;
    if (from === 1) return scheduled;
  }
  return 0;
}
