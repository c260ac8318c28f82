/**
 * The end of a run, whoever ends it. What it had pending ends silently; children follow their parent close policy; a parent is told,
 * unless a successor run goes on in this run's place.
 */
import { assert } from '../../kernel/assert.ts';
import { flushBuffer } from './buffer.ts';
import type { EventMeta, RunDraft } from '../draft.ts';
import type { AttributesOf } from '../events.ts';
import type { Run } from '../state.ts';
import { isRunning } from '../state.ts';
import { parentClosePolicy, workflowTaskFailedCause } from '../wire-enums.ts';
import { finishWorkflowTaskTasks } from '../workflow-task/workflow-task.ts';

export type CloseEventKind =
  | 'workflowExecutionCompleted'
  | 'workflowExecutionFailed'
  | 'workflowExecutionCanceled'
  | 'workflowExecutionTerminated'
  | 'workflowExecutionTimedOut'
  | 'workflowExecutionContinuedAsNew';

export function closeRun<Kind extends CloseEventKind>(run: RunDraft, kind: Kind, attributes: AttributesOf[Kind], meta?: EventMeta): void {
  run.ensureReal();
  finishPendingTasks(run);
  closeChildren(run);
  const tellParent = run.run.start.parent !== undefined && kind !== 'workflowExecutionContinuedAsNew';
  run.add(kind, attributes, meta);
  assert(!isRunning(run.run), `${kind} closes its run`);
  const { draft } = run;
  // What is left to do for a closed run is not what the shard could not do.
  if (draft.shard.aside.has(run.run.key.runId)) run.addShardFact({ kind: 'runTakenBack' });
  if (tellParent) run.addTask({ kind: 'notifyParent', taskId: draft.nextTaskId(), key: run.run.key, version: 0 });
  run.addTask({
    kind: 'retention',
    taskId: draft.nextTaskId(),
    fireTimeMs: draft.nowMs + (run.run.retentionMs > 0 ? run.run.retentionMs : draft.limits.retentionMsDefault),
    key: run.run.key,
  });
}

/** Terminations and timeouts come from outside: a started workflow task ends as failed first, and nothing that was buffered is lost. */
export function forceEndWorkflowTask(run: RunDraft): void {
  run.ensureReal();
  const { workflowTask } = run.run;
  if (workflowTask === undefined) return;
  finishWorkflowTaskTasks(run);
  if (workflowTask.startedEventId === 0) return;
  if (workflowTask.kind === 'normal') {
    run.add('workflowTaskFailed', {
      scheduledEventId: workflowTask.scheduledEventId,
      startedEventId: workflowTask.startedEventId,
      cause: workflowTaskFailedCause.forceCloseCommand,
      failure: undefined,
      identity: 'history-service',
      baseRunId: '',
      newRunId: '',
      forkEventVersion: 0,
      binaryChecksum: '',
      workerVersion: undefined,
    });
  } else run.addFact({ kind: 'workflowTaskFailed', unhandledCommand: false });
  flushBuffer(run);
}

export type Termination = {
  readonly reason: string;
  readonly details: Uint8Array | undefined;
  readonly identity: string;
  readonly links: readonly Uint8Array[];
};

export function terminateRun(run: RunDraft, { reason, details, identity, links }: Termination): void {
  forceEndWorkflowTask(run);
  closeRun(run, 'workflowExecutionTerminated', { reason, details, identity }, { links });
}

function finishPendingTasks(run: RunDraft): void {
  const state: Run = run.run;
  finishWorkflowTaskTasks(run);
  run.finishTask(state.timeoutTaskId);
  run.finishTask(state.backoffTaskId);
  if (state.activities.size > 0) {
    for (const activity of state.activities.values()) {
      run.finishTask(activity.dispatchTaskId);
      run.finishTask(activity.timerTaskId);
    }
  }
  if (state.timers.size > 0) for (const timer of state.timers.values()) run.finishTask(timer.taskId);
  if (state.externalSignals.size > 0) for (const request of state.externalSignals.values()) run.finishTask(request.taskId);
  if (state.externalCancels.size > 0) for (const request of state.externalCancels.values()) run.finishTask(request.taskId);
}

/** A child that has not started never will; one that has follows its policy. */
function closeChildren(run: RunDraft): void {
  if (run.run.children.size === 0) return;
  for (const child of run.run.children.values()) {
    const { attributes, runId } = child;
    // Its task stays until it is known whether the child started; if it did, the policy is applied then (child.ts).
    if (runId === '') continue;
    const policy = attributes.parentClosePolicy;
    if (policy !== parentClosePolicy.terminate && policy !== parentClosePolicy.requestCancel) continue;
    run.addTask({
      kind: 'closeChild',
      taskId: run.draft.nextTaskId(),
      key: run.run.key,
      version: 0,
      child: { namespaceId: attributes.namespaceId, workflowId: attributes.workflowId, runId },
      policy,
      initiatedEventId: child.initiatedEventId,
    });
  }
}
