/** Child workflows, from the parent's side: started, not started, closed. */
import { assert, unreachable } from '../../kernel/assert.ts';
import { childThatStarted } from '../run/child-starts.ts';
import type { FindChild, OutboxOutcome, RecordChildClosed } from '../commands/history-commands.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { findRun, workflowNotFound } from '../run/reject.ts';
import { type HistoryReply, done } from '../run/history-replies.ts';
import { type Child, isRunning } from '../run/state.ts';
import type { Sender, TaskOf } from '../run/tasks.ts';
import { parentClosePolicy, startChildFailedCause } from '../generated/enums.ts';
import { authorOf, goesOnWithChild, openParent } from '../run/reset-runs.ts';
import { ensureWorkflowTask } from '../steps/workflow-task.ts';

export function finishStartChild(run: RunDraft, task: TaskOf<'startChild'>, outcome: OutboxOutcome): void {
  const child = run.run.children.get(task.initiatedEventId);
  if (!isRunning(run.run)) {
    if (outcome.kind === 'childStarted') followClosePolicy(run.draft, task, outcome.runId);
    return;
  }
  if (child === undefined || child.runId !== '') return;
  if (outcome.kind === 'childStarted') {
    writeChildStarted(run, child, outcome.runId);
    const { namespaceId, workflowId } = task.target;
    run.addTask({ kind: 'scheduleChildFirstTask', child: { namespaceId, workflowId, runId: outcome.runId } });
  } else {
    assert(outcome.kind === 'childStartFailed', `startChild ends with ${outcome.kind}`);
    const { namespace, workflowId, workflowType, control, namespaceId } = child.attributes;
    run.addOrBuffer('startChildWorkflowExecutionFailed', {
      namespace,
      workflowId,
      workflowType,
      cause: outcome.cause === 'already-exists' ? startChildFailedCause.workflowAlreadyExists : startChildFailedCause.namespaceNotFound,
      control,
      initiatedEventId: task.initiatedEventId,
      workflowTaskCompletedEventId: 0,
      namespaceId,
    });
  }
  ensureWorkflowTask(run);
}

/** The parent closed before it knew of the start. A child left alone gets the first workflow task that its parent would have let out. */
export function followClosePolicy(draft: Draft, task: TaskOf<'startChild'>, runId: string): void {
  const { key, sender, initiatedEventId, parentClosePolicy: policy = parentClosePolicy.terminate } = task;
  const parent = sender ?? starterOf(draft, task);
  if (parent !== undefined && goesOnWithChild(draft.shard, parent, initiatedEventId)) return;
  const child = { ...task.target, runId };
  const common = { child, ...(sender === undefined ? {} : { sender }) };
  if (policy === parentClosePolicy.abandon) draft.addTask({ kind: 'scheduleChildFirstTask', ...common }, key);
  else draft.addTask({ kind: 'closeChild', initiatedEventId, policy, ...common }, key);
}

/** The run in whose name a parent that is not deleted has asked for this child. */
function starterOf({ shard }: Draft, { key, initiatedEventId }: TaskOf<'startChild'>): Sender | undefined {
  const parent = findRun(shard, key);
  return parent === undefined ? undefined : authorOf(parent, initiatedEventId);
}

export function findChild(draft: Draft, command: FindChild): HistoryReply {
  const runId = childThatStarted(draft.shard, command.key, command.parent);
  return runId === undefined ? workflowNotFound(command.key) : { kind: 'childFound', runId };
}

function writeChildStarted(run: RunDraft, child: Child, runId: string): void {
  const { initiatedEventId, attributes } = child;
  const { namespace, namespaceId, workflowId, workflowType, header } = attributes;
  const started = { namespace, initiatedEventId, workflowExecution: { workflowId, runId }, workflowType, header, namespaceId };
  run.addOrBuffer('childWorkflowExecutionStarted', started);
}

export function recordChildClosed(draft: Draft, command: RecordChildClosed): HistoryReply {
  const { initiatedEventId } = command.parent;
  const parent = openParent(draft.shard, command.parent);
  if (parent === undefined) return done;
  const known = parent.children.get(initiatedEventId);
  if (known === undefined || known.attributes.workflowId !== command.child.workflowId) return done;
  if (known.runId !== '' && known.runId !== command.childFirstRunId) return done;

  const run = draft.open(parent);
  if (known.runId === '') {
    // The news of its end came before the news of its start.
    run.finishTask(known.taskId);
    writeChildStarted(run, known, command.childFirstRunId);
  }
  writeChildClosed(run, initiatedEventId, command);
  ensureWorkflowTask(run);
  return done;
}

function writeChildClosed(run: RunDraft, initiatedEventId: number, command: RecordChildClosed): number {
  const child = run.run.children.get(initiatedEventId);
  assert(child !== undefined, 'a pending child closes');
  const { close, child: workflowExecution } = command;
  const { startedEventId, attributes } = child;
  const { namespace, namespaceId, workflowType } = attributes;
  const common = { namespace, workflowExecution, workflowType, initiatedEventId, startedEventId, namespaceId };
  switch (close.kind) {
    case 'completed':
      return run.addOrBuffer('childWorkflowExecutionCompleted', { ...common, result: close.result });
    case 'failed': {
      const { wire, limits } = run.draft;
      // The failure has grown by one level with every generation that passed it on.
      const failure = close.failure === undefined ? undefined : wire.limitCauses(close.failure, limits.failureCausesMax);
      return run.addOrBuffer('childWorkflowExecutionFailed', { ...common, failure, retryState: close.retryState });
    }
    case 'canceled':
      return run.addOrBuffer('childWorkflowExecutionCanceled', { ...common, details: close.details });
    case 'timedOut':
      return run.addOrBuffer('childWorkflowExecutionTimedOut', { ...common, retryState: close.retryState });
    case 'terminated':
      return run.addOrBuffer('childWorkflowExecutionTerminated', common);
    default:
      return unreachable(close);
  }
}
