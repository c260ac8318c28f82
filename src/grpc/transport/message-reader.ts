import { statusCode, StatusError } from '../errors/status-error.ts';

/**
 * One request message out of the DATA of a stream:
 *
 *     ┌──────┬───────────┬─────────────┐
 *     │ flag │ length BE │ message     │     flag 1 = compressed
 *     │ 1    │ 4         │ length      │
 *     └──────┴───────────┴─────────────┘
 *
 * The length is judged before anything is kept. Nearly always the first chunk is the whole message, and then nothing is copied. What
 * comes in pieces is copied together at once: a view of one byte takes a hundred, and keeps the network's buffer of 64 KiB alive.
 */
export class MessageReader {
  readonly #bytesMax: number;
  /** Room for at least what was received, and at most twice as much. */
  #buffer: Buffer = noBytes;
  #received = 0;
  /** Size of the whole frame; 0 until its header has arrived. */
  #frameBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(chunk: Buffer): void {
    const received = this.#received + chunk.length;
    if (this.#received === 0) this.#buffer = chunk;
    else this.#append(chunk, received);
    this.#received = received;
    if (this.#frameBytes === 0 && received >= headerBytes) this.#measure();
    if (this.#frameBytes !== 0 && received > this.#frameBytes) {
      throw new StatusError(statusCode.unimplemented, 'grpc: a unary request holds one message, more were received');
    }
    if (this.#buffer === chunk && received !== this.#frameBytes) this.#buffer = Buffer.from(chunk);
  }

  finish(): { readonly compressed: boolean; readonly message: Uint8Array } {
    if (this.#received === 0) throw new StatusError(statusCode.internal, 'grpc: a unary request holds one message, none was received');
    if (this.#frameBytes === 0 || this.#received < this.#frameBytes) {
      throw new StatusError(statusCode.internal, 'grpc: the request ended before its message was complete');
    }
    const frame = this.#buffer;
    this.#buffer = noBytes;
    return { compressed: frame[0] !== 0, message: frame.subarray(headerBytes, this.#frameBytes) };
  }

  #measure(): void {
    const flag = this.#buffer[0];
    if (flag !== 0 && flag !== 1) throw new StatusError(statusCode.internal, `grpc: received unexpected payload format ${flag}`);
    const length = this.#buffer.readUInt32BE(1);
    if (length > this.#bytesMax) {
      throw new StatusError(statusCode.resourceExhausted, `grpc: received message larger than max (${length} vs. ${this.#bytesMax})`);
    }
    this.#frameBytes = length + headerBytes;
  }

  #append(chunk: Buffer, received: number): void {
    if (received > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(received, Math.min(2 * received, this.#frameBytes)));
      this.#buffer.copy(grown, 0, 0, this.#received);
      this.#buffer = grown;
    }
    chunk.copy(this.#buffer, this.#received);
  }
}

const headerBytes = 5;
const noBytes = Buffer.alloc(0);
