/** Where the next page begins. A token holds for one request: whoever changes it between two pages would get what belongs to neither. */
import { createHash } from 'node:crypto';
import type { DeadLetterPageToken } from '../../wire/generated/token/token.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';

export type PagePlace = Omit<DeadLetterPageToken, 'requestHash'>;

export const lastPage = new Uint8Array(0);
const firstPlace: PagePlace = { queue: 0, afterMessageId: -1, afterJobId: '', toMessageId: 0, tried: 0, failed: 0, firstFailure: '' };

const HASH_BYTES = 16;

/** The places of one request's pages; `request`: all of it but page size and token. */
export class LetterPages {
  readonly #context: HandlerContext;
  readonly #requestHash: Buffer;

  constructor(context: HandlerContext, method: string, request: object) {
    this.#context = context;
    const text = JSON.stringify([method, request]);
    this.#requestHash = createHash('sha256').update(text).digest().subarray(0, HASH_BYTES);
  }

  /** Throws INVALID_ARGUMENT for a token that is not ours, or of another request. */
  placeOf(nextPageToken: Uint8Array): PagePlace {
    if (nextPageToken.length === 0) return firstPlace;
    const { requestHash, ...place } = this.#context.tokens.readDeadLetterPage(nextPageToken);
    if (!this.#requestHash.equals(requestHash)) throw invalidArgument('NextPageToken was given for another request.');
    return place;
  }

  token(place: Partial<PagePlace>): Uint8Array {
    return this.#context.tokens.deadLetterPage({ ...firstPlace, ...place, requestHash: this.#requestHash });
  }
}
