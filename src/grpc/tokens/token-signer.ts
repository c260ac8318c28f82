import { hash, timingSafeEqual } from 'node:crypto';

/**
 * Tokens come back from strangers: nothing in a token is believed, and no state is read for it, before its signature is verified.
 *
 *     ┌──────┬─────────────────────┬──────────────────────────────┐
 *     │ kind │ protobuf            │ HMAC-SHA256(kind + protobuf) │
 *     │ 1    │ …                   │ 32                           │
 *     └──────┴─────────────────────┴──────────────────────────────┘
 *
 * Kind and namespace id are under the signature, so that a token of one use or of one namespace is worth nothing in another. Tokens do
 * not expire: an activity may take days. Whether the task still stands is for its shard to say.
 */
export const tokenKind = {
  workflowTask: 1,
  activityTask: 2,
  queryTask: 3,
  historyPage: 4,
  namespacePage: 5,
  visibilityPage: 6,
  deadLetterPage: 7,
  shardTaskPage: 8,
  workerPage: 9,
} as const;
export type TokenKind = (typeof tokenKind)[keyof typeof tokenKind];

const macBytes = 32;
/** A block that SHA-256 hashes at a time. */
const blockBytes = 64;
/** What is signed of a token with usual ids is shorter. */
const roomBytes = 1024;

export class TokenSigner {
  readonly #key: () => Uint8Array;
  #keyBytes: Uint8Array | undefined;
  #hmac: HmacSha256 | undefined;
  /** Under the current key. */
  readonly #issued = new IssuedTokens();

  constructor(key: () => Uint8Array) {
    this.#key = key;
  }

  sign(kind: TokenKind, body: Uint8Array): Uint8Array {
    // A slice of Node's pool: it goes into an answer, and nothing keeps it.
    const token = Buffer.allocUnsafe(1 + body.length + macBytes);
    const macAt = token.length - macBytes;
    token[0] = kind;
    token.set(body, 1);
    token.set(this.#currentHmac().of(token.subarray(0, macAt)), macAt);
    this.#issued.add(token, macAt);
    return token;
  }

  /** The body of a token that this cluster signed for this use; undefined for anything else. */
  verify(kind: TokenKind, token: Uint8Array): Uint8Array | undefined {
    if (token.length <= macBytes || token[0] !== kind) return undefined;
    const macAt = token.length - macBytes;
    const signed = token.subarray(0, macAt);
    const hmac = this.#currentHmac();
    if (!this.#issued.has(token, macAt) && !timingSafeEqual(hmac.of(signed), token.subarray(macAt))) return undefined;
    return signed.subarray(1);
  }

  #currentHmac(): HmacSha256 {
    const bytes = this.#key();
    if (this.#hmac === undefined || bytes !== this.#keyBytes) {
      this.#keyBytes = bytes;
      this.#hmac = new HmacSha256(bytes);
      this.#issued.clear();
    }
    return this.#hmac;
  }
}

/**
 * The tokens that were signed last. Nearly every task's comes back within moments, to the process that signed it: it is known again by all of its
 * bytes, which costs a tenth of another signature.
 *
 *     place   …  17  │  18  │  19  …      a token's place is the first bytes of its signature; a later one there takes it over
 */
class IssuedTokens {
  readonly #bytes = Buffer.alloc(places * placeBytes);
  /** 0 = nothing stands there. */
  readonly #lengths = new Uint16Array(places);

  add(token: Uint8Array, signatureAt: number): void {
    if (token.length > placeBytes) return;
    const place = placeOf(token, signatureAt);
    this.#lengths[place] = token.length;
    this.#bytes.set(token, place * placeBytes);
  }

  has(token: Uint8Array, signatureAt: number): boolean {
    const place = placeOf(token, signatureAt);
    if (this.#lengths[place] !== token.length) return false;
    const start = place * placeBytes;
    return timingSafeEqual(this.#bytes.subarray(start, start + token.length), token);
  }

  clear(): void {
    this.#lengths.fill(0);
  }
}

/** A power of two, and as many as a process has tasks with workers at a time, more or less. */
const places = 4096;
/** What is longer, for its workflow id is, is signed once more. */
const placeBytes = 256;

function placeOf(token: Uint8Array, signatureAt: number): number {
  return ((token[signatureAt] as number) | ((token[signatureAt + 1] as number) << 8)) & (places - 1);
}

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
  readonly #outer = Buffer.alloc(blockBytes + macBytes);

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
