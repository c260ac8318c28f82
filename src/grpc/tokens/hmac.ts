import { hash } from 'node:crypto';

/**
 * HMAC-SHA256 under one key (RFC 2104): hash(key ^ opad, hash(key ^ ipad, message)).
 *
 * Two hashes of one call each, over key pads that are made once. Node's `createHmac` makes an object of OpenSSL's for each message, and every
 * workflow needs six.
 */
export class HmacSha256 {
  /** The inner pad, and room behind it for a message. */
  readonly #inner = Buffer.alloc(blockBytes + roomBytes);
  /** The outer pad, and the inner hash behind it. */
  readonly #outer = Buffer.alloc(blockBytes + hmacBytes);

  constructor(key: Uint8Array) {
    const block = key.length > blockBytes ? hash('sha256', key, 'buffer') : key;
    for (let at = 0; at < blockBytes; at++) {
      const byte = block[at] ?? 0;
      this.#inner[at] = byte ^ 0x36;
      this.#outer[at] = byte ^ 0x5c;
    }
  }

  of(message: Uint8Array): Uint8Array {
    this.#outer.set(hash('sha256', this.#padded(message), 'buffer'), blockBytes);
    return hash('sha256', this.#outer, 'buffer');
  }

  #padded(message: Uint8Array): Uint8Array {
    if (message.length > roomBytes) return Buffer.concat([this.#inner.subarray(0, blockBytes), message]);
    this.#inner.set(message, blockBytes);
    return this.#inner.subarray(0, blockBytes + message.length);
  }
}

export const hmacBytes = 32;

/** Of SHA-256. */
const blockBytes = 64;
/** Tokens of usual ids have less. */
const roomBytes = 1024;
