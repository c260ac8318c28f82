/**
 * What had come from outside behind the event that is gone on from, and is to reach the workflow once more: signals, and what has become of
 * children that it has started before. Cancel requests are left out, as in Temporal: whoever resets a workflow wants it to go on.
 */
import { closesChild } from '../closing-events.ts';
import type { RunDraft } from '../draft.ts';
import type { HistoryEvent } from '../events.ts';
import { isRunning } from '../state.ts';

/** `events`: signals of the base run and of those that continued it; of children, the base run's alone. */
export function reapplyEvents(run: RunDraft, events: readonly HistoryEvent[], { signals }: { readonly signals: boolean }): void {
  for (const event of events) {
    if (event.type === 'workflowExecutionSignaled') {
      // Without its request id: it is this run's signal, and not a repetition of that one.
      if (signals) run.add(event.type, { ...event.attributes, requestId: '' }, event);
    } else reapplyChildEvent(run, event);
  }
}

function reapplyChildEvent(run: RunDraft, event: HistoryEvent): void {
  if (event.type === 'childWorkflowExecutionStarted') {
    const child = run.run.children.get(event.attributes.initiatedEventId);
    if (child?.runId === '') run.add(event.type, event.attributes);
    return;
  }
  if (event.type === 'startChildWorkflowExecutionFailed') {
    if (run.run.children.has(event.attributes.initiatedEventId)) run.add(event.type, event.attributes);
    return;
  }
  if (!closesChild(event)) return;
  const { initiatedEventId } = event.attributes;
  const child = run.run.children.get(initiatedEventId);
  if (child === undefined || !isRunning(run.run)) return;
  const { startedEventId } = child;
  run.record({ ...event, eventId: run.run.nextEventId, attributes: { ...event.attributes, startedEventId } } as HistoryEvent);
}
