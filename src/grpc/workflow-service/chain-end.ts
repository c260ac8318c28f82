/** How a chain of runs goes on, and ends. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { CloseOutcome } from '../../history/commands.ts';
import { decodeHistoryEvent, type HistoryEvent } from '../../wire/generated/lean/history.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { canceled } from '../errors/details.ts';
import { hasCode } from '../errors/status-error.ts';
import { statusCode } from '../errors/status-code.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { positionNow, storedEvents } from '../pages/history-pages.ts';

/** '' = it ends nothing, or for good. */
export function nextRunId(event: HistoryEvent): string {
  const close =
    event.workflowExecutionContinuedAsNewEventAttributes ??
    event.workflowExecutionCompletedEventAttributes ??
    event.workflowExecutionFailedEventAttributes ??
    event.workflowExecutionTimedOutEventAttributes;
  return close?.newExecutionRunId ?? '';
}

export function unlessNotFound(error: unknown): undefined {
  if (hasCode(error, statusCode.notFound)) return undefined;
  throw error;
}

type ChainEnd = { readonly runId: string; readonly close: CloseOutcome };

/** Of the chain that begins with this run; undefined: it has not ended, or nothing is left of it. */
export async function endOfChain(context: HandlerContext, call: Call, first: RunKey): Promise<ChainEnd | undefined> {
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
