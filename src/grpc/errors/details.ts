import * as failures from '../../wire/generated/lean/error_details.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import { NamespaceState } from '../../wire/generated/lean/enums.ts';
import { shortenedFailure } from './shortened-failure.ts';
import { statusCode, type StatusCode, StatusError } from './status-error.ts';

/** The errors whose details clients look at. Texts are compared by SDKs and test suites. `detail`: its message, without `Failure`. */
function withDetail(
  code: StatusCode,
  message: string,
  detail: string,
  value: Uint8Array,
  trailers: Readonly<Record<string, string>> = {},
): StatusError {
  return new StatusError(code, message, { details: [{ type: `temporal.api.errordetails.v1.${detail}Failure`, value }], trailers });
}

const nothing = new Uint8Array(0);

export function notFound(message: string): StatusError {
  return withDetail(statusCode.notFound, message, 'NotFound', notFoundDetail);
}
const notFoundDetail = failures.encodeNotFoundFailure({ currentCluster: '', activeCluster: '' });

export function namespaceNotFound(namespace: string): StatusError {
  const value = failures.encodeNamespaceNotFoundFailure({ namespace });
  return withDetail(statusCode.notFound, `Namespace ${namespace} is not found.`, 'NamespaceNotFound', value);
}

/** The namespace is there, and this cannot be done with it in its state. */
export function namespaceInvalidState(
  { name, state }: Pick<Namespace, 'name' | 'state'>,
  allowed: readonly Namespace['state'][],
): StatusError {
  const message = `Namespace has invalid state: ${stateNames[state]}. Must be ${allowed.map((each) => stateNames[each]).join(' or ')}.`;
  const failure = { namespace: name, state: namespaceState(state), allowedStates: allowed.map(namespaceState) };
  return withDetail(statusCode.failedPrecondition, message, 'NamespaceInvalidState', failures.encodeNamespaceInvalidStateFailure(failure));
}

const stateNames = { registered: 'Registered', deprecated: 'Deprecated', deleted: 'Deleted' } as const;

const states = {
  registered: NamespaceState.REGISTERED,
  deprecated: NamespaceState.DEPRECATED,
  deleted: NamespaceState.DELETED,
} as const satisfies { readonly [state in Namespace['state']]: number };

export function namespaceState(state: Namespace['state']): number {
  return states[state];
}

export function namespaceAlreadyExists(namespace: string): StatusError {
  const message = `Namespace "${namespace}" already exists`;
  return withDetail(statusCode.alreadyExists, message, 'NamespaceAlreadyExists', failures.encodeNamespaceAlreadyExistsFailure({}));
}

export function alreadyStarted(
  message: string,
  started: Parameters<typeof failures.encodeWorkflowExecutionAlreadyStartedFailure>[0],
): StatusError {
  const value = failures.encodeWorkflowExecutionAlreadyStartedFailure(started);
  return withDetail(statusCode.alreadyExists, message, 'WorkflowExecutionAlreadyStarted', value);
}

export function workflowNotReady(message: string): StatusError {
  return withDetail(statusCode.failedPrecondition, message, 'WorkflowNotReady', failures.encodeWorkflowNotReadyFailure({}));
}

export function queryFailed(message: string, failure: Uint8Array | undefined): StatusError {
  const value =
    failure === undefined ? nothing : failures.encodeQueryFailedFailure({ failure: shortenedFailure(failure, queryFailureBytesMax) });
  return withDetail(statusCode.invalidArgument, message, 'QueryFailed', value);
}
/** A failure of this size takes as base64 two thirds of what clients accept, and leaves room for its message. */
const queryFailureBytesMax = 4 * 1024;

/** Values of `ResourceExhaustedCause` and `ResourceExhaustedScope`, with the names that clients find in the trailers. */
export type ExhaustedCause = { readonly value: number; readonly name: string };
export const exhaustedCause = {
  rpsLimit: { value: 1, name: 'RpsLimit' },
  concurrentLimit: { value: 2, name: 'ConcurrentLimit' },
  systemOverloaded: { value: 3, name: 'SystemOverloaded' },
  persistenceLimit: { value: 4, name: 'PersistenceLimit' },
  busyWorkflow: { value: 5, name: 'BusyWorkflow' },
} as const satisfies Readonly<Record<string, ExhaustedCause>>;
export const exhaustedScope = { namespace: { value: 1, name: 'Namespace' }, system: { value: 2, name: 'System' } } as const;

export function resourceExhausted(message: string, cause: ExhaustedCause, scope: ExhaustedCause): StatusError {
  const value = failures.encodeResourceExhaustedFailure({ cause: cause.value, scope: scope.value });
  const trailers = { 'x-resource-exhausted-cause': cause.name, 'x-resource-exhausted-scope': scope.name };
  return withDetail(statusCode.resourceExhausted, message, 'ResourceExhausted', value, trailers);
}

export function clientVersionNotSupported(
  message: string,
  detail: Parameters<typeof failures.encodeClientVersionNotSupportedFailure>[0],
): StatusError {
  const value = failures.encodeClientVersionNotSupportedFailure(detail);
  return withDetail(statusCode.failedPrecondition, message, 'ClientVersionNotSupported', value);
}

export function serverVersionNotSupported(
  message: string,
  detail: Parameters<typeof failures.encodeServerVersionNotSupportedFailure>[0],
): StatusError {
  const value = failures.encodeServerVersionNotSupportedFailure(detail);
  return withDetail(statusCode.failedPrecondition, message, 'ServerVersionNotSupported', value);
}

export function permissionDenied(message: string): StatusError {
  return withDetail(statusCode.permissionDenied, message, 'PermissionDenied', failures.encodePermissionDeniedFailure({ reason: '' }));
}

export function unavailable(message: string): StatusError {
  return new StatusError(statusCode.unavailable, message);
}

export function deadlineExceeded(message = 'context deadline exceeded'): StatusError {
  return new StatusError(statusCode.deadlineExceeded, message);
}

export function canceled(): StatusError {
  return new StatusError(statusCode.cancelled, 'context canceled');
}
