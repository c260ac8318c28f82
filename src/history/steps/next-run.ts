/**
 * The next run of a chain. The record that ends a run begins it, so no crash comes between them; its first workflow task waits for its backoff.
 *
 *     what begins it     when the run before                                      it begins          initiator
 *     continue-as-new    asked for it                                             as it was told     WORKFLOW
 *     retry policy       failed or was out of time, and an attempt is left        as that one did    RETRY, attempt + 1
 *     cron schedule      completed, or failed or was out of time for good         as that one did    CRON_SCHEDULE, attempt 1
 *
 * All runs of a chain know its first one, and share its parent and the time at which the whole execution ends. Whoever wants to hear of the end
 * (completion callbacks) hears of the last run; on a schedule, of the first time alone.
 */
import { cronBackoffMs } from '../../kernel/cron-backoff.ts';
import { longestIntervalMs, retryIntervalMs } from '../../kernel/retry-policy.ts';
import type { Beginning, OwnOfRun } from './begin-run.ts';
import type { CompleteWorkflowTask } from '../commands/history-commands.ts';
import type { Draft } from '../draft/draft.ts';
import type { FailureFacts, OpaqueFailure } from '../commands/failure.ts';
import { continueAsNewInitiator, retryState, timeoutType } from '../generated/enums.ts';
import { isRetryable, noRetry, type RetryDecision } from '../run/retry.ts';
import type { RunView } from '../run/state.ts';

export type NextRunAttributes = OwnOfRun & Successor & { readonly failure: Uint8Array | undefined };

/** The run that goes on, if one does. `retentionMs`: for how long it is kept once it is closed, as its namespace says now; absent: as the one before. */
export type Successor = { readonly runId: string; readonly retentionMs?: number | undefined };

export function successorOf({ newRunId, retentionMs }: Pick<CompleteWorkflowTask, 'newRunId' | 'retentionMs'>): Successor {
  return { runId: newRunId, retentionMs };
}

export function nextRun(draft: Draft, old: RunView, next: NextRunAttributes): Beginning {
  const { start } = old;
  const { runId, retentionMs = old.retentionMs, failure, ...attributes } = next;
  const { chainedRunIntervalMsMin, failureCausesMax } = draft.limits;
  return {
    ...attributes,
    key: { ...old.key, runId },
    namespace: old.namespace,
    requestId: runId,
    retentionMs,
    identity: '',
    executionTimeoutMs: start.executionTimeoutMs,
    executionExpirationMs: start.executionExpirationMs,
    backoffMs: chainedBackoff(old, next.backoffMs, draft.nowMs, chainedRunIntervalMsMin),
    firstRunId: start.firstRunId,
    continuedRunId: old.key.runId,
    continuedFailure: failure === undefined ? undefined : draft.wire.limitCauses(failure, failureCausesMax),
    parent: start.parent,
    scheduledBy: old.scheduledBy,
    root: start.parent === undefined ? undefined : start.root,
    meta: { links: start.links },
  };
}

/** The next run inherits what the runs before this one handed on, and what this one was given while it was open. */
export function callbacksToHandOn(old: RunView): readonly Uint8Array[] {
  return old.callbacks.filter(({ update }) => update === undefined).map(({ callback }) => callback);
}

/** A workflow that continues as new at once, for ever, must not turn faster than this. */
function chainedBackoff(old: RunView, wantedMs: number, nowMs: number, intervalMsMin: number): number {
  const livedMs = Math.max(0, nowMs - old.start.executionTimeMs);
  return livedMs + wantedMs < intervalMsMin ? intervalMsMin - livedMs : wantedMs;
}

// ── By a retry policy, or a cron schedule ──────────────────────────────────────────────────────────────────────────────────────

/** `retryState`: of the event that closes the run. `next`: what goes on in its place, if something does. */
export type AfterFailure = { readonly retryState: number; readonly next: Beginning | undefined };

