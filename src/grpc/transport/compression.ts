import { gunzip, gunzipSync, gzip, constants } from 'node:zlib';
import { promisify } from 'node:util';
import { FairLines } from '../../kernel/fair-lines.ts';
import { canceled } from '../errors/details.ts';
import { errorCode } from '../../kernel/error-text.ts';
import { statusCode, StatusError } from '../errors/status-error.ts';

const gunzipAsync = promisify(gunzip);
const gzipAsync = promisify(gzip);

/** Below this a thread hop costs more than the work: of what comes in, and of what it becomes. Four KiB may stand for four MiB. */
const syncGunzipBytesMax = 4 * 1024;
const syncOutputBytesMax = 64 * 1024;
/** Decompressions at the same time. What waits is small; what is being decompressed may take as much as the message limit. */
const gunzipsMax = 8;

/** Never gives more than `bytesMax`. `encoding`: as the client named it. `asker`: has it ended when its turn comes, the work is not done. */
export function decompressed(message: Uint8Array, encoding: string, bytesMax: number, asker: Asker): Uint8Array | Promise<Uint8Array> {
  if (encoding === '' || encoding === 'identity') {
    throw new StatusError(statusCode.internal, 'grpc: compressed flag set with identity or empty encoding');
  }
  if (encoding !== 'gzip') {
    // Clients look for these words and send uncompressed from then on.
    throw new StatusError(statusCode.unimplemented, `grpc: Decompressor is not installed for grpc-encoding "${encoding}"`);
  }
  if (message.length > syncGunzipBytesMax) return inTurn(message, bytesMax, asker);
  const outputBytesMax = Math.min(bytesMax, syncOutputBytesMax);
  try {
    return gunzipSync(message, { maxOutputLength: outputBytesMax });
  } catch (error) {
    if (outputBytesMax < bytesMax && isTooLarge(error)) return inTurn(message, bytesMax, asker);
    throw gunzipFailure(error, bytesMax);
  }
}

/** Connections take turns: one that sends a thousand messages delays the others by one message at a time. */
export type Asker = { readonly connection: object; readonly ended: boolean };

let gunzips = 0;
const waiting = new FairLines<() => void, object>();

async function inTurn(message: Uint8Array, bytesMax: number, asker: Asker): Promise<Uint8Array> {
  if (gunzips === gunzipsMax) await new Promise<void>((begin) => waiting.push(asker.connection, begin));
  else gunzips++;
  try {
    if (asker.ended) throw canceled();
    return await gunzipAsync(message, { maxOutputLength: bytesMax });
  } catch (error) {
    throw error instanceof StatusError ? error : gunzipFailure(error, bytesMax);
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
    const message = `grpc: received message after decompression larger than max ${bytesMax}`;
    return new StatusError(statusCode.resourceExhausted, message, { cause: error });
  }
  return new StatusError(statusCode.internal, 'grpc: failed to decompress the received message', { cause: error });
}

function isTooLarge(error: unknown): boolean {
  return errorCode(error) === 'ERR_BUFFER_TOO_LARGE';
}
