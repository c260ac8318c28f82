import { gunzip, gunzipSync, gzip, constants } from 'node:zlib';
import { promisify } from 'node:util';
import { statusCode } from '../errors/status-code.ts';
import { StatusError } from '../errors/status-error.ts';

const gunzipAsync = promisify(gunzip);
const gzipAsync = promisify(gzip);

/** Below this a thread hop costs more than the work: of what comes in, and of what it becomes. Four KiB may stand for four MiB. */
const syncGunzipBytesMax = 4 * 1024;
const syncOutputBytesMax = 64 * 1024;
/** At the same time. What waits is small; what is being decompressed may take as much as the message limit. */
const gunzipsMax = 8;

/** Undoes the compression of one message, `encoding` as the client named it. Never gives more than `bytesMax`. */
export function decompressed(message: Uint8Array, encoding: string, bytesMax: number): Uint8Array | Promise<Uint8Array> {
  if (encoding === '' || encoding === 'identity') {
    throw new StatusError(statusCode.internal, 'grpc: compressed flag set with identity or empty encoding');
  }
  if (encoding !== 'gzip') {
    // Clients look for these words and send uncompressed from then on.
    throw new StatusError(statusCode.unimplemented, `grpc: Decompressor is not installed for grpc-encoding "${encoding}"`);
  }
  if (message.length > syncGunzipBytesMax) return inTurn(message, bytesMax);
  const outputBytesMax = Math.min(bytesMax, syncOutputBytesMax);
  try {
    return gunzipSync(message, { maxOutputLength: outputBytesMax });
  } catch (error) {
    if (outputBytesMax < bytesMax && isTooLarge(error)) return inTurn(message, bytesMax);
    throw gunzipFailure(error, bytesMax);
  }
}

let gunzips = 0;
const waiting: (() => void)[] = [];

async function inTurn(message: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  if (gunzips === gunzipsMax) await new Promise<void>((resolve) => waiting.push(resolve));
  else gunzips++;
  try {
    return await gunzipAsync(message, { maxOutputLength: bytesMax });
  } catch (error) {
    throw gunzipFailure(error, bytesMax);
  } finally {
    // The place passes on to whoever waits next.
    const next = waiting.shift();
    if (next === undefined) gunzips--;
    else next();
  }
}

export function compressed(message: Uint8Array): Promise<Uint8Array> {
  return gzipAsync(message, { level: constants.Z_BEST_SPEED });
}

function gunzipFailure(error: unknown, bytesMax: number): StatusError {
  if (isTooLarge(error)) {
    return new StatusError(statusCode.resourceExhausted, `grpc: received message after decompression larger than max ${bytesMax}`, {
      cause: error,
    });
  }
  return new StatusError(statusCode.internal, 'grpc: failed to decompress the received message', { cause: error });
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}
