/**
 * What stands behind the last record that was confirmed to us: read back when an append came back otherwise than expected, when others have
 * appended, when the leader changed, and when a claim that was made in doubt has landed.
 */
import { LogError } from '../log.ts';
import { readStretch } from './log-stretch.ts';
import type { Logger } from '../../observability/logger.ts';
import type { ClaimCodec } from './claim.ts';
import type { JournalNotices } from './journal-notices.ts';
import type { Log, LogRecord, PartitionId } from '../log.ts';
import type { Stretch } from './log-stretch.ts';
import type { OwnerPosition } from './owner-position.ts';
import type { Retries } from './retries.ts';

export type JournalTailOptions = {
  readonly partition: PartitionId;
  readonly log: Log;
  readonly claims: ClaimCodec;
  readonly position: OwnerPosition;
  readonly notices: JournalNotices;
  readonly retries: Retries;
  readonly logger: Logger;
  readonly retryDelayMs: number;
};

const noNonces: ReadonlySet<string> = new Set();

export class JournalTail {
  readonly #options: JournalTailOptions;

  constructor(options: JournalTailOptions) {
    this.#options = options;
  }

  /** Up to `until`, where `batch` should be among it. Undefined: it cannot be read now, or the term of ownership is over. */
  async tryStretch(until: number, batch: readonly LogRecord[]): Promise<Stretch | undefined> {
    try {
      return await this.stretch(until, batch, noNonces);
    } catch (error) {
      if (error instanceof LogError && (this.#options.retries.mayPass(error) || error.code === 'out-of-range')) {
        this.#options.logger.warn('the log cannot be read back', { error });
        return undefined;
      }
      throw error;
    }
  }

  /** Undefined when the term of ownership is over; throws when the log cannot be read. `ownNonces`: of claims that are ours. */
  stretch(until: number, batch: readonly LogRecord[], ownNonces: ReadonlySet<string>): Promise<Stretch | undefined> {
    const { log, partition, claims, position, notices, retries, retryDelayMs } = this.#options;
    const { term } = retries;
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
        await retries.sleep(retryDelayMs);
        return term === retries.term;
      },
    });
  }
}
