import { statusCode } from '../errors/status-code.ts';
import { StatusError } from '../errors/status-error.ts';
import { encodeStatus } from '../../wire/generated/lean/error_details.ts';

/**
 * How a call ended, as HTTP/2 trailers:
 *
 *     grpc-status: 5
 *     grpc-message: Namespace x is not found.                  percent-encoded
 *     grpc-status-details-bin: <base64 google.rpc.Status>      only with details
 */
export function statusTrailers(error: StatusError): Record<string, string> {
  const trailers: Record<string, string> = { ...error.trailers, 'grpc-status': String(error.code) };
  const { message } = error;
  if (message !== '') trailers['grpc-message'] = percentEncoded(message);
  if (error.details.length > 0) {
    const details = error.details.map(({ type, value }) => ({ typeUrl: `type.googleapis.com/${type}`, value }));
    const status = Buffer.from(encodeStatus({ code: error.code, message, details })).toString('base64');
    // Clients give up on a block of trailers that is too large and would lose the code with it.
    if (status.length <= detailsCharsMax) trailers['grpc-status-details-bin'] = status;
  }
  return trailers;
}

/** What a handler threw, made fit for strangers: only a StatusError carries text that was meant for the client. */
export function asStatusError(thrown: unknown): StatusError {
  if (thrown instanceof StatusError) return thrown;
  return new StatusError(statusCode.internal, 'internal server error', { cause: thrown });
}

const detailsCharsMax = 12 * 1024;

/** Printable ASCII but `%` stands for itself; the rest is the UTF-8 bytes as %XX. HTTP/2 strips outer spaces, so those are encoded too. */
function percentEncoded(message: string): string {
  if (/^[ -$&-~]*$/.test(message) && !message.startsWith(' ') && !message.endsWith(' ')) return message;
  const bytes = Buffer.from(message);
  let encoded = '';
  for (const [at, byte] of bytes.entries()) {
    const outer = at === 0 || at === bytes.length - 1;
    const plain = byte > 0x20 ? byte <= 0x7e && byte !== 0x25 : byte === 0x20 && !outer;
    encoded += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}
