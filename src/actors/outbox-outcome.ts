/**
 * How the target of an outbox task took it, in the words that the source journals. Undefined = it did not take it yet: try again.
 *
 * Receivers deduplicate by request id, so a repeated delivery gets the first one's answer.
 */
import { unreachable } from '../kernel/assert.ts';
import type { OutboxOutcome } from '../history/commands.ts';
import type { HistoryReply, Rejection } from '../history/replies.ts';
import type { TransferTask } from '../history/tasks.ts';

export type OutboxTask = Exclude<TransferTask, { readonly kind: 'workflowTask' | 'activityTask' }>;

const DONE: OutboxOutcome = { kind: 'done' };
const TARGET_NOT_FOUND: OutboxOutcome = { kind: 'externalFailed', cause: 'not-found' };
const SIGNAL_LIMIT_REACHED: OutboxOutcome = { kind: 'externalFailed', cause: 'signal-count-limit-exceeded' };
const CHILD_EXISTS: OutboxOutcome = { kind: 'childStartFailed', cause: 'already-exists' };

export function outboxOutcome(task: OutboxTask, reply: HistoryReply): OutboxOutcome | undefined {
  if (reply.kind === 'rejected') return rejectedOutcome(task, reply.rejection);
  if (task.kind === 'startChild') return reply.kind === 'started' ? { kind: 'childStarted', runId: reply.runId } : undefined;
  return DONE;
}

function rejectedOutcome(task: OutboxTask, { reason }: Rejection): OutboxOutcome | undefined {
  const gone = reason === 'workflow-not-found' || reason === 'workflow-closed';
  switch (task.kind) {
    case 'startChild':
      return reason === 'already-started' ? CHILD_EXISTS : undefined;
    case 'signalExternal':
      if (reason === 'invalid-argument') return SIGNAL_LIMIT_REACHED;
      return gone ? TARGET_NOT_FOUND : undefined;
    case 'cancelExternal':
      if (reason === 'workflow-closed') return DONE;
      return gone ? TARGET_NOT_FOUND : undefined;
    case 'scheduleChildFirstTask':
    case 'notifyParent':
    case 'closeChild':
      return gone ? DONE : undefined;
    default:
      return unreachable(task);
  }
}
