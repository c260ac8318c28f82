/**
 * What the answer to a completion callback means, as the Nexus specification has it.
 *
 *     2xx ─▶ delivered
 *     3xx ─▶ refused: a redirect is never followed
 *     a handler error, said in JSON or by the status ─▶ refused or failed, by its type; it may say itself whether to try again
 *     any other status ─▶ failed
 */

export type Answer = {
  readonly status: number;
  readonly contentType: string;
  /** `Nexus-Request-Retryable` */
  readonly retryable: string;
  /** The beginning of the body. */
  readonly body: string;
};

/** `refused`: no further attempt is made. `failed`: the next one may succeed. `full`: nothing was sent, for this machine has nothing to send it with. */
export type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'refused' | 'failed' | 'full'; readonly errorType: string; readonly message: string };

type HandlerErrorKind = { readonly status: number; readonly type: string; readonly isRetryable: boolean };

const handlerErrors: readonly HandlerErrorKind[] = [
  { status: 400, type: 'BAD_REQUEST', isRetryable: false },
  { status: 401, type: 'UNAUTHENTICATED', isRetryable: false },
  { status: 403, type: 'UNAUTHORIZED', isRetryable: false },
  { status: 404, type: 'NOT_FOUND', isRetryable: false },
  { status: 408, type: 'REQUEST_TIMEOUT', isRetryable: true },
  { status: 409, type: 'CONFLICT', isRetryable: false },
  { status: 429, type: 'RESOURCE_EXHAUSTED', isRetryable: true },
  { status: 500, type: 'INTERNAL', isRetryable: true },
  { status: 501, type: 'NOT_IMPLEMENTED', isRetryable: false },
  { status: 503, type: 'UNAVAILABLE', isRetryable: true },
  { status: 520, type: 'UPSTREAM_TIMEOUT', isRetryable: true },
];

/** What the status alone says; undefined: it takes the body to tell. */
export function outcomeOfStatus(status: number): DeliveryOutcome | undefined {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status < 300 || status >= 400) return undefined;
  return { kind: 'refused', errorType: 'Redirect', message: `redirects are not followed: status ${status}` };
}

export function outcomeOf(answer: Answer): DeliveryOutcome {
  const { status } = answer;
  const said = outcomeOfStatus(status);
  if (said !== undefined) return said;
  const failure = failureIn(answer);
  if (failure?.handlerError !== undefined) {
    const { type, retryable } = failure.handlerError;
    return handlerError(type, failure.message, retryable);
  }
  const known = handlerErrors.find((each) => each.status === status);
  if (known !== undefined) return handlerError(known.type, failure?.message ?? '', saidRetryable(answer.retryable));
  const message = `unexpected response status: ${status}`;
  return { kind: 'failed', errorType: 'UnexpectedResponse', message: failure === undefined ? message : `${message}: ${failure.message}` };
}

function handlerError(type: string, said: string, retryable: boolean | undefined): DeliveryOutcome {
  const known = handlerErrors.find((each) => each.type === type);
  const goesOn = retryable ?? known?.isRetryable !== false;
  const message = `handler error (${type})${said === '' ? '' : `: ${said}`}`;
  // Metrics count by it: what else somebody calls an error stands in the message.
  const errorType = known !== undefined ? `HandlerError ${type}` : 'HandlerError';
  return { kind: goesOn ? 'failed' : 'refused', errorType, message };
}

function saidRetryable(header: string): boolean | undefined {
  const said = header.toLowerCase();
  return said === 'true' || said === 'false' ? said === 'true' : undefined;
}

type SaidFailure = {
  readonly message: string;
  readonly handlerError: { readonly type: string; readonly retryable: boolean | undefined } | undefined;
};

/** A Nexus Failure. undefined: the body is none. */
function failureIn({ contentType, body }: Answer): SaidFailure | undefined {
  if (!/^application\/json\s*(;|$)/i.test(contentType.trim())) return undefined;
  const failure = fieldsOf(parsed(body));
  if (failure === undefined) return undefined;
  const message = textOf(failure['message']);
  if (fieldsOf(failure['metadata'])?.['type'] !== 'nexus.HandlerError') return { message, handlerError: undefined };
  const details = fieldsOf(failure['details']) ?? {};
  const { retryableOverride } = details;
  const type = textOf(details['type']).slice(0, 100) || 'INTERNAL';
  const retryable = typeof retryableOverride === 'boolean' ? retryableOverride : undefined;
  return { message: message || textOf(fieldsOf(failure['cause'])?.['message']), handlerError: { type, retryable } };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}

const MESSAGE_CHARS_MAX = 1_000;

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MESSAGE_CHARS_MAX) : '';
}
