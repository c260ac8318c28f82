/** The workflow task that a token names. */
import type { WorkflowTaskRef } from '../commands.ts';
import type { Draft } from '../draft.ts';
import { findRun, workflowTaskNotFound } from '../reject.ts';
import type { Rejected } from '../replies.ts';
import { isRunning, type RunView, type WorkflowTask } from '../state.ts';
import { workflowTaskOf } from '../volatile.ts';

type StartedTask = { readonly kind: 'startedTask'; readonly run: RunView; readonly workflowTask: WorkflowTask };

/** Only if it is the one that is started now: a late answer of an earlier attempt must not count for this one. */
export function findStartedTask(draft: Draft, ref: WorkflowTaskRef): StartedTask | Rejected {
  const run = findRun(draft.shard, ref.key);
  if (run === undefined || !isRunning(run)) return workflowTaskNotFound;
  const workflowTask = workflowTaskOf(draft.volatile, run);
  if (
    workflowTask === undefined ||
    workflowTask.startedEventId === 0 ||
    workflowTask.scheduledEventId !== ref.scheduledEventId ||
    workflowTask.startedEventId !== ref.startedEventId ||
    workflowTask.attempt !== ref.attempt ||
    (ref.startedTimeMs !== 0 && workflowTask.startedTimeMs !== ref.startedTimeMs)
  ) {
    return workflowTaskNotFound;
  }
  return { kind: 'startedTask', run, workflowTask };
}
