import { WireError, WireLimitError } from '../../wire/wire-error.ts';
import { requestLimits, type WireLimits } from '../../wire/wire-limits.ts';
import { statusCode } from '../errors/status-code.ts';
import { invalidArgument, StatusError } from '../errors/status-error.ts';

/**
 * A completed workflow task has as many commands as a history may have events: with one more, its run could not go on anyway. A command
 * is at most ten messages, for an activity with all its timeouts and a retry policy.
 */
export const completionLimits: WireLimits = { ...requestLimits, repeatedElementsMax: 51_200, nestedMessagesMax: 10 * 51_200 };

/** Workers look for these words: they fail such a workflow task for good, instead of sending the same again for ever. */
const tooLargePrefix = 'grpc: received message larger than max';

/** Decodes what a stranger sent; its mistakes are the caller's. */
export function decodedWithin<Message>(
  limits: WireLimits,
  decode: (bytes: Uint8Array, limits: WireLimits) => Message,
  bytes: Uint8Array,
): Message {
  try {
    return decode(bytes, limits);
  } catch (error) {
    if (error instanceof WireLimitError) throw new StatusError(statusCode.resourceExhausted, `${tooLargePrefix} (${error.message})`);
    if (error instanceof WireError) throw invalidArgument(`grpc: error unmarshalling request: ${error.message}`);
    throw error;
  }
}
