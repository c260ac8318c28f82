/** What is asked of workflows is not for schedules and batch jobs, whose runs are kept beside theirs under ids that no workflow has. */
import { isBatchJobs } from '../../batches/job-id.ts';
import { isSchedules } from '../../schedules/schedule-id.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { ActivityRef } from '../commands/history-commands.ts';
import { activityNotFound, reject, workflowNotFound } from '../run/reject.ts';
import type { Rejected, StartRefused } from '../run/history-replies.ts';

/** undefined: it may be a workflow's. */
export function notFound(key: RunKey): Rejected | undefined {
  return isNoWorkflows(key) ? workflowNotFound(key) : undefined;
}

export function activityRefused({ activity: { key, scheduledEventId } }: { readonly activity: ActivityRef }): Rejected | undefined {
  const isByToken = scheduledEventId !== 0;
  return isByToken && isNoWorkflows(key) ? activityNotFound : notFound(key);
}

export function childIdReserved(key: Named): Rejected | undefined {
  return isNoWorkflows(key) ? reservedId(key.workflowId) : undefined;
}

export function startIdReserved(key: Named): StartRefused | undefined {
  return isNoWorkflows(key) ? { kind: 'startRefused', rejection: reservedId(key.workflowId).rejection } : undefined;
}

type Named = { readonly workflowId: string };

function isNoWorkflows(key: Named): boolean {
  return isSchedules(key) || isBatchJobs(key);
}

function reservedId(workflowId: string): Rejected {
  const message = `the workflow id ${workflowId} is a ${isSchedules({ workflowId }) ? 'schedule' : 'batch job'}'s`;
  return reject({ reason: 'already-started', message, startRequestId: '', runId: '', firstExecutionRunId: '' });
}
