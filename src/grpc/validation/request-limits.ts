import { Reader } from '../../wire/reader.ts';
import { WireError, WireLimitError } from '../../wire/wire-error.ts';
import { requestLimits, type WireLimits } from '../../wire/wire-limits.ts';
import { invalidArgument, statusCode, StatusError } from '../errors/status-error.ts';

/** As many commands as a history may have events: with one more, the run could not go on. One is at most ten messages. */
export const completionLimits: WireLimits = { ...requestLimits, repeatedElementsMax: 51_200, nestedMessagesMax: 10 * 51_200 };

/** Workers look for these words: they fail such a workflow task for good, instead of sending the same again for ever. */
const tooLargePrefix = 'grpc: received message larger than max';

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

/** A task token is field 1 of every request that has one. */
const taskTokenTag = (1 << 3) | 2;
/** Encoders write fields in the order of their numbers. More of them before the token come from nobody who has one. */
const fieldsBeforeMax = 64;

export function taskTokenOf(request: Uint8Array, limits: WireLimits): Uint8Array {
  const reader = new Reader(request, limits);
  for (let fields = 0; reader.pos < reader.end && fields < fieldsBeforeMax; fields++) {
    const tag = reader.tag();
    if (tag === taskTokenTag) return reader.bytesInPlace();
    reader.skip(tag);
  }
  return noToken;
}

const noToken: Uint8Array = new Uint8Array(0);
