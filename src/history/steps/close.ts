/** The end of a run. What was pending ends silently; children follow their parent close policy; a parent hears, unless another run goes on. */
import { addEndOfRun, addRetention } from './end-of-run.ts';
import { assert, unreachable } from '../../kernel/assert.ts';
import { beginFirstWorkflowTask, beginRun, type Beginning } from './begin-run.ts';
import { invokeCallbacks } from './invoke-callbacks.ts';
import { isUnsettled } from '../run/callback.ts';
import { flushBuffer } from './buffer.ts';
import type { RunCloseKind } from '../run/event-meanings.ts';
import type { EventMeta, RunDraft } from '../draft/draft.ts';
import type { AttributesOf } from '../generated/public-api.ts';
import { afterFailure, type AfterFailure, nextOnSchedule, type Successor, workflowTimeout } from './next-run.ts';
import type { OpaqueFailure } from '../commands/failure.ts';
import { handOnAnswers, handOnSignals } from './note-answers.ts';
import { type Child, isOf, isRunning, type RunView } from '../run/state.ts';
import { parentClosePolicy, retryState, workflowTaskFailedCause } from '../generated/enums.ts';
import { addWorkflowTaskFailed } from './common-events.ts';
import { finishWorkflowTaskTasks } from './workflow-task.ts';

/** What ends a run, as its caller knows it. `successor`: the run that goes on in its place, if one does. */
type Ending =
  | {
      readonly kind: 'completed';
      readonly result: Uint8Array | undefined;
      readonly completedEventId: number;
      readonly successor: Successor;
    }
  | { readonly kind: 'failed'; readonly failure: OpaqueFailure; readonly completedEventId: number; readonly successor: Successor }
  | { readonly kind: 'canceled'; readonly details: Uint8Array | undefined; readonly completedEventId: number }
  | {
      readonly kind: 'continuedAsNew';
      readonly attributes: AttributesOf['workflowExecutionContinuedAsNew'];
      readonly next: Beginning;
    }
  /** The run's time, or that of its whole execution, is over. */
  | { readonly kind: 'timedOut'; readonly successor: Successor }
  | {
      readonly kind: 'terminated';
      readonly reason: string;
      readonly details: Uint8Array | undefined;
      readonly identity: string;
      readonly links: readonly Uint8Array[];
    }
  /** Another run goes on from an earlier event, of this run or of one before it. */
  | ({ readonly kind: 'reset'; readonly reason: string; readonly identity: string } & Pick<AfterClose, 'keepsChild' | 'keepsUpdate'>);

/** The one place where a run ends. */
export function decideClose(run: RunDraft, ending: Ending, meta?: EventMeta): void {
  const { archetype } = run.run.own;
  switch (archetype) {
    case 'workflow':
    case 'batch':
      return closeWorkflow(run, ending, meta);
    case 'schedule':
      // Nothing ends a schedule but its deletion.
      throw new Error(`a schedule cannot be ${ending.kind}`);
    default:
      return unreachable(archetype);
  }
}

function closeWorkflow(run: RunDraft, ending: Ending, meta: EventMeta | undefined): void {
  switch (ending.kind) {
    case 'completed': {
      const { result, completedEventId: workflowTaskCompletedEventId, successor } = ending;
      const next = nextOnSchedule(run.draft, run.run, { result, failure: undefined }, successor);
      const attributes = { result, workflowTaskCompletedEventId, newExecutionRunId: runIdOf(next) };
      return closeRun(run, 'workflowExecutionCompleted', attributes, { meta, next });
    }
    case 'failed': {
      const { failure, completedEventId: workflowTaskCompletedEventId, successor } = ending;
      const { retryState, next } = afterFailure(run.draft, run.run, failure, successor);
      const attributes = { failure: failure.bytes, retryState, workflowTaskCompletedEventId, newExecutionRunId: runIdOf(next) };
      return closeRun(run, 'workflowExecutionFailed', attributes, { meta, next });
    }
    case 'canceled': {
      const { details, completedEventId: workflowTaskCompletedEventId } = ending;
      return closeRun(run, 'workflowExecutionCanceled', { workflowTaskCompletedEventId, details }, { meta });
    }
    case 'continuedAsNew':
      return closeRun(run, 'workflowExecutionContinuedAsNew', ending.attributes, { meta, next: ending.next });
    case 'timedOut': {
      forceEndWorkflowTask(run);
      const { retryState, next } = afterTimeout(run, ending.successor);
      return closeRun(run, 'workflowExecutionTimedOut', { retryState, newExecutionRunId: runIdOf(next) }, { next });
    }
    case 'terminated': {
      const { reason, details, identity, links } = ending;
      forceEndWorkflowTask(run);
      return closeRun(run, 'workflowExecutionTerminated', { reason, details, identity }, { meta: { links } });
    }
    case 'reset': {
      const { kind: _, reason, identity, ...keeps } = ending;
      forceEndWorkflowTask(run);
      return closeRun(run, 'workflowExecutionTerminated', { reason, details: undefined, identity }, { goesOn: true, ...keeps });
    }
    default:
      return unreachable(ending);
  }
}

