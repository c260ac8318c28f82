import type { AskFailure } from '../../actors/asks/asks.ts';
import type { ClusterRejection } from '../../cluster/replies.ts';
import type { JobsRejection } from '../../deadletters/jobs/commands.ts';
import type { DeadLetterRejection } from '../../deadletters/replies.ts';
import type { Rejection } from '../../history/replies.ts';
import { unreachable } from '../../kernel/assert.ts';
import { refusalReasonTrailer, type RefusalReason } from '../../kernel/refusal-reasons.ts';
import type { MatchingRejection } from '../../matching/replies.ts';
import {
  alreadyStarted,
  deadlineExceeded,
  exhaustedCause,
  exhaustedScope,
  namespaceAlreadyExists,
  namespaceNotFound,
  notFound,
  queryFailed,
  resourceExhausted,
  unavailable,
  workflowNotReady,
} from './details.ts';
import { statusCode } from './status-code.ts';
import { invalidArgument, StatusError } from './status-error.ts';

/** Why an actor refused, in the words of gRPC. The texts are the actors'; code and details are decided here, once. */
export function historyRejection(rejection: Rejection): StatusError {
  switch (rejection.reason) {
    case 'workflow-not-found':
    case 'workflow-closed':
    case 'task-not-found':
    case 'activity-not-found':
    case 'update-not-found':
    case 'schedule-not-found':
      return notFound(rejection.message);
    case 'already-started':
      return alreadyStarted(rejection.message, rejection);
    case 'invalid-argument':
    case 'unhandled-command':
    case 'bad-command':
      return invalidArgument(rejection.message);
    case 'failed-precondition':
      return new StatusError(statusCode.failedPrecondition, rejection.message);
    case 'workflow-not-ready':
      return workflowNotReady(rejection.message);
    case 'no-room':
      return resourceExhausted(rejection.message, exhaustedCause.systemOverloaded, exhaustedScope.system);
    case 'too-many-updates':
      return resourceExhausted(rejection.message, exhaustedCause.concurrentLimit, exhaustedScope.namespace);
    case 'busy-workflow':
      return resourceExhausted(rejection.message, exhaustedCause.busyWorkflow, exhaustedScope.namespace);
    case 'query-failed':
      return queryFailed(rejection.message, rejection.failure);
    case 'query-timed-out':
      return deadlineExceeded(rejection.message);
    default:
      return unreachable(rejection);
  }
}

export function matchingRejection(rejection: MatchingRejection): StatusError {
  switch (rejection.reason) {
    case 'no-poller':
      return new StatusError(statusCode.failedPrecondition, rejection.message);
    case 'query-expired':
      return deadlineExceeded(rejection.message);
    case 'query-not-found':
      return notFound(rejection.message);
    case 'too-many-weights':
      return invalidArgument(rejection.message);
    // No client asks for that.
    case 'tasks-left':
    case 'configs-full':
    case 'too-many-polls':
    case 'too-many-queries':
    case 'backlog-full':
    case 'too-many-queues':
      return resourceExhausted(rejection.message, exhaustedCause.concurrentLimit, exhaustedScope.namespace);
    default:
      return unreachable(rejection);
  }
}

export function clusterRejection(rejected: ClusterRejection, namespace: string): StatusError {
  switch (rejected.reason) {
    case 'namespace-exists':
      return namespaceAlreadyExists(namespace);
    case 'namespace-not-found':
      return namespaceNotFound(namespace);
    case 'invalid-argument':
      return invalidArgument(rejected.message);
    case 'failed-precondition':
      return new StatusError(statusCode.failedPrecondition, rejected.message);
    case 'resource-exhausted':
      return resourceExhausted(rejected.message, exhaustedCause.persistenceLimit, exhaustedScope.namespace);
    default:
      return unreachable(rejected.reason);
  }
}

export function deadLetterRejection(rejection: DeadLetterRejection): StatusError {
  switch (rejection.reason) {
    case 'invalid-argument':
      return invalidArgument(rejection.message);
    case 'not-in-queue':
      return notFound(rejection.message);
    case 'overlap':
    case 'too-many-jobs':
    case 'not-claimed':
    case 'being-merged':
    case 'began-anew':
      return new StatusError(statusCode.failedPrecondition, rejection.message);
    case 'not-now':
      return unavailable(rejection.message);
    default:
      return unreachable(rejection.reason);
  }
}

export function jobsRejection(rejection: JobsRejection): StatusError {
  switch (rejection.reason) {
    case 'invalid-argument':
      return invalidArgument(rejection.message);
    case 'not-found':
      return notFound(rejection.message);
    case 'failed-precondition':
    case 'overlap':
      return new StatusError(statusCode.failedPrecondition, rejection.message);
    case 'plan-not-found':
      return withReason(notFound(rejection.message), rejection.reason);
    case 'plan-expired':
      return withReason(new StatusError(statusCode.failedPrecondition, rejection.message), rejection.reason);
    case 'too-many-stretches':
    case 'too-many-jobs':
      return withReason(resourceExhausted(rejection.message, exhaustedCause.concurrentLimit, exhaustedScope.system), rejection.reason);
    default:
      return unreachable(rejection.reason);
  }
}

function withReason({ code, message, details, trailers }: StatusError, reason: RefusalReason): StatusError {
  return new StatusError(code, message, { details, trailers: { ...trailers, [refusalReasonTrailer]: reason } });
}

/** No reply came. Whether the command took effect is not known after `unavailable` and `deadline`; clients try again. */
export function askFailure(failure: AskFailure): StatusError {
  switch (failure.kind) {
    case 'unavailable':
    case 'notHere':
      return unavailable(failure.message);
    case 'deadline':
      return deadlineExceeded();
    case 'busy':
      return resourceExhausted(failure.message, exhaustedCause.systemOverloaded, exhaustedScope.system);
    case 'tooLarge':
      return invalidArgument(failure.message);
    case 'internal':
      return new StatusError(statusCode.internal, failure.message);
    case 'dataLoss':
      return new StatusError(statusCode.dataLoss, failure.message);
    default:
      return unreachable(failure);
  }
}
