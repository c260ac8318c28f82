import {
  encodeClientVersionNotSupportedFailure,
  encodeNamespaceAlreadyExistsFailure,
  encodeNamespaceInvalidStateFailure,
  encodeNamespaceNotFoundFailure,
  encodeNotFoundFailure,
  encodePermissionDeniedFailure,
  encodeQueryFailedFailure,
  encodeResourceExhaustedFailure,
  encodeServerVersionNotSupportedFailure,
  encodeWorkflowExecutionAlreadyStartedFailure,
  encodeWorkflowNotReadyFailure,
} from '../../wire/generated/lean/error_details.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import { unreachable } from '../../kernel/assert.ts';
import { NamespaceState } from '../../wire/generated/lean/enums.ts';
import { shortenedFailure } from './shortened-failure.ts';
import { statusCode } from './status-code.ts';
import { StatusError } from './status-error.ts';

/** The errors whose details clients look at. Texts are compared by SDKs and test suites. */
const prefix = 'temporal.api.errordetails.v1.';
const nothing = new Uint8Array(0);

export function notFound(message: string): StatusError {
  return new StatusError(statusCode.notFound, message, { details: [{ type: `${prefix}NotFoundFailure`, value: notFoundDetail }] });
}
const notFoundDetail = encodeNotFoundFailure({ currentCluster: '', activeCluster: '' });

export function namespaceNotFound(namespace: string): StatusError {
  return new StatusError(statusCode.notFound, `Namespace ${namespace} is not found.`, {
    details: [{ type: `${prefix}NamespaceNotFoundFailure`, value: encodeNamespaceNotFoundFailure({ namespace }) }],
  });
}

/** It is there, and this cannot be done with it in its state. */
export function namespaceInvalidState(
  { name, state }: Pick<Namespace, 'name' | 'state'>,
  allowed: readonly Namespace['state'][],
): StatusError {
  const message = `Namespace has invalid state: ${stateNames[state]}. Must be ${allowed.map((each) => stateNames[each]).join(' or ')}.`;
  const failure = { namespace: name, state: namespaceState(state), allowedStates: allowed.map(namespaceState) };
  return new StatusError(statusCode.failedPrecondition, message, {
    details: [{ type: `${prefix}NamespaceInvalidStateFailure`, value: encodeNamespaceInvalidStateFailure(failure) }],
  });
}

/** In the texts of errors. */
const stateNames = { registered: 'Registered', deprecated: 'Deprecated', deleted: 'Deleted' } as const;

export function namespaceState(state: Namespace['state']): number {
  switch (state) {
    case 'registered':
      return NamespaceState.REGISTERED;
    case 'deprecated':
      return NamespaceState.DEPRECATED;
    case 'deleted':
      return NamespaceState.DELETED;
    default:
      return unreachable(state);
  }
}

export function namespaceAlreadyExists(namespace: string): StatusError {
  return new StatusError(statusCode.alreadyExists, `Namespace "${namespace}" already exists`, {
    details: [{ type: `${prefix}NamespaceAlreadyExistsFailure`, value: encodeNamespaceAlreadyExistsFailure({}) }],
  });
}

export function alreadyStarted(
  message: string,
  started: { readonly startRequestId: string; readonly runId: string; readonly firstExecutionRunId: string },
): StatusError {
  const { startRequestId, runId, firstExecutionRunId } = started;
  return new StatusError(statusCode.alreadyExists, message, {
    details: [
      {
        type: `${prefix}WorkflowExecutionAlreadyStartedFailure`,
        value: encodeWorkflowExecutionAlreadyStartedFailure({ startRequestId, runId, firstExecutionRunId }),
      },
    ],
  });
}

export function workflowNotReady(message: string): StatusError {
  return new StatusError(statusCode.failedPrecondition, message, {
    details: [{ type: `${prefix}WorkflowNotReadyFailure`, value: encodeWorkflowNotReadyFailure({}) }],
  });
}

export function queryFailed(message: string, failure: Uint8Array | undefined): StatusError {
  const value = failure === undefined ? nothing : encodeQueryFailedFailure({ failure: shortenedFailure(failure, queryFailureBytesMax) });
  return new StatusError(statusCode.invalidArgument, message, { details: [{ type: `${prefix}QueryFailedFailure`, value }] });
}
/** As base64 it takes two thirds of what clients accept, and leaves room for its message. */
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
  return new StatusError(statusCode.resourceExhausted, message, {
    details: [
      { type: `${prefix}ResourceExhaustedFailure`, value: encodeResourceExhaustedFailure({ cause: cause.value, scope: scope.value }) },
    ],
    trailers: { 'x-resource-exhausted-cause': cause.name, 'x-resource-exhausted-scope': scope.name },
  });
}

export function clientVersionNotSupported(
  message: string,
  detail: { readonly clientVersion: string; readonly clientName: string; readonly supportedVersions: string },
): StatusError {
  return new StatusError(statusCode.failedPrecondition, message, {
    details: [{ type: `${prefix}ClientVersionNotSupportedFailure`, value: encodeClientVersionNotSupportedFailure(detail) }],
  });
}

export function serverVersionNotSupported(
  message: string,
  detail: { readonly serverVersion: string; readonly clientSupportedServerVersions: string },
): StatusError {
  return new StatusError(statusCode.failedPrecondition, message, {
    details: [{ type: `${prefix}ServerVersionNotSupportedFailure`, value: encodeServerVersionNotSupportedFailure(detail) }],
  });
}

export function permissionDenied(message: string): StatusError {
  return new StatusError(statusCode.permissionDenied, message, {
    details: [{ type: `${prefix}PermissionDeniedFailure`, value: encodePermissionDeniedFailure({ reason: '' }) }],
  });
}

export function unavailable(message: string): StatusError {
  return new StatusError(statusCode.unavailable, message);
}

export function deadlineExceeded(message = 'context deadline exceeded'): StatusError {
  return new StatusError(statusCode.deadlineExceeded, message);
}

/** Whoever called has gone away. */
export function canceled(): StatusError {
  return new StatusError(statusCode.cancelled, 'context canceled');
}
