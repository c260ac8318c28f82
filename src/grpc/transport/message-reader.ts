import { statusCode } from '../errors/status-code.ts';
import { StatusError } from '../errors/status-error.ts';

/**
 * One request message out of the DATA of a stream:
 *
 *     ┌──────┬───────────┬─────────────┐
 *     │ flag │ length BE │ message     │     flag 1 = compressed
 *     │ 1    │ 4         │ length      │
 *     └──────┴───────────┴─────────────┘
 *
 * The length is judged before anything is kept, and room is taken only for what has arrived. Nearly always the first chunk is the
 * whole message, and then nothing is copied.
 */
export class MessageReader {
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #received = 0;
  /** Of the whole frame; 0 until its header is here. */
  #frameBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    if (this.#frameBytes === 0 && this.#received >= 5) this.#measure();
    if (this.#frameBytes !== 0 && this.#received > this.#frameBytes) {
      throw new StatusError(statusCode.unimplemented, 'grpc: a unary request holds one message, more were received');
    }
  }

  /** At the end of the stream. */
  finish(): { readonly compressed: boolean; readonly message: Uint8Array } {
    if (this.#received === 0) throw new StatusError(statusCode.internal, 'grpc: a unary request holds one message, none was received');
    if (this.#frameBytes === 0 || this.#received < this.#frameBytes) {
      throw new StatusError(statusCode.internal, 'grpc: the request ended before its message was complete');
    }
    const frame = this.#whole();
    this.#chunks = [];
    return { compressed: frame[0] !== 0, message: frame.subarray(5) };
  }

  #measure(): void {
    const head = this.#whole();
    const flag = head[0];
    if (flag !== 0 && flag !== 1) throw new StatusError(statusCode.internal, `grpc: received unexpected payload format ${flag}`);
    const length = head.readUInt32BE(1);
    if (length > this.#bytesMax) {
      throw new StatusError(statusCode.resourceExhausted, `grpc: received message larger than max (${length} vs. ${this.#bytesMax})`);
    }
    this.#frameBytes = length + 5;
  }

  #whole(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks, this.#received)];
    return this.#chunks[0] as Buffer;
  }
}
