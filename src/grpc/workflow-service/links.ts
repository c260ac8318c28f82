import { EventType } from '../../wire/generated/lean/enums.ts';
import { encodeLink } from '../../wire/generated/lean/link.ts';

type Run = { readonly namespace: string; readonly workflowId: string; readonly runId: string };

/** Points at the first event of a run. */
export function startedLink(run: Run): Uint8Array {
  return link(run, { eventRef: { eventId: 1, eventType: EventType.WORKFLOW_EXECUTION_STARTED }, requestIdRef: undefined });
}

/** Points at an event whose id is not known yet (it may be buffered): by the request that caused it. */
export function signaledLink(run: Run, requestId: string): Uint8Array {
  return link(run, { eventRef: undefined, requestIdRef: { requestId, eventType: EventType.WORKFLOW_EXECUTION_SIGNALED } });
}

type Reference = {
  readonly eventRef: { readonly eventId: number; readonly eventType: number } | undefined;
  readonly requestIdRef: { readonly requestId: string; readonly eventType: number } | undefined;
};

function link(run: Run, reference: Reference): Uint8Array {
  return encodeLink({ workflowEvent: { namespace: run.namespace, workflowId: run.workflowId, runId: run.runId, ...reference } });
}
