/** What one request may ask for, and where the next page of it begins. */
import { createHash } from 'node:crypto';
import type { DeadLetterPageToken } from '../../wire/generated/token/token.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';

export const letterLimits = {
  /** Letters of a page; more is lowered to it. */
  pageLettersMax: 1_000,
  /** Payloads and texts in a page. One letter is given, however large. */
  pageBytesMax: 3 * 1024 * 1024,
  pageQueuesMax: 1_000,
  /** Queues of other clusters' tasks: each is a topic, and has an owner of its own. */
  queuesOfOthersMax: 100,
  pageJobsMax: 100,
  pageEntriesMax: 1_000,
  groupsMax: 100,
  /** Letters of one request that puts some: as many as a queue takes at a time. */
  putLettersMax: 100,
  /** Between the last letter of a shard and those that are put: a queue whose topic was deleted has lost so many at most. A number beyond is a mistake. */
  missingLettersMax: 100_000,
  messageIdsMax: 10_000,
  missingTold: 10,
  jobWaitMsMax: 60_000,
} as const;

export type PagePlace = Omit<DeadLetterPageToken, 'requestHash'>;

export const lastPage = new Uint8Array(0);
const firstPlace: PagePlace = { queue: 0, afterMessageId: -1, afterJobId: '', toMessageId: 0, tried: 0, failed: 0, firstFailure: '' };

const HASH_BYTES = 16;

/** A token holds for one request (`request`: without page size and token): changed between two pages it would bring what belongs to neither. */
export class LetterPages {
  readonly #context: HandlerContext;
  readonly #requestHash: Buffer;

  constructor(context: HandlerContext, method: string, request: object) {
    this.#context = context;
    const text = JSON.stringify([method, request]);
    this.#requestHash = createHash('sha256').update(text).digest().subarray(0, HASH_BYTES);
  }

  placeOf(nextPageToken: Uint8Array): PagePlace {
    if (nextPageToken.length === 0) return firstPlace;
    const { requestHash, ...place } = this.#context.tokens.deadLetterPage.read(nextPageToken);
    if (!this.#requestHash.equals(requestHash)) throw invalidArgument('NextPageToken was given for another request.');
    return place;
  }

  token(place: Partial<PagePlace>): Uint8Array {
    return this.#context.tokens.deadLetterPage.sign({ ...firstPlace, ...place, requestHash: this.#requestHash });
  }
}