export function afterFailure(draft: Draft, old: RunView, failure: OpaqueFailure, successor: Successor): AfterFailure {
  const decision = decideRetry(old, failure.facts, draft.nowMs);
  if (!decision.retry) {
    return { retryState: decision.retryState, next: nextOnSchedule(draft, old, { failure: failure.bytes, result: undefined }, successor) };
  }
  const next = startedAgain(draft, old, {
    ...successor,
    attempt: old.start.attempt + 1,
    initiator: continueAsNewInitiator.retry,
    backoffMs: decision.intervalMs,
    lastCompletionResult: old.startedWith?.lastCompletionResult,
    callbacks: callbacksToHandOn(old),
    failure: failure.bytes,
  });
  return { retryState: retryState.inProgress, next };
}

/** The failure as workers would have said it. */
export function workflowTimeout({ wire }: Draft): OpaqueFailure {
  const message = 'workflow timeout';
  const info = { kind: 'timeout', timeoutType: timeoutType.startToClose, lastHeartbeatDetails: undefined } as const;
  const facts = { kind: 'timeout', type: 'TemporalTimeout:StartToClose', nonRetryable: false, nextRetryDelayMs: 0, message } as const;
  return { facts, bytes: wire.encodeFailure({ message, cause: undefined, info }) };
}

/** Workflows: a delay that the failure asks for is capped, and only these timeouts can be tried again. */
function decideRetry({ start, startedWith }: RunView, failure: FailureFacts, nowMs: number): RetryDecision {
  const policy = startedWith?.retryPolicy;
  if (policy === undefined) return noRetry(retryState.retryPolicyNotSet);
  const endsForGood = failure.kind === 'timeout' && !passingTimeouts.has(failure.type);
  if (endsForGood || !isRetryable(failure, policy.nonRetryableErrorTypes)) return noRetry(retryState.nonRetryableFailure);
  if (policy.maximumAttempts > 0 && start.attempt >= policy.maximumAttempts) return noRetry(retryState.maximumAttemptsReached);
  const intervalMs =
    failure.nextRetryDelayMs > 0
      ? Math.min(failure.nextRetryDelayMs, longestIntervalMs(policy))
      : retryIntervalMs(policy, Math.max(1, start.attempt));
  const { executionExpirationMs } = start;
  if (executionExpirationMs > 0 && nowMs + intervalMs > executionExpirationMs) return noRetry(retryState.timeout);
  return { retry: true, intervalMs };
}

const passingTimeouts: ReadonlySet<string> = new Set(['TemporalTimeout:StartToClose', 'TemporalTimeout:Heartbeat']);

type Ended = { readonly result: Uint8Array | undefined; readonly failure: Uint8Array | undefined };

/** `result`: of a run that completed; that of the last one that did is carried over those that failed. Undefined: there is no schedule. */
export function nextOnSchedule(draft: Draft, old: RunView, ended: Ended, successor: Successor): Beginning | undefined {
  const backoffMs = cronBackoffMs(old.startedWith?.cronSchedule ?? '', old.start.executionTimeMs, draft.nowMs);
  if (backoffMs === undefined) return undefined;
  return startedAgain(draft, old, {
    ...successor,
    attempt: 1,
    initiator: continueAsNewInitiator.cronSchedule,
    backoffMs,
    lastCompletionResult: ended.failure === undefined ? ended.result : old.startedWith?.lastCompletionResult,
    callbacks: [],
    failure: ended.failure,
  });
}

type Again = Successor & Pick<NextRunAttributes, 'attempt' | 'initiator' | 'backoffMs' | 'lastCompletionResult' | 'callbacks' | 'failure'>;

/** What it has upserted meanwhile does not count, nor what operators have made of its options. */
function startedAgain(draft: Draft, old: RunView, again: Again): Beginning {
  const { startedWith, start } = old;
  return nextRun(draft, old, {
    ...again,
    workflowType: start.workflowType,
    taskQueue: start.taskQueue,
    runTimeoutMs: start.runTimeoutMs,
    taskTimeoutMs: start.taskTimeoutMs,
    input: startedWith?.input,
    header: startedWith?.header,
    memo: startedWith?.memo,
    searchAttributes: startedWith?.searchAttributes,
    priority: startedWith?.priority,
    retryPolicy: startedWith?.retryPolicy,
    cronSchedule: startedWith?.cronSchedule ?? '',
  });
}
