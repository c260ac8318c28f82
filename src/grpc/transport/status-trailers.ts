import { statusCode, StatusError } from '../errors/status-error.ts';
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
  const { code, message } = error;
  const trailers: Record<string, string> = { ...error.trailers, 'grpc-status': String(code) };
  const room = blockBytesMax - sizeOf({ ...answerHeaders, ...trailers, 'grpc-message': '' }) - slackBytes;
  const detailed = error.details.length === 0 ? undefined : withDetails(error, room - sizeOf({ 'grpc-status-details-bin': '' }));
  const { text, status } = detailed ?? { text: cutTo(message, room, 0), status: '' };
  if (text !== '') trailers['grpc-message'] = percentEncoded(text);
  if (status !== '') trailers['grpc-status-details-bin'] = status;
  return trailers;
}

/** The text of an error, which stands in both trailers, and its details. undefined: these leave no room for a text that says something. */
function withDetails(
  { code, message, details }: StatusError,
  room: number,
): { readonly text: string; readonly status: string } | undefined {
  const typed = details.map(({ type, value }) => ({ typeUrl: `type.googleapis.com/${type}`, value }));
  const statusOf = (text: string): string => Buffer.from(encodeStatus({ code, message: text, details: typed })).toString('base64');
  const textRoom = room - statusOf('').length;
  const text = cutTo(message, textRoom, 4 / 3);
  return textRoom < 0 || (text !== message && textRoom < textBytesMin) ? undefined : { text, status: statusOf(text) };
}

/** What a handler threw, made fit for strangers: only a StatusError carries text that was meant for the client. */
export function asStatusError(thrown: unknown): StatusError {
  if (thrown instanceof StatusError) return thrown;
  return new StatusError(statusCode.internal, 'internal server error', { cause: thrown });
}

/**
 * Clients give up on a block of headers or trailers that is too large, and would lose the code with it: they take it for a broken connection, or for
 * RESOURCE_EXHAUSTED, and ask again and again. gRPC's C core, and so Python, Ruby and C#, takes 8 KiB of names, values and 32 bytes for each; some
 * of it is left to proxies, which add their own.
 */
const blockBytesMax = 7.5 * 1024;
/** Whoever gets less of a text is better off without the details. */
const textBytesMin = 512;
/** Padding of base64, the dots behind a text that was cut, spaces around it. */
const slackBytes = 32;

/** What stands in one block with a status that comes without an answer. */
export const answerHeaders = { ':status': 200, 'content-type': 'application/grpc' } as const;

function sizeOf(headers: Readonly<Record<string, string | number>>): number {
  return Object.entries(headers).reduce((bytes, [name, value]) => bytes + name.length + String(value).length + 32, 0);
}

/** As many characters of a message as fit once they are encoded; `costPerByte`: what each byte costs for standing elsewhere too. */
function cutTo(message: string, room: number, costPerByte: number): string {
  // Each of its bytes as %XX.
  if (message.length * (9 + 3 * costPerByte) <= room) return message;
  let cost = 0;
  let end = 0;
  for (const character of message) {
    const bytes = utf8Bytes(character);
    cost += (isPlain.test(character) ? 1 : 3 * bytes) + costPerByte * bytes;
    if (cost > room) return `${message.slice(0, end)}...`;
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
