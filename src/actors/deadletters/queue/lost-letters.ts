/** Says once in each tenure which records of a queue are gone from its topic, and which letters that concerns. */
import { addRising } from '../../../deadletters/bounds/id-ranges.ts';
import type { IdRange } from '../../../deadletters/letter-commands.ts';
import { errorText } from '../../../kernel/error-text.ts';
import type { OffsetRange } from '../../../ports/log.ts';
import type { QueueCompactionOptions } from './queue-compaction.ts';

export type LostLettersOptions = Pick<
  QueueCompactionOptions,
  'core' | 'log' | 'partition' | 'database' | 'journal' | 'checkpointer' | 'logger'
>;

const PAGE_LETTERS = 1_000;
const PAGE_BYTES = 1024 * 1024;
const RANGES_TOLD_MAX = 10;

export class LostLetters {
  readonly #options: LostLettersOptions;
  #lost: readonly OffsetRange[] = [];
  before = 0;

  constructor(options: LostLettersOptions) {
    this.#options = options;
  }

  found(lost: readonly OffsetRange[]): void {
    this.#lost = lost;
  }

  /** What stood before the cut was written again behind it. Never rejects. */
  async tell(): Promise<void> {
    const { core, log, partition, logger } = this.#options;
    try {
      const { start } = await log.bounds(partition);
      this.before = start;
      const { cut, missingIds } = core.state;
      // Of what stands before a checkpoint the fold knows nothing.
      const cutOff = start > cut ? [{ from: cut, to: start - 1 }] : [];
      const gone = [...cutOff, ...this.#lost.filter(({ from }) => from >= Math.max(cut, start))];
      if (gone.length === 0) return;
      const { count, ranges } = await this.#damaged(gone);
      logger.error(
        'records of a dead letter queue are gone from its topic: were they deleted (DeleteRecords, segments), or is there a retention limit? Dead letters ' +
          'that still have a row are listed as damaged: look at them, and purge them. The others are lost. All that is left is served',
        {
          topic: partition.topic,
          offsets: textOf(gone),
          'damaged-letters': count,
          ...(count === 0 ? {} : { 'message-ids': textOf(ranges) }),
          ...(missingIds === undefined ? {} : { 'message-ids-lost-at-most': textOf([missingIds]) }),
        },
      );
    } catch (error) {
      logger.warn('cannot find out whether records of a dead letter queue are gone', { reason: errorText(error) });
    }
  }

  async #damaged(gone: readonly OffsetRange[]): Promise<{ readonly count: number; readonly ranges: readonly IdRange[] }> {
    const { database, journal, checkpointer } = this.#options;
    await checkpointer.writtenNow();
    const ranges: { from: number; to: number }[] = [];
    let count = 0;
    for (let afterMessageId = -1; ;) {
      const { rows } = await database.letters(journal, { condition: undefined, afterMessageId, max: PAGE_LETTERS, bytesMax: PAGE_BYTES });
      for (const { messageId, offset } of rows.letters) {
        afterMessageId = messageId;
        if (!gone.some(({ from, to }) => offset >= from && offset <= to)) continue;
        count += 1;
        addRising(ranges, messageId);
      }
      if (rows.isLast || rows.letters.length === 0) return { count, ranges };
    }
  }
}

function textOf(ranges: readonly (OffsetRange | IdRange)[]): string {
  const told = ranges.slice(0, RANGES_TOLD_MAX).map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`));
  return told.join(', ') + (ranges.length > RANGES_TOLD_MAX ? ', …' : '');
}
