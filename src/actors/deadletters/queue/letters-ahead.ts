/**
 * Letters as their merges need them, read a page at a time: jobs ask for them in the order of their ids.
 *
 *     read 5 ─▶ 5 6 7 8 from rows and topic ─▶ 5    read 6, 7, 8 ─▶ at once    read 9 ─▶ a larger page
 *
 * What a record changes meanwhile is read again.
 */
import type { DeadLetterRecord } from '../../../deadletters/records.ts';
import type { DeadLetterRejected, LetterRead, ListedLetter } from '../../../deadletters/replies.ts';
import type { CommitSubscriber } from '../../partition/partition-core.ts';
import { contentBytes } from './letter-contents.ts';
import type { QueueIndex } from './queue-index.ts';

const PAGE_LETTERS_MAX = 256;
/** Of what is read and not asked for yet; the first read go first. */
const AHEAD_LETTERS_MAX = 1_024;
const AHEAD_BYTES_MAX = 8 * 1024 * 1024;

export class LettersAhead implements CommitSubscriber<DeadLetterRecord> {
  readonly #index: Pick<QueueIndex, 'letter' | 'lettersFrom'>;
  /** By their ids, in the order in which they were read. */
  readonly #ahead = new Map<number, ListedLetter>();
  #aheadBytes = 0;
  /** Since the last page: where few of a page are asked for, the next one is smaller. */
  #hits = 0;
  /** Changed while a page is read. */
  readonly #changed = new Set<number>();
  #underWay = 0;

  constructor(index: Pick<QueueIndex, 'letter' | 'lettersFrom'>) {
    this.#index = index;
  }

  /** Rejects as the index does. */
  async read(messageId: number): Promise<LetterRead | DeadLetterRejected> {
    const found = this.#taken(messageId) ?? (await this.#paged(messageId));
    return found === undefined ? await this.#index.letter(messageId) : { kind: 'letter', letter: found };
  }

  committed(record: DeadLetterRecord): void {
    if (!('messageId' in record)) return;
    this.#forget(record.messageId);
    if (this.#underWay > 0) this.#changed.add(record.messageId);
  }

  #taken(messageId: number): ListedLetter | undefined {
    const found = this.#ahead.get(messageId);
    this.#forget(messageId);
    if (found !== undefined) this.#hits += 1;
    return found;
  }

  async #paged(messageId: number): Promise<ListedLetter | undefined> {
    const max = Math.min(PAGE_LETTERS_MAX, 2 * (this.#hits + 1));
    this.#hits = 0;
    this.#underWay += 1;
    try {
      const page = await this.#index.lettersFrom(messageId, max);
      for (const letter of page) if (!this.#changed.has(letter.row.messageId)) this.#keep(letter);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#changed.clear();
    }
    return this.#taken(messageId);
  }

  #keep(letter: ListedLetter): void {
    const { messageId } = letter.row;
    this.#forget(messageId);
    this.#ahead.set(messageId, letter);
    this.#aheadBytes += bytesOf(letter);
    for (const first of this.#ahead.keys()) {
      if (this.#ahead.size <= AHEAD_LETTERS_MAX && this.#aheadBytes <= AHEAD_BYTES_MAX) return;
      if (first !== messageId) this.#forget(first);
    }
  }

  #forget(messageId: number): void {
    const letter = this.#ahead.get(messageId);
    if (letter === undefined) return;
    this.#ahead.delete(messageId);
    this.#aheadBytes -= bytesOf(letter);
  }
}

const LETTER_BYTES = 2_048;

function bytesOf({ content }: ListedLetter): number {
  return LETTER_BYTES + (content === undefined ? 0 : contentBytes(content));
}
