/**
 * The close of a run that another goes on for, as clients follow it. They know of a next run from ContinuedAsNew alone, unless they say that they
 * look for one in other events too (`supported-features: follows-next-run-id`):
 *
 *     Completed, Failed, TimedOut { new_execution_run_id }  ─▶  ContinuedAsNew { the same run id, and what the run ended with }
 */
import * as wire from '../../wire/generated/lean/history.ts';
import { emptyFailure, encodeFailure } from '../../wire/generated/lean/failure.ts';
import { EventType, TimeoutType } from '../../wire/generated/lean/enums.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import type { Call } from '../transport/call.ts';

export function asFollowed(call: Call, events: readonly Uint8Array[]): readonly Uint8Array[] {
  const [close] = events;
  if (close === undefined || followsNextRun(call)) return events;
  const event = wire.decodeHistoryEvent(close, ownLimits);
  const next = goesOnAs(event);
  if (next === undefined) return events;
  const { eventId, eventTimeMs, version, taskId } = event;
  const followed = {
    ...wire.emptyHistoryEvent(),
    ...{ eventId, eventTimeMs, version, taskId },
    eventType: EventType.WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
    workflowExecutionContinuedAsNewEventAttributes: { ...wire.emptyWorkflowExecutionContinuedAsNewEventAttributes(), ...next },
  };
  return [wire.encodeHistoryEvent(followed)];
}

function followsNextRun(call: Call): boolean {
  const features = call.header('supported-features').split(',');
  return features.some((feature) => feature.trim() === 'follows-next-run-id');
}

/** Undefined: nothing goes on in its place, or the event says so itself. */
function goesOnAs(
  event: ReturnType<typeof wire.decodeHistoryEvent>,
): Partial<wire.WorkflowExecutionContinuedAsNewEventAttributes> | undefined {
  const {
    workflowExecutionCompletedEventAttributes: completed,
    workflowExecutionFailedEventAttributes: failed,
    workflowExecutionTimedOutEventAttributes: timedOut,
  } = event;
  const newExecutionRunId = (completed ?? failed ?? timedOut)?.newExecutionRunId ?? '';
  if (newExecutionRunId === '') return undefined;
  if (completed !== undefined) return { newExecutionRunId, lastCompletionResult: completed.result };
  return { newExecutionRunId, failure: failed?.failure ?? workflowTimeout };
}

const workflowTimeout = encodeFailure({
  ...emptyFailure(),
  message: 'workflow timeout',
  timeoutFailureInfo: { timeoutType: TimeoutType.START_TO_CLOSE, lastHeartbeatDetails: undefined },
});
