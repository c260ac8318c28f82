import { type AskFailure, isAskFailure } from '../../actors/asks/asks.ts';
import type { ClusterRejection } from '../../cluster/cluster-commands.ts';
import type { JobsRejection } from '../../deadletters/jobs/job.ts';
import type { DeadLetterRejection } from '../../deadletters/letter-commands.ts';
import type { Rejection } from '../../history/run/history-replies.ts';
import { refusalReasonTrailer, type RefusalReason } from '../../kernel/refusal-reasons.ts';
import type { MatchingRejection } from '../../matching/matching-replies.ts';
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
import { failedPrecondition, invalidArgument, statusCode, StatusError } from './status-error.ts';

/** Why an actor refused, in the words of gRPC. The texts are the actors'; code and details are decided here, once, with a row for each reason. */
type Rows<Reason extends string> = { readonly [Each in Reason]: (message: string) => StatusError };

function byReason<Reason extends string>(rows: Rows<Reason>) {
  return ({ reason, message }: { readonly reason: Reason; readonly message: string }): StatusError => rows[reason](message);
}

const tooMany = (message: string) => resourceExhausted(message, exhaustedCause.concurrentLimit, exhaustedScope.namespace);
const overloaded = (message: string) => resourceExhausted(message, exhaustedCause.systemOverloaded, exhaustedScope.system);

const ofHistory: Rows<Exclude<Rejection['reason'], 'already-started' | 'query-failed'>> = {
  'workflow-not-found': notFound,
  'workflow-closed': notFound,
  'task-not-found': notFound,
  'activity-not-found': notFound,
  'update-not-found': notFound,
  'schedule-not-found': notFound,
  'invalid-argument': invalidArgument,
  'unhandled-command': invalidArgument,
  'bad-command': invalidArgument,
  'failed-precondition': failedPrecondition,
  'workflow-not-ready': workflowNotReady,
  'no-room': overloaded,
  'too-many-updates': tooMany,
  'busy-workflow': (message) => resourceExhausted(message, exhaustedCause.busyWorkflow, exhaustedScope.namespace),
  'query-timed-out': deadlineExceeded,
};

export function historyRejection(rejection: Rejection): StatusError {
  if (rejection.reason === 'already-started') return alreadyStarted(rejection.message, rejection);
  if (rejection.reason === 'query-failed') return queryFailed(rejection.message, rejection.failure);
  return ofHistory[rejection.reason](rejection.message);
}

export const matchingRejection = byReason<MatchingRejection['reason']>({
  'no-poller': failedPrecondition,
  'query-expired': deadlineExceeded,
  'query-not-found': notFound,
  'too-many-weights': invalidArgument,
  // No client asks for that.
  'tasks-left': tooMany,
  'configs-full': tooMany,
  'too-many-polls': tooMany,
  'too-many-queries': tooMany,
  'backlog-full': tooMany,
  'too-many-queues': tooMany,
});

const ofCluster: Rows<Exclude<ClusterRejection['reason'], 'namespace-exists' | 'namespace-not-found'>> = {
  'invalid-argument': invalidArgument,
  'failed-precondition': failedPrecondition,
  'resource-exhausted': (message) => resourceExhausted(message, exhaustedCause.persistenceLimit, exhaustedScope.namespace),
};

export function clusterRejection({ reason, message }: ClusterRejection, namespace: string): StatusError {
  if (reason === 'namespace-exists') return namespaceAlreadyExists(namespace);
  return reason === 'namespace-not-found' ? namespaceNotFound(namespace) : ofCluster[reason](message);
}

export const deadLetterRejection = byReason<DeadLetterRejection['reason']>({
  'invalid-argument': invalidArgument,
  'not-in-queue': notFound,
  overlap: failedPrecondition,
  'too-many-jobs': failedPrecondition,
  'not-claimed': failedPrecondition,
  'being-merged': failedPrecondition,
  'began-anew': failedPrecondition,
  'not-now': unavailable,
});

const exhaustedJobs = (message: string) => resourceExhausted(message, exhaustedCause.concurrentLimit, exhaustedScope.system);

export const jobsRejection = byReason<JobsRejection['reason']>({
  'invalid-argument': invalidArgument,
  'not-found': notFound,
  'failed-precondition': failedPrecondition,
  overlap: failedPrecondition,
  'plan-not-found': withReason('plan-not-found', notFound),
  'plan-expired': withReason('plan-expired', failedPrecondition),
  'too-many-stretches': withReason('too-many-stretches', exhaustedJobs),
  'too-many-jobs': withReason('too-many-jobs', exhaustedJobs),
});

function withReason(reason: RefusalReason, errorOf: (message: string) => StatusError): (message: string) => StatusError {
  return (text) => {
    const { code, message, details, trailers } = errorOf(text);
    return new StatusError(code, message, { details, trailers: { ...trailers, [refusalReasonTrailer]: reason } });
  };
}

/** No reply came. Whether the command took effect is not known after `unavailable` and `deadline`; clients try again. */
const ofAsks: Rows<AskFailure['kind']> = {
  unavailable,
  notHere: unavailable,
  deadline: () => deadlineExceeded(),
  busy: overloaded,
  tooLarge: invalidArgument,
  internal: (message) => new StatusError(statusCode.internal, message),
  dataLoss: (message) => new StatusError(statusCode.dataLoss, message),
};

type Refused<Why> = { readonly kind: 'rejected'; readonly rejection: Why };

export function settle<Reply extends { readonly kind: string }, Why>(
  answer: Reply | Refused<Why> | AskFailure,
  refusal: (rejection: Why) => StatusError,
  resolve: (reply: Reply) => void,
  reject: (error: StatusError) => void,
): void {
  if (isRefused<Why>(answer)) reject(refusal(answer.rejection));
  else if (isAskFailure(answer)) reject(ofAsks[answer.kind](answer.message));
  else resolve(answer);
}

function isRefused<Why>(answer: { readonly kind: string }): answer is Refused<Why> {
  return answer.kind === 'rejected';
}
