import { timingSafeEqual } from 'node:crypto';
import { hmacBytes as macBytes, HmacSha256 } from './hmac.ts';
import { IssuedTokens } from './issued-tokens.ts';

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
