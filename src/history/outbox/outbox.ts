/**
 * Work for other shards. A pending transfer task is the promise; the command for its target is built from state whenever it is (re)sent,
 * under a request id that stays the same, so that the target can recognise a repeat:
 *
 *   task ──▶ outboxCommand ──ask──▶ target ──▶ outboxOutcome ──▶ finishOutboxTask: the result's record ends the task
 */
import { unreachable } from '../../kernel/assert.ts';
import { finishStartChild } from '../child/child-outcomes.ts';
import type { FinishOutboxTask, DecidedRequest, OutboxOutcome, ParentLink } from '../commands.ts';
import type { Draft } from '../draft.ts';
import { finishExternalCancel, finishExternalSignal } from '../external/external-outcomes.ts';
import { mergedPriority } from '../priority.ts';
import type { HistoryReply } from '../replies.ts';
import { type Child, isRunning, type Run, type ShardState } from '../state.ts';
import type { TransferTask } from '../tasks.ts';
import { idConflictPolicy, idReusePolicy, parentClosePolicy } from '../wire-enums.ts';

export type OutboxCommand = { readonly targetNamespaceId: string; readonly targetWorkflowId: string; readonly command: DecidedRequest };

/** How long closed runs of a namespace are kept, in milliseconds; undefined: not known here and now. */
export type RetentionOf = (namespaceId: string) => number | undefined;

/** undefined: there is nothing to ask (any more), finish the task as done. `newRunId`, `retentionOf`: for a child that may be made. */
export function outboxCommand(shard: ShardState, taskId: number, newRunId: string, retentionOf?: RetentionOf): OutboxCommand | undefined {
  const task = shard.transfers.get(taskId);
  const run = task === undefined ? undefined : shard.runs.get(task.key.runId);
  if (task === undefined || run === undefined) return undefined;
  switch (task.kind) {
    case 'startChild': {
      // Closed meanwhile, it starts nothing any more; but what it has started, with an answer that was lost, must not be left alone.
      if (!isRunning(run)) return to(task.target, { kind: 'findChild', key: task.target, parent: linkTo(run, task.initiatedEventId) });
      const child = run.children.get(task.initiatedEventId);
      return child === undefined ? undefined : to(task.target, startChild(run, child, newRunId, retentionOf));
    }
    case 'scheduleChildFirstTask':
      return to(task.child, { kind: 'scheduleFirstWorkflowTask', key: task.child });
    case 'signalExternal': {
      const request = run.externalSignals.get(task.initiatedEventId);
      if (request === undefined || !isRunning(run)) return undefined;
      return to(task.target, {
        kind: 'signalWorkflow',
        key: task.target,
        signal: {
          signalName: request.signalName,
          input: request.input,
          header: request.header,
          identity: 'history-service',
          requestId: requestId(run, task.initiatedEventId),
          links: [],
          externalWorkflowExecution: { workflowId: run.key.workflowId, runId: run.key.runId },
        },
        childOf: request.childWorkflowOnly ? linkTo(run, task.initiatedEventId) : undefined,
      });
    }
    case 'cancelExternal': {
      const request = run.externalCancels.get(task.initiatedEventId);
      if (request === undefined || !isRunning(run)) return undefined;
      return to(task.target, {
        kind: 'requestCancelWorkflow',
        key: task.target,
        firstExecutionRunId: '',
        cause: request.reason,
        identity: 'history-service',
        requestId: requestId(run, task.initiatedEventId),
        links: [],
        external: { initiatedEventId: task.initiatedEventId, execution: { workflowId: run.key.workflowId, runId: run.key.runId } },
        childOf: request.childWorkflowOnly ? linkTo(run, task.initiatedEventId) : undefined,
      });
    }
    case 'notifyParent': {
      const { parent } = run.start;
      if (parent === undefined) return undefined;
      return to(parent, {
        kind: 'recordChildClosed',
        parent,
        child: { workflowId: run.key.workflowId, runId: run.key.runId },
        childFirstRunId: run.start.firstRunId,
        childNamespace: run.namespace,
        childWorkflowType: run.start.workflowType,
        close: task.outcome,
      });
    }
    case 'closeChild':
      return to(task.child, closeChild(run, task));
    case 'workflowTask':
    case 'activityTask':
      return undefined;
    default:
      return unreachable(task);
  }
}

function to(target: { readonly namespaceId: string; readonly workflowId: string }, command: DecidedRequest): OutboxCommand {
  return { targetNamespaceId: target.namespaceId, targetWorkflowId: target.workflowId, command };
}

function requestId(run: Run, initiatedEventId: number): string {
  return `${run.key.runId}:${initiatedEventId}:0`;
}

function linkTo(run: Run, initiatedEventId: number): ParentLink {
  const { namespaceId, workflowId, runId } = run.key;
  const { root } = run.start;
  return {
    namespaceId,
    namespace: run.namespace,
    workflowId,
    runId,
    initiatedEventId,
    rootWorkflowId: root.workflowId,
    rootRunId: root.runId,
  };
}

