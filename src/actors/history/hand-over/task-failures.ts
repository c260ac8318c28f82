/** What an answer or error means for a task. The rule: what would have befallen any other task as well does not count against this one. */
import { saidError, thrownError, type TaskError, type TaskFailure } from '../../../deadletters/task-failure.ts';
import type { Rejection } from '../../../history/run/history-replies.ts';
import { unreachable } from '../../../kernel/assert.ts';
import { Undecodable } from '../../../kernel/undecodable.ts';
import type { MatchingRejection } from '../../../matching/matching-replies.ts';
import type { AskFailure } from '../../asks/asks.ts';
import { DatabaseError, type DatabaseErrorCode } from '../../../projections/database-port.ts';
import { LogError } from '../../../ports/log.ts';
import { RecordTooLarge } from '../../partition/partition-core.ts';
import { EventsMissing } from '../events/history-store.ts';

export function unansweredTask({ kind, message }: AskFailure): TaskFailure {
  switch (kind) {
    case 'unavailable':
      return { kind: 'notYet', why: 'away', error: saidError('Unavailable', message) };
    case 'deadline':
      return { kind: 'notYet', why: 'away', error: saidError('DeadlineExceeded', message) };
    case 'notHere':
      return { kind: 'notYet', why: 'moving', error: saidError('NotHere', message) };
    case 'busy':
      return { kind: 'notYet', why: 'rateLimited', error: saidError('ResourceExhausted', message) };
    // What the target keeps may become less, and its limits are an operator's.
    case 'tooLarge':
      return { kind: 'failed', by: 'refusal', error: saidError('TooLarge', message) };
    case 'internal':
      return { kind: 'failed', by: 'bug', error: saidError('Internal', message) };
    case 'dataLoss':
      return { kind: 'permanent', error: saidError('DataLoss', message) };
    default:
      return unreachable(kind);
  }
}

/** Another shard decided, and not as the task wants. What ends the task by the protocol has been taken out before (history/tasks/outbox.ts). */
export function rejectedTask({ reason, message }: Rejection): TaskFailure {
  const error = saidError(reason, message);
  switch (reason) {
    case 'workflow-not-found':
    case 'workflow-closed':
    case 'task-not-found':
    case 'activity-not-found':
    case 'update-not-found':
    case 'schedule-not-found':
      return { kind: 'over', error };
    case 'busy-workflow':
      return { kind: 'notYet', why: 'busy', error };
    case 'workflow-not-ready':
      return { kind: 'notYet', why: 'notReady', error };
    case 'no-room':
    case 'too-many-updates':
      return { kind: 'notYet', why: 'rateLimited', error };
    case 'already-started':
    case 'invalid-argument':
    case 'unhandled-command':
    case 'bad-command':
    case 'failed-precondition':
    case 'query-failed':
    case 'query-timed-out':
      return { kind: 'failed', by: 'refusal', error };
    default:
      return unreachable(reason);
  }
}

export function refusedDispatch({ reason, message }: MatchingRejection): TaskFailure {
  const error = saidError(reason, message);
  switch (reason) {
    case 'no-poller':
      return { kind: 'notYet', why: 'notReady', error };
    case 'too-many-polls':
    case 'too-many-queries':
    case 'too-many-queues':
    case 'backlog-full':
      return { kind: 'notYet', why: 'rateLimited', error };
    case 'query-expired':
    case 'query-not-found':
    case 'too-many-weights':
    case 'configs-full':
    case 'tasks-left':
      return { kind: 'over', error };
    default:
      return unreachable(reason);
  }
}

/** Something in this process threw. What nobody knows is a bug of ours. */
export function thrownByTask(thrown: unknown): TaskFailure {
  const error = thrownError(thrown);
  if (thrown instanceof DatabaseError) return databaseFailed(thrown.code, error);
  if (thrown instanceof LogError) return logFailed(thrown, error);
  if (thrown instanceof Undecodable || thrown instanceof EventsMissing) return { kind: 'permanent', error };
  // The limit is the topic's, and an operator's.
  return { kind: 'failed', by: thrown instanceof RecordTooLarge ? 'refusal' : 'bug', error };
}

function databaseFailed(code: DatabaseErrorCode, error: TaskError): TaskFailure {
  switch (code) {
    case 'unavailable':
    case 'overtime':
    // The database as a whole is wrong: no task has a part in it.
    case 'misconfigured':
      return { kind: 'notYet', why: 'away', error };
    case 'closed':
      return { kind: 'notYet', why: 'moving', error };
    case 'data':
    case 'corrupt':
      return { kind: 'permanent', error };
    default:
      return unreachable(code);
  }
}

function logFailed({ code }: LogError, error: TaskError): TaskFailure {
  switch (code) {
    case 'unavailable':
    case 'denied':
    case 'misconfigured':
      return { kind: 'notYet', why: 'away', error };
    case 'locked':
    case 'closed':
      return { kind: 'notYet', why: 'moving', error };
    // Records that were there are gone, or cannot be what was written.
    case 'out-of-range':
    case 'corrupt':
      return { kind: 'permanent', error };
    default:
      return unreachable(code);
  }
}
