import { cutToUtf8Bytes } from '../../kernel/utf8.ts';

export const statusCode = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

export type StatusCode = (typeof statusCode)[keyof typeof statusCode];

/** Names and ids that strangers sent stand in a text, which goes into trailers and into the log. */
const messageBytesMax = 4_000;

/** One entry of `google.rpc.Status.details`: the full message name and its encoded bytes. Clients look at the first entry only. */
export type ErrorDetail = { readonly type: string; readonly value: Uint8Array };

/** What the client gets, word for word. Whatever else a handler throws is a bug of ours, and INTERNAL with a fixed text. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly code: StatusCode;
  readonly details: readonly ErrorDetail[];
  readonly trailers: Readonly<Record<string, string>>;

  constructor(
    code: StatusCode,
    message: string,
    options: {
      readonly details?: readonly ErrorDetail[];
      readonly trailers?: Readonly<Record<string, string>>;
      readonly cause?: unknown;
    } = {},
  ) {
    const cut = cutToUtf8Bytes(message, messageBytesMax);
    super(cut === message ? message : `${cut}...`, { cause: options.cause });
    this.code = code;
    this.details = options.details ?? [];
    this.trailers = options.trailers ?? {};
  }
}

/** False of an error that is none of ours: it has no code. */
export function hasCode(error: unknown, code: StatusCode): error is StatusError {
  return error instanceof StatusError && error.code === code;
}

/** For a catch: gives undefined for NOT_FOUND, and throws any other error on. */
export function unlessNotFound(error: unknown): undefined {
  if (hasCode(error, statusCode.notFound)) return undefined;
  throw error;
}

export function invalidArgument(message: string): StatusError {
  return new StatusError(statusCode.invalidArgument, message);
}

export function failedPrecondition(message: string): StatusError {
  return new StatusError(statusCode.failedPrecondition, message);
}

/** A field or a feature that is not built is refused, never ignored. */
export function notBuilt(what: string): StatusError {
  return new StatusError(statusCode.unimplemented, `${what} is not supported by this server yet`);
}