function startChild(run: Run, child: Child, newRunId: string, retentionOf: RetentionOf | undefined): DecidedRequest {
  const a = child.attributes;
  const ownRetentionMs = a.namespaceId === run.key.namespaceId ? run.retentionMs : 0;
  const terminates = a.workflowIdReusePolicy === idReusePolicy.terminateIfRunning;
  return {
    kind: 'startWorkflow',
    key: { namespaceId: a.namespaceId, workflowId: a.workflowId, runId: '' },
    namespace: a.namespace,
    newRunId,
    requestId: requestId(run, child.initiatedEventId),
    start: {
      workflowType: a.workflowType?.name ?? '',
      taskQueue: a.taskQueue ?? run.start.taskQueue,
      input: a.input,
      header: a.header,
      memo: a.memo,
      searchAttributes: a.searchAttributes,
      executionTimeoutMs: a.workflowExecutionTimeoutMs,
      runTimeoutMs: a.workflowRunTimeoutMs,
      taskTimeoutMs: a.workflowTaskTimeoutMs,
      startDelayMs: 0,
      identity: '',
      userMetadata: child.userMetadata,
      links: [],
      priority: mergedPriority(run.start.priority, a.priority),
    },
    policies: {
      reusePolicy: a.workflowIdReusePolicy === 2 ? 2 : a.workflowIdReusePolicy === 3 ? 3 : idReusePolicy.allowDuplicate,
      conflictPolicy: terminates ? idConflictPolicy.terminateExisting : idConflictPolicy.fail,
    },
    parent: linkTo(run, child.initiatedEventId),
    retentionMs: retentionOf?.(a.namespaceId) ?? ownRetentionMs,
    onConflict: undefined,
  };
}

/** For the chain that the child has become, and only while it is still this parent's. */
function closeChild(run: Run, task: Extract<TransferTask, { readonly kind: 'closeChild' }>): DecidedRequest {
  const key = { ...task.child, runId: '' };
  const childOf = linkTo(run, task.initiatedEventId);
  const common = { key, firstExecutionRunId: task.child.runId, identity: 'history-service', links: [], childOf };
  if (task.policy === parentClosePolicy.terminate) {
    return { ...common, kind: 'terminateWorkflow', reason: 'by parent close policy', details: undefined };
  }
  return {
    ...common,
    kind: 'requestCancelWorkflow',
    cause: '',
    requestId: requestId(run, task.initiatedEventId),
    // Nothing in the parent's history asked for it: upstream names the parent and no event.
    external: { initiatedEventId: 0, execution: { workflowId: run.key.workflowId, runId: run.key.runId } },
  };
}

/** What a target's answer means for the task; undefined: nothing is settled, ask again later. */
export function outboxOutcome(kind: TransferTask['kind'], reply: HistoryReply): OutboxOutcome | undefined {
  if (kind === 'startChild') {
    if (reply.kind === 'started' || reply.kind === 'childFound') return { kind: 'childStarted', runId: reply.runId };
    if (reply.kind !== 'rejected') return undefined;
    switch (reply.rejection.reason) {
      case 'already-started':
        return { kind: 'childStartFailed', cause: 'already-exists' };
      case 'workflow-not-found':
        return { kind: 'done' };
      default:
        return undefined;
    }
  }
  if (reply.kind !== 'rejected') return { kind: 'done' };
  const { reason } = reply.rejection;
  if (reason === 'busy-workflow') return undefined;
  if (kind !== 'signalExternal' && kind !== 'cancelExternal') return { kind: 'done' };
  return { kind: 'externalFailed', cause: reason === 'invalid-argument' ? 'signal-count-limit-exceeded' : 'not-found' };
}

/** What it means that the target cannot write what it is asked for; undefined: the protocol has no such answer. */
export function outboxTooLarge(kind: TransferTask['kind']): OutboxOutcome | undefined {
  // A start alone always fits. Too large is only one that ends another run in the same record: so the id is taken, and stays so.
  if (kind === 'startChild') return { kind: 'childStartFailed', cause: 'already-exists' };
  // The nearest that there is: a limit of the target keeps it from having this signal.
  if (kind === 'signalExternal') return { kind: 'externalFailed', cause: 'signal-count-limit-exceeded' };
  return undefined;
}

export function finishOutboxTask(draft: Draft, command: FinishOutboxTask): HistoryReply {
  const done: HistoryReply = { kind: 'done' };
  const task = draft.shard.transfers.get(command.taskId);
  if (task === undefined) return done;
  const run = draft.shard.runs.get(task.key.runId);
  switch (task.kind) {
    case 'startChild':
    case 'signalExternal':
    case 'cancelExternal':
      if (run === undefined) break;
      // Written for its own sake only if the run can still hear of it.
      if (!isRunning(run) && command.outcome.kind !== 'childStarted') break;
      draft.finishTask(command.taskId);
      if (task.kind === 'startChild') finishStartChild(draft.open(run), task, command.outcome);
      else if (task.kind === 'signalExternal') finishExternalSignal(draft.open(run), task.initiatedEventId, command.outcome);
      else finishExternalCancel(draft.open(run), task.initiatedEventId, command.outcome);
      return done;
    case 'scheduleChildFirstTask':
    case 'notifyParent':
    case 'closeChild':
      break;
    case 'workflowTask':
    case 'activityTask':
      // These end with their start, or with what makes it pointless.
      return done;
    default:
      return unreachable(task);
  }
  if (!draft.volatile.finished.has(command.taskId)) draft.stage({ kind: 'taskFinished', taskId: command.taskId });
  return done;
}
