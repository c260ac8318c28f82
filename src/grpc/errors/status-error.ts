import { cutToUtf8Bytes } from '../../kernel/utf8.ts';
import { statusCode, type StatusCode } from './status-code.ts';

/** Names and ids that strangers sent stand in a text, which goes into trailers and into the log. */
const messageBytesMax = 4_000;

/** One entry of `google.rpc.Status.details`: the full message name and its encoded bytes. Clients look at the first entry only. */
export type ErrorDetail = { readonly type: string; readonly value: Uint8Array };

/**
 * How a call ends when it does not succeed: what the client gets, word for word. Whatever else a handler throws is a bug of ours and
 * reaches the client as INTERNAL with a fixed text.
 */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly code: StatusCode;
  readonly details: readonly ErrorDetail[];
  /** Further trailers, names in lower case. */
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

/** Also of an error that is none of ours, which has none. */
export function hasCode(error: unknown, code: StatusCode): boolean {
  return error instanceof StatusError && error.code === code;
}

export function invalidArgument(message: string): StatusError {
  return new StatusError(statusCode.invalidArgument, message);
}

/** A field or a feature that is not built is refused, never ignored. */
export function notBuilt(what: string): StatusError {
  return new StatusError(statusCode.unimplemented, `${what} is not supported by this server yet`);
}
