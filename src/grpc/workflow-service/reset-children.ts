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
import { decodeHistoryEvent } from '../../wire/generated/lean/history.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { endOfChain, unlessNotFound } from './chain-end.ts';
import { storedEvents } from '../pages/history-pages.ts';

/** With which events the run begins: those before `finishEventId`; `keptEvents`: the same, unless they came in parts. */
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

/** undefined: the run is gone by now. */
async function storedEvent(context: HandlerContext, call: Call, key: RunKey, eventId: number): Promise<Uint8Array | undefined> {
  const events = await storedEvents(context, call, key, eventId, eventId, 1).catch(unlessNotFound);
  return events?.[0];
}
