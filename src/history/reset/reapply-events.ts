/** What came from outside behind the event to which a reset goes, and is to reach the workflow again. No cancel requests, as in Temporal. */
import { isAttached } from '../run/update-callbacks.ts';
import { closesChild } from '../run/event-meanings.ts';
import type { RunDraft } from '../draft/draft.ts';
import type { EventOf, HistoryEvent } from '../run/events.ts';
import { attachedRequestIds } from '../execution/start.ts';
import { updateAdmittedEventOrigin } from '../generated/enums.ts';
import { isRunning } from '../run/state.ts';

/** `events`: signals, updates and attachments, of the base run and of those that continued it; of children, the base run's alone. */
export function reapplyEvents(run: RunDraft, events: readonly HistoryEvent[], { signals }: { readonly signals: boolean }): void {
  for (const event of events) {
    switch (event.type) {
      case 'workflowExecutionSignaled':
        if (signals) reapplySignal(run, event);
        break;
      case 'workflowExecutionUpdateAdmitted':
      case 'workflowExecutionUpdateAccepted':
        readmit(run, requestIn(event));
        break;
      case 'workflowExecutionOptionsUpdated':
        reattach(run, event);
        break;
      default:
        reapplyChildEvent(run, event);
    }
  }
}

/** Updates, by id and request, whose ends this run will tell. The id alone says too little: two runs of a chain may have had the same one. */
export function attachmentsOf({ run, draft }: RunDraft, events: readonly HistoryEvent[]): ReadonlySet<string> {
  const known = new Set([...run.updates.values()].map(({ updateId }) => updateId));
  const open = new Set([...run.updates.values()].flatMap(({ updateId, completedEventId }) => (completedEventId === 0 ? [updateId] : [])));
  const carried = new Set<string>();
  for (const { update, attachedBy } of run.callbacks) {
    if (update !== undefined && open.has(update.updateId)) carried.add(attachmentKey(update.updateId, attachedBy));
  }
  for (const event of events) {
    const request = requestIn(event);
    if (request !== undefined) {
      const updateId = draft.wire.updateIdOf(request);
      if (known.has(updateId)) continue;
      known.add(updateId);
      open.add(updateId);
      carried.add(attachmentKey(updateId, draft.wire.attachmentOf(request).requestId));
    } else if (event.type === 'workflowExecutionOptionsUpdated') {
      for (const { updateId, attachedRequestId } of event.attributes.workflowUpdateOptions) {
        if (open.has(updateId)) carried.add(attachmentKey(updateId, attachedRequestId));
      }
    }
  }
  return carried;
}

export function attachmentKey(updateId: string, requestId: string): string {
  return JSON.stringify([updateId, requestId]);
}

function requestIn({ type, attributes }: HistoryEvent): Uint8Array | undefined {
  if (type === 'workflowExecutionUpdateAdmitted') return attributes.request;
  return type === 'workflowExecutionUpdateAccepted' ? attributes.acceptedRequest : undefined;
}

/** Whether an event that waits in a buffer, where updates never do, is for any run, and not for the base run alone. */
export function isForAnyRun({ type }: HistoryEvent): boolean {
  return type === 'workflowExecutionSignaled' || type === 'workflowExecutionOptionsUpdated';
}

/** The signal keeps its request id: whoever has not heard of it and asks again is heard once. Two runs of a chain may have had the same. */
function reapplySignal(run: RunDraft, { type, attributes, links }: EventOf<'workflowExecutionSignaled'>): void {
  const isKnown = run.run.signalRequestIds.has(attributes.requestId);
  run.add(type, isKnown ? { ...attributes, requestId: '' } : attributes, { links });
}

/** An id is one update of a run, though two of a chain may have had the same. Without a request: another event has admitted it. */
function readmit(run: RunDraft, request: Uint8Array | undefined): void {
  if (request === undefined || run.run.updates.has(run.draft.wire.updateIdOf(request))) return;
  run.add('workflowExecutionUpdateAdmitted', { request, origin: updateAdmittedEventOrigin.reapply });
}

/** Starts that met the open run, updates that were asked again and are not over, options. Each goes through all request ids. */
function reattach(run: RunDraft, { type, attributes, links, workerMayIgnore }: EventOf<'workflowExecutionOptionsUpdated'>): void {
  const isFull = attachedRequestIds(run.run) >= run.draft.limits.attachedRequestIdsMax;
  const workflowUpdateOptions = attributes.workflowUpdateOptions.filter(({ updateId, attachedRequestId }) => {
    const isPending = run.run.updates.get(updateId)?.completedEventId === 0;
    return isPending && !isAttached(run.run, updateId, attachedRequestId);
  });
  const isOfUpdates = attributes.workflowUpdateOptions.length > 0;
  if (isOfUpdates && workflowUpdateOptions.length === 0) return;
  if (isFull && attributes.attachedRequestId !== '' && attributes.attachedCompletionCallbacks.length === 0) return;
  run.add(type, { ...attributes, workflowUpdateOptions }, { links, workerMayIgnore });
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
