/** Refusals: the caller's mistakes, or a state that does not allow what was asked. Texts are part of the contract. */
import { assert } from '../../kernel/assert.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { Rejected, Rejection } from './history-replies.ts';
import { executionKey, isRunning, type RunView, type ShardView } from './state.ts';

export function reject(rejection: Rejection): Rejected {
  return { kind: 'rejected', rejection };
}

export function rejectInvalid(message: string): Rejected {
  return reject({ reason: 'invalid-argument', message });
}

export const workflowTaskNotFound = reject({ reason: 'task-not-found', message: 'Workflow task not found.' });

/** The row of the run is missing, and records wait until somebody has put it back: so must its tasks. */
export const workflowBehind = reject({ reason: 'busy-workflow', message: 'the state of this workflow cannot be read now' });

export const activityNotFound = reject({
  reason: 'activity-not-found',
  message: 'invalid activityID or activity already timed out or invoking workflow is completed',
});

export const workflowClosed = reject({ reason: 'workflow-closed', message: 'workflow execution already completed' });

export function workflowNotFound(key: RunKey): Rejected {
  const message =
    key.runId === ''
      ? `workflow not found for ID: ${key.workflowId}`
      : `workflow execution not found for workflow ID "${key.workflowId}" and run ID "${key.runId}"`;
  return reject({ reason: 'workflow-not-found', message });
}

/** undefined: there is none, here or in a database. One in preparation is not there yet. */
export function findRun(shard: ShardView, key: RunKey): RunView | undefined {
  const run = findAnyRun(shard, key);
  return run?.preparation === undefined ? run : undefined;
}

/** Finds what `findRun` finds, and a run in preparation too. */
export function findAnyRun(shard: ShardView, key: RunKey): RunView | undefined {
  if (key.runId === '') {
    const current = shard.currentRuns.get(executionKey(key.namespaceId, key.workflowId));
    if (current === undefined) assert(!shard.isCurrentCold(key), 'the current run is loaded before it is decided on');
    return current;
  }
  const run = shard.runs.get(key.runId);
  if (run === undefined) assert(!shard.isRunCold(key), 'a run is loaded before it is decided on');
  if (run === undefined || run.key.workflowId !== key.workflowId || run.key.namespaceId !== key.namespaceId) return undefined;
  return run;
}

export function isDeleted(shard: ShardView, key: RunKey): boolean {
  return findRun(shard, key) === undefined && !shard.isBehind(key.runId);
}

/** The run if it can still change. */
export function findRunning(shard: ShardView, key: RunKey): RunView | Rejected {
  const run = findRun(shard, key);
  if (run === undefined) return workflowNotFound(key);
  return isRunning(run) ? run : workflowClosed;
}

export function isRejected(value: RunView | Rejected): value is Rejected {
  return 'kind' in value && value.kind === 'rejected';
}
