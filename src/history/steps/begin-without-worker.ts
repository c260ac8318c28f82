import type { Draft, RunDraft } from '../draft/draft.ts';
import { taskQueueKind } from '../generated/enums.ts';
import { beginRun, type Beginning } from './begin-run.ts';

type OwnOfIt = Pick<
  Beginning,
  'key' | 'namespace' | 'requestId' | 'retentionMs' | 'workflowType' | 'memo' | 'searchAttributes' | 'identity'
>;

/** A run that is no workflow (a schedule, a batch job): no worker ever hears of it, nobody waits for its end, and none follows it. */
export function beginWithoutWorker(draft: Draft, own: OwnOfIt): RunDraft {
  return beginRun(draft, {
    ...own,
    taskQueue: { name: '', kind: taskQueueKind.normal, normalName: '' },
    input: undefined,
    header: undefined,
    priority: undefined,
    executionTimeoutMs: 0,
    runTimeoutMs: 0,
    taskTimeoutMs: 0,
    executionExpirationMs: 0,
    backoffMs: 0,
    retryPolicy: undefined,
    cronSchedule: '',
    attempt: 1,
    firstRunId: own.key.runId,
    continuedRunId: '',
    initiator: 0,
    lastCompletionResult: undefined,
    continuedFailure: undefined,
    parent: undefined,
    root: undefined,
    callbacks: [],
    scheduledBy: undefined,
    meta: {},
  });
}
