import { statusCode } from '../errors/status-code.ts';
import { StatusError } from '../errors/status-error.ts';
import { utf8Bytes } from '../../kernel/utf8.ts';
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
  let room = messageAndDetailsCharsMax;
  if (error.details.length > 0) {
    const details = error.details.map(({ type, value }) => ({ typeUrl: `type.googleapis.com/${type}`, value }));
    const status = Buffer.from(encodeStatus({ code: error.code, message, details })).toString('base64');
    if (status.length <= detailsCharsMax) {
      trailers['grpc-status-details-bin'] = status;
      room -= status.length;
    }
  }
  if (message !== '') trailers['grpc-message'] = percentEncoded(cutToEncoded(message, room));
  return trailers;
}

/** What a handler threw, made fit for strangers: only a StatusError carries text that was meant for the client. */
export function asStatusError(thrown: unknown): StatusError {
  if (thrown instanceof StatusError) return thrown;
  return new StatusError(statusCode.internal, 'internal server error', { cause: thrown });
}

/**
 * Clients give up on a block of trailers that is too large, and would lose the code with it: they take it for a broken connection, and ask again and
 * again. The SDKs that are built on Temporal's core take 16 KiB, names included. What details there is room for goes before the end of a text.
 */
const messageAndDetailsCharsMax = 15 * 1024;
const detailsCharsMax = 12 * 1024;

/** As many of its characters as fit once they are encoded. */
function cutToEncoded(message: string, charsMax: number): string {
  // Each of its bytes as %XX.
  if (message.length * 9 <= charsMax) return message;
  let encoded = 0;
  let end = 0;
  for (const character of message) {
    encoded += isPlain.test(character) ? 1 : 3 * utf8Bytes(character);
    if (encoded > charsMax) return `${message.slice(0, end)}...`;
    end += character.length;
  }
  return message;
}

const isPlain = /^[ -$&-~]$/;

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
