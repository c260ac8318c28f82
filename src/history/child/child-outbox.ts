/** What a parent asks of its children, and a child of its parent. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { DecidedRequest, IdPolicies, OutboxMessage } from '../commands/history-commands.ts';
import { linkTo, type OutboxKind, type OutboxTaskOf, requestId, to, told } from '../steps/outbox-kind.ts';
import { mergedPriority } from '../commands/priority.ts';
import { type Child, isRunning, type RunView } from '../run/state.ts';
import type { Sender } from '../run/tasks.ts';
import { idConflictPolicy, idReusePolicy, parentClosePolicy } from '../generated/enums.ts';
import { authorOf } from '../run/reset-runs.ts';
import { finishStartChild } from './child-outcomes.ts';

export const startChildOutbox: OutboxKind<'startChild'> = {
  message(run, task, newRunId) {
    if (!isRunning(run)) return findStarted(authorOf(run, task.initiatedEventId), task);
    const child = run.children.get(task.initiatedEventId);
    // One from outside may say another workflow: it would be started where nobody looks for it.
    if (child === undefined || child.attributes.workflowId !== task.target.workflowId) return undefined;
    return to(task.target, startChild(run, child, task.target, newRunId));
  },
  lastMessage: findStarted,
  outcome(reply) {
    if (reply.kind === 'started' || reply.kind === 'childFound') return { kind: 'childStarted', runId: reply.runId };
    if (reply.kind !== 'rejected') return undefined;
    switch (reply.rejection.reason) {
      case 'already-started':
        return { kind: 'childStartFailed', cause: 'already-exists' };
      case 'workflow-not-found':
        return { kind: 'done', nothingLeft: 'the workflow is closed, and has started no child' };
      default:
        return undefined;
    }
  },
  // A start alone always fits into a record. Only one that also ends another run can be too large: the workflow id is taken, then.
  tooLarge: { kind: 'childStartFailed', cause: 'already-exists' },
  finish: finishStartChild,
};

export const scheduleChildFirstTaskOutbox = told<'scheduleChildFirstTask'>((_, { child }) =>
  to(child, { kind: 'scheduleFirstWorkflowTask', key: child }),
);
export const closeChildOutbox = told<'closeChild'>(closeChild);
export const notifyParentOutbox = told<'notifyParent'>(notifyParent);

/** A parent that has closed starts no child any more. But one that it has started, with an answer that was lost, must hear of the close. */
function findStarted(parent: Sender, { target, initiatedEventId }: OutboxTaskOf<'startChild'>): OutboxMessage {
  return to(target, { kind: 'findChild', key: target, parent: linkTo(parent, initiatedEventId) });
}

function notifyParent({ key, namespace, start }: Sender, { outcome }: OutboxTaskOf<'notifyParent'>): OutboxMessage | undefined {
  const { parent, firstRunId, workflowType } = start;
  if (parent === undefined) return undefined;
  const child = { workflowId: key.workflowId, runId: key.runId };
  const said = { childFirstRunId: firstRunId, childNamespace: namespace, childWorkflowType: workflowType };
  return to(parent, { kind: 'recordChildClosed', parent, child, ...said, close: outcome });
}

/** `target`: the namespace that the child asks for may have been registered again, and has another id by now. */
function startChild(run: RunView, child: Child, { namespaceId }: RunKey, newRunId: string): DecidedRequest {
  const a = child.attributes;
  const asker = authorOf(run, child.initiatedEventId);
  const terminates = a.workflowIdReusePolicy === idReusePolicy.terminateIfRunning;
  return {
    kind: 'startWorkflow',
    key: { namespaceId, workflowId: a.workflowId, runId: '' },
    namespace: a.namespace,
    newRunId,
    requestId: requestId(asker, child.initiatedEventId),
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
      retryPolicy: a.retryPolicy,
      cronSchedule: a.cronSchedule,
    },
    policies: {
      reusePolicy: reusePolicyOf(a.workflowIdReusePolicy),
      conflictPolicy: terminates ? idConflictPolicy.terminateExisting : idConflictPolicy.fail,
    },
    parent: linkTo(asker, child.initiatedEventId),
    ...(run.reset === undefined ? {} : { replacesChildrenOf: run.reset.bases.map(({ runId }) => runId) }),
    retentionMs: namespaceId === run.key.namespaceId ? run.retentionMs : 0,
    onConflict: undefined,
  };
}

/** Unspecified allows a duplicate; TERMINATE_IF_RUNNING does too, and says the rest as a conflict policy. */
function reusePolicyOf(policy: number): IdPolicies['reusePolicy'] {
  const { allowDuplicate, allowDuplicateFailedOnly, rejectDuplicate } = idReusePolicy;
  return policy === allowDuplicateFailedOnly || policy === rejectDuplicate ? policy : allowDuplicate;
}

/** Asks the chain that the child has become: its first run says which one that is, also where a base run of this one has started it. */
function closeChild(run: Sender, task: OutboxTaskOf<'closeChild'>): OutboxMessage {
  const key = { ...task.child, runId: '' };
  const common = { key, firstExecutionRunId: task.child.runId, identity: 'history-service', links: [], childOf: undefined };
  if (task.policy === parentClosePolicy.terminate) {
    return to(task.child, { ...common, kind: 'terminateWorkflow', reason: 'by parent close policy', details: undefined });
  }
  return to(task.child, {
    ...common,
    kind: 'requestCancelWorkflow',
    cause: '',
    requestId: requestId(run, task.initiatedEventId),
    // Nothing in the parent's history asked for it: upstream names the parent and no event.
    external: { initiatedEventId: 0, execution: { workflowId: run.key.workflowId, runId: run.key.runId } },
  });
}
