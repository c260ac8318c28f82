/**
 * What stands behind the last record that was confirmed to us: read back when an append came back otherwise than expected, when others have
 * appended, and when the leader changed. While it is read, nothing is appended.
 */
import { LogError } from './log.ts';
import { readStretch } from './log-stretch.ts';
import type { Logger } from '../observability/logger.ts';
import type { ClaimCodec } from './claim.ts';
import type { JournalNotices } from './journal-notices.ts';
import type { Log, LogRecord, PartitionId } from './log.ts';
import type { Stretch } from './log-stretch.ts';
import type { OwnerPosition } from './owner-position.ts';
import type { Patience } from './patience.ts';

export type JournalTailOptions = {
  readonly partition: PartitionId;
  readonly log: Log;
  readonly claims: ClaimCodec;
  readonly position: OwnerPosition;
  readonly notices: JournalNotices;
  readonly patience: Patience;
  readonly logger: Logger;
  readonly retryDelayMs: number;
  /** Trying again may help. */
  readonly mayPass: (error: LogError) => boolean;
};

const noNonces: ReadonlySet<string> = new Set();

export class JournalTail {
  readonly #options: JournalTailOptions;
  #reading = false;
  /** Of the latest; whoever comes back from an earlier one finds it changed. */
  #read = 0;
  #suspect = false;

  constructor(options: JournalTailOptions) {
    this.#options = options;
  }

  /** It is being read back, to be judged. */
  get reading(): boolean {
    return this.#reading;
  }

  /** The leader changed since it was looked at: what was confirmed must be found unchanged before anything more is (T6). */
  get suspect(): boolean {
    return this.#suspect;
  }

  suspectIt(): void {
    this.#suspect = true;
  }

  trust(): void {
    this.#suspect = false;
  }

  /** Nobody wants to know it any more. */
  giveUp(): void {
    this.#reading = false;
    this.#read += 1;
  }

  /** Up to `until`, where `batch` should be among it. 'givenUp': others know better by now; 'unreadable': the log cannot be read now. */
  async read(until: number, batch: readonly LogRecord[]): Promise<Stretch | 'givenUp' | 'unreadable'> {
    this.#reading = true;
    this.#suspect = false;
    this.#read += 1;
    const read = this.#read;
    const stretch = await this.#tryStretch(until, batch);
    if (read !== this.#read) return 'givenUp';
    this.#reading = false;
    return stretch ?? 'unreadable';
  }

  async #tryStretch(until: number, batch: readonly LogRecord[]): Promise<Stretch | undefined> {
    try {
      return await this.stretch(until, batch, noNonces);
    } catch (error) {
      if (error instanceof LogError && (this.#options.mayPass(error) || error.code === 'out-of-range')) {
        this.#options.logger.warn('the log cannot be read back', { error });
        return undefined;
      }
      throw error;
    }
  }

  /** Undefined when the turn of ownership is over; throws when the log cannot be read. `ownNonces`: of claims that are ours. */
  stretch(until: number, batch: readonly LogRecord[], ownNonces: ReadonlySet<string>): Promise<Stretch | undefined> {
    const { log, partition, claims, position, notices, patience, retryDelayMs } = this.#options;
    const { turn } = patience;
    return readStretch({
      log,
      partition,
      claims,
      cursor: position.cursor,
      last: position.last,
      until,
      batch,
      ownNonces,
      noticed: (verdict, record) => notices.tell(verdict, record, position.cursor),
      pause: async () => {
        await patience.sleep(retryDelayMs);
        return turn === patience.turn;
      },
    });
  }
}
