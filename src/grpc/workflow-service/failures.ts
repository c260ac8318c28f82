import type { FailureFacts, OpaqueFailure } from '../../history/commands/failure.ts';
import { TimeoutType } from '../../wire/generated/lean/enums.ts';
import { decodeFailure, emptyFailure, encodeFailure, type Failure } from '../../wire/generated/lean/failure.ts';
import { requestLimits } from '../../wire/wire-limits.ts';
import { decodedWithin } from '../validation/request-limits.ts';
import type { EdgeLimits } from '../validation/names.ts';
import { checkOpaque } from '../validation/opaque.ts';

/** The few facts that decisions need of a failure; the failure itself goes on as it came. */
export function opaqueFailure(bytes: Uint8Array): OpaqueFailure {
  checkOpaque(bytes, 'failure');
  return { facts: failureFacts(decodedWithin(requestLimits, decodeFailure, bytes)), bytes };
}

/** One over the limit is replaced, because its sender could not do anything about it. */
export function boundedFailure(failure: OpaqueFailure, replacement: string, { blobBytesMax }: EdgeLimits): OpaqueFailure {
  if (failure.bytes.length <= blobBytesMax) return failure;
  return serverFailure(replacement, encodeFailure({ ...emptyFailure(), message: failure.facts.message.slice(0, keptMessageChars) }));
}

/** A failure of the server's own making, never to be retried. */
export function serverFailure(message: string, cause?: Uint8Array): OpaqueFailure {
  const failure: Failure = { ...emptyFailure(), message, cause, serverFailureInfo: { nonRetryable: true } };
  return { facts: failureFacts(failure), bytes: encodeFailure(failure) };
}

const keptMessageChars = 4_000;

function failureFacts(failure: Failure): FailureFacts {
  const facts = (kind: FailureFacts['kind'], more: Partial<FailureFacts> = {}): FailureFacts => ({
    kind,
    type: '',
    nonRetryable: false,
    nextRetryDelayMs: 0,
    message: failure.message,
    ...more,
  });
  if (failure.applicationFailureInfo !== undefined) {
    const { type, nonRetryable, nextRetryDelayMs } = failure.applicationFailureInfo;
    return facts('application', { type, nonRetryable, nextRetryDelayMs: nextRetryDelayMs ?? 0 });
  }
  if (failure.timeoutFailureInfo !== undefined) {
    return facts('timeout', { type: `TemporalTimeout:${timeoutTypeNames[failure.timeoutFailureInfo.timeoutType] ?? 'Unspecified'}` });
  }
  if (failure.canceledFailureInfo !== undefined) return facts('canceled');
  if (failure.terminatedFailureInfo !== undefined) return facts('terminated');
  if (failure.serverFailureInfo !== undefined) return facts('server', { nonRetryable: failure.serverFailureInfo.nonRetryable });
  if (failure.activityFailureInfo !== undefined) return facts('activity');
  if (failure.childWorkflowExecutionFailureInfo !== undefined) return facts('child');
  if (failure.resetWorkflowFailureInfo !== undefined) return facts('reset');
  if (failure.nexusOperationExecutionFailureInfo !== undefined || failure.nexusHandlerFailureInfo !== undefined) return facts('nexus');
  return facts('none');
}

/** The names by which a retry policy lists timeouts, behind `TemporalTimeout:`. */
const timeoutTypeNames: Readonly<Record<number, string>> = {
  [TimeoutType.START_TO_CLOSE]: 'StartToClose',
  [TimeoutType.SCHEDULE_TO_START]: 'ScheduleToStart',
  [TimeoutType.SCHEDULE_TO_CLOSE]: 'ScheduleToClose',
  [TimeoutType.HEARTBEAT]: 'Heartbeat',
};
