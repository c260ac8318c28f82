import { EventType } from '../../wire/generated/lean/enums.ts';
import { encodeLink } from '../../wire/generated/lean/link.ts';

type Run = { readonly namespace: string; readonly workflowId: string; readonly runId: string };

export function startedLink(run: Run): Uint8Array {
  return link(run, { eventRef: { eventId: 1, eventType: EventType.WORKFLOW_EXECUTION_STARTED }, requestIdRef: undefined });
}

/** Points at the event by which a start has attached its request to an open run. */
export function attachedLink(run: Run, requestId: string): Uint8Array {
  return link(run, { eventRef: undefined, requestIdRef: { requestId, eventType: EventType.WORKFLOW_EXECUTION_OPTIONS_UPDATED } });
}

/** Points at an event whose id is not known yet (it may be buffered): by the request that caused it. */
export function signaledLink(run: Run, requestId: string): Uint8Array {
  return link(run, { eventRef: undefined, requestIdRef: { requestId, eventType: EventType.WORKFLOW_EXECUTION_SIGNALED } });
}

/** Points at the event that says that a worker took an update: by the request of the update, which may have no id. */
export function acceptedLink(run: Run, requestId: string): Uint8Array {
  return link(run, { eventRef: undefined, requestIdRef: { requestId, eventType: EventType.WORKFLOW_EXECUTION_UPDATE_ACCEPTED } });
}

export function runLink(run: Run, reason: string): Uint8Array {
  return encodeLink({ workflowEvent: undefined, workflow: { ...run, reason } });
}

type Reference = {
  readonly eventRef: { readonly eventId: number; readonly eventType: number } | undefined;
  readonly requestIdRef: { readonly requestId: string; readonly eventType: number } | undefined;
};

function link(run: Run, reference: Reference): Uint8Array {
  return encodeLink({ workflowEvent: { ...run, ...reference }, workflow: undefined });
}
