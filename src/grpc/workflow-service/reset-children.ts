/**
 * Children whose end nobody has kept. What a child tells a parent that is closed is heard by nobody; a run that goes on from such a parent has
 * the child all the same, and would wait for ever. From its beginning on it hears for itself, so it is told once it is there:
 *
 *     base   1 … 9 │ … Failed
 *     child            ──── Terminated ─▶ (nobody)      ┌─ the end of the child, as its history has it
 *     new run 1 … 9 │ 10 … ─────────────────────────────▼──▶ ChildTerminated
 *
 * A reset that is asked again does all this again. What the run knows already changes nothing.
 */
import type { RunKey } from '../../kernel/run-key.ts';
import { someAtATime } from '../../actors/asks/some-at-a-time.ts';
import type { CloseOutcome } from '../../kernel/close-outcome.ts';
import { decodeHistoryEvent, type HistoryEvent } from '../../wire/generated/lean/history.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { canceled } from '../errors/details.ts';
import { unlessNotFound } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { nextRunId } from './reset-history.ts';
import { positionNow, storedEvents } from '../pages/history-pages.ts';

/** The run begins with the events before `finishEventId`: `keptEvents`, unless they came in parts. */
type Begins = { readonly finishEventId: number; readonly keptEvents: readonly Uint8Array[] };

/** A run may have 2,000 children, each in a shard of its own, and its caller waits. */
const askedAtATime = 20;

export async function tellOfChildren(
  context: HandlerContext,
  call: Call,
  parent: { readonly key: RunKey; readonly namespace: string },
  begins: Begins,
): Promise<void> {
  const { key, namespace } = parent;
  const { pendingChildren, root } = await context.history(call, key, { kind: 'describeWorkflow', key });
  const tell = async (initiatedEventId: number, runId: string): Promise<void> => {
    const initiated = begins.keptEvents[initiatedEventId - 1] ?? (await storedEvent(context, call, key, initiatedEventId));
    if (initiated === undefined) return;
    const child = decodeHistoryEvent(initiated, ownLimits).startChildWorkflowExecutionInitiatedEventAttributes;
    if (child === undefined) return;
    const { workflowId } = child;
    const end = await endOfChain(context, call, { namespaceId: child.namespaceId, workflowId, runId });
    if (end === undefined) return;
    await context.history(call, key, {
      kind: 'recordChildClosed',
      parent: { ...key, namespace, initiatedEventId, rootWorkflowId: root.workflowId, rootRunId: root.runId },
      child: { workflowId, runId: end.runId },
      childFirstRunId: runId,
      childNamespace: child.namespace,
      childWorkflowType: child.workflowType?.name ?? '',
      close: end.close,
    });
  };
  const known = pendingChildren.filter(({ initiatedEventId, runId }) => runId !== '' && initiatedEventId < begins.finishEventId);
  await someAtATime(known, askedAtATime, ({ initiatedEventId, runId }) => tell(initiatedEventId, runId));
}

/** Gives undefined where the run is gone by now. */
async function storedEvent(context: HandlerContext, call: Call, key: RunKey, eventId: number): Promise<Uint8Array | undefined> {
  const events = await storedEvents(context, call, key, eventId, eventId, 1).catch(unlessNotFound);
  return events?.[0];
}

type ChainEnd = { readonly runId: string; readonly close: CloseOutcome };

/** The end of the chain that begins with this run; undefined: it has not ended, or nothing is left of it. */
async function endOfChain(context: HandlerContext, call: Call, first: RunKey): Promise<ChainEnd | undefined> {
  const current: RunKey = { ...first, runId: '' };
  const newest = await context.history(call, current, { kind: 'describeWorkflow', key: current }).catch(unlessNotFound);
  // The end of a run that was reset names none; where another chain is the newest, there is no better way than from run to run.
  let key = newest?.firstRunId === first.runId ? newest.key : first;
  for (;;) {
    // A chain on a schedule may have a great many runs.
    if (call.cancelled) throw canceled();
    const last = await positionNow(context, call, key).catch(unlessNotFound);
    if (last?.closed !== true) return undefined;
    const [bytes] = (await storedEvents(context, call, key, last.lastEventId, last.lastEventId, 1).catch(unlessNotFound)) ?? [];
    if (bytes === undefined) return undefined;
    const event = decodeHistoryEvent(bytes, ownLimits);
    const next = nextRunId(event);
    const close = closeOutcome(event);
    if (next === '') return close === undefined ? undefined : { runId: key.runId, close };
    key = { ...key, runId: next };
  }
}

function closeOutcome(event: HistoryEvent): CloseOutcome | undefined {
  const {
    workflowExecutionCompletedEventAttributes: completed,
    workflowExecutionFailedEventAttributes: failed,
    workflowExecutionCanceledEventAttributes: canceled,
    workflowExecutionTimedOutEventAttributes: timedOut,
  } = event;
  if (completed !== undefined) return { kind: 'completed', result: completed.result };
  if (failed !== undefined) return { kind: 'failed', failure: failed.failure, retryState: failed.retryState };
  if (canceled !== undefined) return { kind: 'canceled', details: canceled.details };
  if (timedOut !== undefined) return { kind: 'timedOut', retryState: timedOut.retryState };
  return event.workflowExecutionTerminatedEventAttributes === undefined ? undefined : { kind: 'terminated' };
}
