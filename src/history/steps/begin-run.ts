/** How a run begins, whoever begins it: its Started event, its timeouts, and its first workflow task, now or after a backoff. */
import type { EventMeta, Draft, RunDraft } from '../draft/draft.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { withoutEmptyFields } from '../run/fields.ts';
import type { ParentLink, StartAttributes } from '../commands/history-commands.ts';
import type { WorkflowExecution } from '../generated/public-api.ts';
import type { HistoryLimits } from '../run/history-limits.ts';
import type { StartedWorkflowTask } from '../run/history-replies.ts';
import type { ScheduledBy } from '../run/schedule-state.ts';
import { scheduleWorkflowTask, writeStarted } from './workflow-task.ts';

/** What differs from run to run of a chain. */
export type OwnOfRun = Omit<StartAttributes, 'startDelayMs' | 'userMetadata' | 'links' | 'executionTimeoutMs' | 'identity'> & {
  readonly attempt: number;
  readonly initiator: number;
  readonly backoffMs: number;
  readonly lastCompletionResult: Uint8Array | undefined;
  readonly callbacks: readonly Uint8Array[];
};

export type Beginning = OwnOfRun & {
  readonly key: RunKey;
  readonly namespace: string;
  readonly requestId: string;
  readonly retentionMs: number;
  readonly identity: string;
  readonly executionTimeoutMs: number;
  /** When the whole chain ends; 0 = never. */
  readonly executionExpirationMs: number;
  readonly firstRunId: string;
  readonly continuedRunId: string;
  readonly continuedFailure: Uint8Array | undefined;
  readonly parent: ParentLink | undefined;
  readonly root: WorkflowExecution | undefined;
  readonly scheduledBy: ScheduledBy | undefined;
  /** The first workflow task is started with the run (`startFirstWorkflowTask`). Absent: false. */
  readonly eager?: boolean;
  readonly meta: EventMeta;
};

/** Writes Started and arms the run's timeout. Its first workflow task is the caller's next step. */
export function beginRun(draft: Draft, b: Beginning): RunDraft {
  const run = draft.begin(
    b.key,
    b.namespace,
    {
      workflowType: { name: b.workflowType },
      parentWorkflowNamespace: b.parent?.namespace ?? '',
      parentWorkflowExecution: b.parent === undefined ? undefined : { workflowId: b.parent.workflowId, runId: b.parent.runId },
      parentInitiatedEventId: b.parent?.initiatedEventId ?? 0,
      taskQueue: b.taskQueue,
      input: b.input,
      workflowExecutionTimeoutMs: b.executionTimeoutMs,
      workflowRunTimeoutMs: b.runTimeoutMs,
      workflowTaskTimeoutMs: b.taskTimeoutMs,
      continuedExecutionRunId: b.continuedRunId,
      initiator: b.initiator,
      continuedFailure: b.continuedFailure,
      lastCompletionResult: b.lastCompletionResult,
      originalExecutionRunId: b.key.runId,
      identity: b.identity,
      firstExecutionRunId: b.firstRunId,
      retryPolicy: b.retryPolicy,
      attempt: b.attempt,
      workflowExecutionExpirationTimeMs: b.executionExpirationMs,
      cronSchedule: b.cronSchedule,
      firstWorkflowTaskBackoffMs: b.backoffMs,
      memo: withoutEmptyFields(b.memo, draft.wire),
      searchAttributes: withoutEmptyFields(b.searchAttributes, draft.wire),
      prevAutoResetPoints: undefined,
      header: b.header,
      parentInitiatedEventVersion: 0,
      parentWorkflowNamespaceId: b.parent?.namespaceId ?? '',
      workflowId: b.key.workflowId,
      sourceVersionStamp: undefined,
      completionCallbacks: b.callbacks,
      rootWorkflowExecution: b.root,
      inheritedBuildId: '',
      versioningOverride: undefined,
      parentPinnedWorkerDeploymentVersion: '',
      priority: b.priority,
      inheritedPinnedVersion: undefined,
      eagerExecutionAccepted: b.eager ?? false,
      inheritedAutoUpgradeInfo: undefined,
      declinedTargetVersionUpgrade: undefined,
      timeSkippingConfig: undefined,
      timeSkippingStatePropagation: undefined,
    },
    b.meta,
  );
  run.addFact({ kind: 'startRequest', requestId: b.requestId, retentionMs: b.retentionMs });
  if (b.scheduledBy !== undefined) run.addFact({ kind: 'scheduledBy', by: b.scheduledBy });
  armRunTimeout(run);
  return run;
}

export function armRunTimeout(run: RunDraft): void {
  const { runExpirationMs: fireTimeMs, executionExpirationMs } = run.run.start;
  if (fireTimeMs === 0) return;
  const kind = fireTimeMs === executionExpirationMs ? 'executionTimeout' : 'runTimeout';
  run.addTask({ kind, fireTimeMs });
}

export function beginFirstWorkflowTask(run: RunDraft): void {
  const { executionTimeMs, startTimeMs } = run.run.start;
  if (executionTimeMs === startTimeMs) {
    scheduleWorkflowTask(run);
    return;
  }
  run.addTask({ kind: 'firstWorkflowTask', fireTimeMs: executionTimeMs });
}

/** Starts the task in the record of the run, for whoever began it: no queue sees it. The run does not wait for a backoff. */
export function startFirstWorkflowTask(run: RunDraft, requestId: string, identity: string): StartedWorkflowTask {
  scheduleWorkflowTask(run, { dispatch: false });
  return writeStarted(run, requestId, identity);
}

/** A run never outlasts its execution. 0 = no limit. */
export function effectiveRunTimeout(runTimeoutMs: number, executionTimeoutMs: number): number {
  if (runTimeoutMs === 0) return executionTimeoutMs;
  return executionTimeoutMs === 0 ? runTimeoutMs : Math.min(runTimeoutMs, executionTimeoutMs);
}

export function effectiveTaskTimeout(taskTimeoutMs: number, runTimeoutMs: number, limits: HistoryLimits): number {
  const timeoutMs = Math.min(taskTimeoutMs === 0 ? limits.workflowTaskTimeoutMsDefault : taskTimeoutMs, limits.workflowTaskTimeoutMsMax);
  return runTimeoutMs === 0 ? timeoutMs : Math.min(timeoutMs, runTimeoutMs);
}
