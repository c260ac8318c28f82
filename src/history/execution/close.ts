/**
 * The end of a run, whoever ends it: `decideClose` says whether it ends for good or another run goes on in its place. What it had pending
 * ends silently; children follow their parent close policy; a parent is told, unless another run goes on.
 */
import { addEndOfRun } from './end-of-run.ts';
import { assert, unreachable } from '../../kernel/assert.ts';
import { beginFirstWorkflowTask, beginRun, type Beginning } from './begin-run.ts';
import { invokeCallbacks } from '../callback/attempt.ts';
import { flushBuffer } from './buffer.ts';
import type { RunCloseKind } from '../closing-events.ts';
import type { EventMeta, RunDraft } from '../draft.ts';
import type { AttributesOf } from '../generated/public-api.ts';
import type { RunView } from '../state.ts';
import { isRunning } from '../state.ts';
import { parentClosePolicy, retryState, workflowTaskFailedCause } from '../generated/enums.ts';
import { finishWorkflowTaskTasks } from '../workflow-task/workflow-task.ts';

/** What ends a run, as its caller knows it. */
type Ending =
  | { readonly kind: 'completed'; readonly result: Uint8Array | undefined; readonly completedEventId: number }
  | { readonly kind: 'failed'; readonly failure: Uint8Array; readonly completedEventId: number }
  | { readonly kind: 'canceled'; readonly details: Uint8Array | undefined; readonly completedEventId: number }
  | {
      readonly kind: 'continuedAsNew';
      readonly attributes: AttributesOf['workflowExecutionContinuedAsNew'];
      readonly next: Beginning;
    }
  /** The run's time, or that of its whole execution, is over. */
  | { readonly kind: 'timedOut' }
  | {
      readonly kind: 'terminated';
      readonly reason: string;
      readonly details: Uint8Array | undefined;
      readonly identity: string;
      readonly links: readonly Uint8Array[];
    };

/** The one place where a run ends. */
export function decideClose(run: RunDraft, ending: Ending, meta?: EventMeta): void {
  const { archetype } = run.run.start;
  switch (archetype) {
    case 'workflow':
      return closeWorkflow(run, ending, meta);
    default:
      return unreachable(archetype);
  }
}

/**
 * Only a worker that asks for it gets a successor: a run that failed or timed out and has a retry policy, or one of a cron schedule, would
 * get its next run here as well.
 */
function closeWorkflow(run: RunDraft, ending: Ending, meta: EventMeta | undefined): void {
  switch (ending.kind) {
    case 'completed': {
      const { result, completedEventId: workflowTaskCompletedEventId } = ending;
      return closeRun(run, 'workflowExecutionCompleted', { result, workflowTaskCompletedEventId, newExecutionRunId: '' }, meta);
    }
    case 'failed': {
      const { failure, completedEventId: workflowTaskCompletedEventId } = ending;
      const attributes = { failure, retryState: retryState.retryPolicyNotSet, workflowTaskCompletedEventId, newExecutionRunId: '' };
      return closeRun(run, 'workflowExecutionFailed', attributes, meta);
    }
    case 'canceled': {
      const { details, completedEventId: workflowTaskCompletedEventId } = ending;
      return closeRun(run, 'workflowExecutionCanceled', { workflowTaskCompletedEventId, details }, meta);
    }
    case 'continuedAsNew':
      closeRun(run, 'workflowExecutionContinuedAsNew', ending.attributes, meta);
      return beginFirstWorkflowTask(beginRun(run.draft, ending.next));
    case 'timedOut':
      forceEndWorkflowTask(run);
      return closeRun(run, 'workflowExecutionTimedOut', { retryState: stateAtTimeout(run.run, run.draft.nowMs), newExecutionRunId: '' });
    case 'terminated': {
      const { reason, details, identity, links } = ending;
      forceEndWorkflowTask(run);
      return closeRun(run, 'workflowExecutionTerminated', { reason, details, identity }, { links });
    }
    default:
      return unreachable(ending);
  }
}

/** The server ends a run that nobody may go on with: a limit, an answer that no worker can receive, a new run in its place. */
export function terminateByServer(run: RunDraft, reason: string, details?: Uint8Array): void {
  decideClose(run, { kind: 'terminated', reason, details, identity: 'history-service', links: [] });
}

/** At the end of the whole execution no policy could start another run. */
function stateAtTimeout({ start }: RunView, nowMs: number): number {
  const executionOver = start.executionExpirationMs > 0 && nowMs >= start.executionExpirationMs;
  return executionOver ? retryState.timeout : retryState.retryPolicyNotSet;
}

function closeRun<Kind extends RunCloseKind>(run: RunDraft, kind: Kind, attributes: AttributesOf[Kind], meta?: EventMeta): void {
  run.ensureReal();
  finishPendingTasks(run);
  closeChildren(run);
  const tellParent = run.run.start.parent !== undefined && kind !== 'workflowExecutionContinuedAsNew';
  run.add(kind, attributes, meta);
  assert(!isRunning(run.run), `${kind} closes its run`);
  const { draft } = run;
  // What is left to do after the close is not the task that failed, so the run is taken back.
  if (draft.shard.aside.has(run.run.key.runId)) run.addShardFact({ kind: 'runTakenBack' });
  if (tellParent) run.addTask({ kind: 'notifyParent', taskId: draft.nextTaskId(), key: run.run.key, version: 0 });
  // Until it is known what becomes of them, nothing else is forgotten. A run that goes on as another hands them to that.
  if (run.run.callbacks.length > 0 && kind !== 'workflowExecutionContinuedAsNew') invokeCallbacks(run);
  else addEndOfRun(run);
}

/** Terminations and timeouts come from outside: a started workflow task ends as failed first, and nothing that was buffered is lost. */
function forceEndWorkflowTask(run: RunDraft): void {
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

function finishPendingTasks(run: RunDraft): void {
  const state: RunView = run.run;
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
    // Its task stays until it is known whether the child started; if it did, the policy is applied then (child-outcomes.ts).
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
