import { PAGE_EVENTS_MAX } from '../../actors/history/events/history-store.ts';
import type { RunKey } from '../../history/commands.ts';
import type { HistoryPosition } from '../../history/replies.ts';
import type { ResetWorkflow } from '../../history/reset/reset-commands.ts';
import { EventType, ResetReapplyExcludeType, ResetReapplyType } from '../../wire/generated/lean/enums.ts';
import { decodeHistoryEvent, type HistoryEvent } from '../../wire/generated/lean/history.ts';
import {
  decodeResetWorkflowExecutionRequest,
  encodeResetWorkflowExecutionResponse,
  type ResetWorkflowExecutionRequest,
  type ResetWorkflowExecutionResponse,
} from '../../wire/generated/lean/workflow_service.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { exhaustedCause, exhaustedScope, resourceExhausted } from '../errors/details.ts';
import { statusCode } from '../errors/status-code.ts';
import { invalidArgument, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { type Held, HeldBytes } from '../held-bytes.ts';
import { type NamedMethod, unary } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { checkBound, finishEventOutside } from '../validation/bounds.ts';
import { runKey } from '../validation/execution.ts';
import { checkLength } from '../validation/lengths.ts';
import { priorityChangesOf } from '../validation/post-reset.ts';
import { nextRunId, unlessNotFound } from './chain-end.ts';
import { positionNow, storedEvents } from './history-pages.ts';
import { tellOfChildren } from './reset-children.ts';

/** Of the events that the new run begins with, and of those that are applied to it again: they are one record of the journal. */
const resetHistoryBytesMax = 6 * 1024 * 1024;
/** A run that grows meanwhile is read again. */
const readingsMax = 5;

/**
 * Another run goes on from an event of a workflow. The edge reads the history and the shard decides, if nothing has been added to it meanwhile:
 *
 *     base run   1 … finish − 1 ─▶ kept │ finish … last ─┐
 *     the run that continued it         │ 1 … last ──────┴─▶ signals, updates, attachments, news of children: applied again
 */
export function resetMethods(context: HandlerContext): readonly NamedMethod[] {
  const histories = new HeldBytes('histories of resets');
  return [
    unary('ResetWorkflowExecution', decodeResetWorkflowExecutionRequest, encodeResetWorkflowExecutionResponse, (request, call) =>
      reset(context, histories, request, call),
    ),
  ];
}

async function reset(
  context: HandlerContext,
  histories: HeldBytes,
  request: ResetWorkflowExecutionRequest,
  call: Call,
): Promise<ResetWorkflowExecutionResponse> {
  const namespace = await context.namespace(call, request.namespace);
  const asked = runKey(namespace.id, request.workflowExecution);
  const { requestId, reason, workflowTaskFinishEventId: finishEventId } = request;
  if (requestId === '') throw invalidArgument('RequestId is not set on request.');
  checkLength(requestId, 'RequestId', context.limits);
  checkLength(request.identity, 'Identity', context.limits);
  checkLength(reason, 'Reason', context.limits);
  checkBound('ResetWorkflowExecutionRequest.workflow_task_finish_event_id', finishEventId);
  checkBound('ResetWorkflowExecutionRequest.reset_reapply_type', request.resetReapplyType);
  for (const type of request.resetReapplyExcludeTypes) checkBound('ResetWorkflowExecutionRequest.reset_reapply_exclude_types', type);
  const priorityChanges = priorityChangesOf(request.postResetOperations);

  const reapplied = reappliedOf(request);
  for (let reading = 0; reading < readingsMax; reading++) {
    const held = histories.hold(namespace.id);
    try {
      const { isClosed, key, ...history } = await readToReset(context, call, asked, { finishEventId, reapplied, held });
      const newRunId = context.ports.newId();
      const command: ResetWorkflow = {
        kind: 'resetWorkflow',
        key,
        newRunId,
        requestId,
        reason,
        ...history,
        reappliesSignals: reapplied.signals,
        priorityChanges,
      };
      const { runId } = await context.history(call, key, command);
      if (runId === '') continue;
      // An open run has heard of its children up to the record that ended it. Of a reset that is asked again it is not known what it was.
      const next = { key: { ...key, runId }, namespace: namespace.name };
      if (isClosed || runId !== newRunId) await tellOfChildren(context, call, next, history.keptEvents);
      return { runId };
    } finally {
      held.release();
    }
  }
  throw resourceExhausted('the workflow changes while its history is read', exhaustedCause.busyWorkflow, exhaustedScope.namespace);
}

/** The type is from before updates could be: who asks for signals by it gets those alone. */
function reappliedOf({ resetReapplyType: type, resetReapplyExcludeTypes: excluded }: ResetWorkflowExecutionRequest): Reapplied {
  const { NONE, SIGNAL } = ResetReapplyType;
  return {
    signals: type !== NONE && !excluded.includes(ResetReapplyExcludeType.SIGNAL),
    updates: type !== NONE && type !== SIGNAL && !excluded.includes(ResetReapplyExcludeType.UPDATE),
  };
}

/** What the caller may do without. */
type Reapplied = { readonly signals: boolean; readonly updates: boolean };
type Asked = { readonly finishEventId: number; readonly reapplied: Reapplied; readonly held: Held };
type ToReset = Pick<ResetWorkflow, 'key' | 'keptEvents' | 'laterEvents' | 'readTo'> & { readonly isClosed: boolean };

async function readToReset(
  context: HandlerContext,
  call: Call,
  asked: RunKey,
  { finishEventId, reapplied, held }: Asked,
): Promise<ToReset> {
  const size = { bytes: 0, held };
  const base = await positionNow(context, call, asked);
  if (finishEventId > base.lastEventId) throw invalidArgument(finishEventOutside);
  const { key } = base;
  const keptEvents: Uint8Array[] = [];
  const laterEvents: Uint8Array[] = [];
  let next = '';
  for await (const bytes of eventsOf(context, call, base)) {
    if (keptEvents.length < finishEventId - 1) {
      count(size, bytes);
      keptEvents.push(bytes);
      continue;
    }
    const event = decodeHistoryEvent(bytes, ownLimits);
    if (isAppliedAgain(event, reapplied) || isOfChild(event)) laterEvents.push(count(size, bytes));
    next = nextRunId(event);
  }
  let readTo = { runId: key.runId, lastEventId: base.lastEventId };
  // What a run that is gone by now had been told is gone with it.
  while (next !== '') {
    const run = await positionNow(context, call, { ...key, runId: next }).catch(unlessNotFound);
    if (run === undefined) break;
    next = '';
    for await (const bytes of eventsOf(context, call, run)) {
      const event = decodeHistoryEvent(bytes, ownLimits);
      if (isAppliedAgain(event, reapplied)) laterEvents.push(count(size, bytes));
      next = nextRunId(event);
    }
    readTo = { runId: run.key.runId, lastEventId: run.lastEventId };
  }
  return { key, keptEvents, laterEvents, readTo, isClosed: base.closed };
}

async function* eventsOf(context: HandlerContext, call: Call, { key, lastEventId }: HistoryPosition): AsyncGenerator<Uint8Array> {
  for (let nextEventId = 1; nextEventId <= lastEventId;) {
    // A chain on a schedule may have a great many runs, and whoever went away wants none of them.
    if (call.cancelled) throw new StatusError(statusCode.cancelled, 'context canceled');
    const events = await storedEvents(context, call, key, nextEventId, lastEventId, PAGE_EVENTS_MAX);
    yield* events;
    nextEventId += events.length;
  }
}

function count(size: { bytes: number; readonly held: Held }, bytes: Uint8Array): Uint8Array {
  size.held.grow(bytes.length);
  size.bytes += bytes.length;
  if (size.bytes <= resetHistoryBytesMax) return bytes;
  throw invalidArgument(`the events up to the one to reset to, and those to apply again, are larger than ${resetHistoryBytesMax} bytes`);
}

/** Whichever run of the chain has it. */
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

function isOfChild({ eventType }: HistoryEvent): boolean {
  return childEvents.has(eventType);
}
