import { gunzip, gunzipSync, gzip, constants } from 'node:zlib';
import { promisify } from 'node:util';
import { statusCode } from '../errors/status-code.ts';
import { StatusError } from '../errors/status-error.ts';

const gunzipAsync = promisify(gunzip);
const gzipAsync = promisify(gzip);

/** Below this a thread hop costs more than the work. Output is capped, so a bomb costs no more than the message limit. */
const syncGunzipBytesMax = 4 * 1024;

/** Undoes the compression of one message, `encoding` as the client named it. Never gives more than `bytesMax`. */
export function decompressed(message: Uint8Array, encoding: string, bytesMax: number): Uint8Array | Promise<Uint8Array> {
  if (encoding === '' || encoding === 'identity') {
    throw new StatusError(statusCode.internal, 'grpc: compressed flag set with identity or empty encoding');
  }
  if (encoding !== 'gzip') {
    // Clients look for these words and send uncompressed from then on.
    throw new StatusError(statusCode.unimplemented, `grpc: Decompressor is not installed for grpc-encoding "${encoding}"`);
  }
  if (message.length > syncGunzipBytesMax) {
    return gunzipAsync(message, { maxOutputLength: bytesMax }).catch((error: unknown) => Promise.reject(gunzipFailure(error, bytesMax)));
  }
  try {
    return gunzipSync(message, { maxOutputLength: bytesMax });
  } catch (error) {
    throw gunzipFailure(error, bytesMax);
  }
}

export function compressed(message: Uint8Array): Promise<Uint8Array> {
  return gzipAsync(message, { level: constants.Z_BEST_SPEED });
}

function gunzipFailure(error: unknown, bytesMax: number): StatusError {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
    return new StatusError(statusCode.resourceExhausted, `grpc: received message after decompression larger than max ${bytesMax}`, {
      cause: error,
    });
  }
  return new StatusError(statusCode.internal, 'grpc: failed to decompress the received message', { cause: error });
}