function runIdOf(next: Beginning | undefined): string {
  return next?.key.runId ?? '';
}

/** The server ends a run that nobody may go on with: a limit, an answer that no worker can receive, a new run in its place. */
export function terminateByServer(run: RunDraft, reason: string, details?: Uint8Array): void {
  decideClose(run, { kind: 'terminated', reason, details, identity: 'history-service', links: [] });
}

/** The end of the whole execution ends the chain. */
function afterTimeout({ draft, run }: RunDraft, successor: Successor): AfterFailure {
  const { executionExpirationMs } = run.start;
  const executionOver = executionExpirationMs > 0 && draft.nowMs >= executionExpirationMs;
  return executionOver ? { retryState: retryState.timeout, next: undefined } : afterFailure(draft, run, workflowTimeout(draft), successor);
}

type AfterClose = {
  readonly meta?: EventMeta | undefined;
  /** Begins in its place; absent: nothing does. */
  readonly next?: Beginning | undefined;
  /** The execution goes on, in a run that is not begun here. */
  readonly goesOn?: boolean;
  /** Children that are not treated by their parent's close policy: they stay, whatever becomes of it. */
  readonly keepsChild?: (child: Child) => boolean;
  /** Updates whose end is told by the run that goes on. */
  readonly keepsUpdate?: (updateId: string, requestId: string) => boolean;
};

function closeRun<Kind extends RunCloseKind>(run: RunDraft, kind: Kind, attributes: AttributesOf[Kind], after: AfterClose): void {
  const { meta, next, goesOn = false, keepsChild = keepsNone, keepsUpdate = keepsNone } = after;
  run.ensureReal();
  finishPendingTasks(run);
  closeChildren(run, keepsChild);
  const tellParent = run.run.start.parent !== undefined && next === undefined && !goesOn;
  run.add(kind, attributes, meta);
  assert(!isRunning(run.run), `${kind} closes its run`);
  const { draft } = run;
  // What is left to do after the close is not the task that failed, so the run is taken back.
  if (draft.shard.aside.has(run.run.key.runId)) run.addShardFact({ kind: 'runTakenBack' });
  if (tellParent) run.addTask({ kind: 'notifyParent' });
  const { scheduledBy } = run.run;
  const tellSchedule = scheduledBy !== undefined && next === undefined && !goesOn;
  if (tellSchedule) run.addTask({ kind: 'notifySchedule', ...scheduledBy });
  // Until it is known what becomes of them, nothing else is forgotten. A run may hand them on to the next.
  const handedOn = goesOn || (next !== undefined && next.callbacks.length > 0);
  // Updates end with their run, whichever run is next; after a reset that has them too.
  invokeCallbacks(run, ({ update, attachedBy }) => (update === undefined ? !handedOn : !keepsUpdate(update.updateId, attachedBy)));
  // Of what a job has done its workflows tell.
  if (isOf('batch', run.run)) addRetention(run);
  else if (!run.run.callbacks.some(isUnsettled)) addEndOfRun(run);
  if (next === undefined) return;
  assert(next.key.runId !== '', 'the next run has an id');
  const begun = beginRun(draft, next);
  handOnAnswers(begun, run.run);
  handOnSignals(begun, run.run);
  beginFirstWorkflowTask(begun);
}

/** Terminations and timeouts come from outside: a started workflow task ends as failed first, and nothing that was buffered is lost. */
function forceEndWorkflowTask(run: RunDraft): void {
  run.dropOffered();
  run.ensureReal();
  const { workflowTask } = run.run;
  if (workflowTask === undefined) return;
  finishWorkflowTaskTasks(run);
  const { kind, scheduledEventId, startedEventId } = workflowTask;
  if (startedEventId === 0) return;
  if (kind === 'normal') {
    addWorkflowTaskFailed(run, { scheduledEventId, startedEventId, cause: workflowTaskFailedCause.forceCloseCommand });
  } else run.addFact({ kind: 'workflowTaskFailed', unhandledCommand: false });
  flushBuffer(run);
}

function keepsNone(): boolean {
  return false;
}

function finishPendingTasks(run: RunDraft): void {
  const state: RunView = run.run;
  finishWorkflowTaskTasks(run);
  run.finishTask(state.timeoutTaskId);
  run.finishTask(state.backoffTaskId);
  if (state.own.archetype === 'batch') run.finishTask(state.own.stepTaskId);
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
function closeChildren(run: RunDraft, keeps: (child: Child) => boolean): void {
  if (run.run.children.size === 0) return;
  for (const child of run.run.children.values()) {
    const { attributes, runId } = child;
    // Its task stays until it is known whether the child started; if it did, the policy is applied then (child/child-outcomes.ts).
    if (runId === '' || keeps(child)) continue;
    const { namespaceId, workflowId, parentClosePolicy: policy } = attributes;
    if (policy !== parentClosePolicy.terminate && policy !== parentClosePolicy.requestCancel) continue;
    const { initiatedEventId } = child;
    run.addTask({ kind: 'closeChild', child: { namespaceId, workflowId, runId }, policy, initiatedEventId });
  }
}
