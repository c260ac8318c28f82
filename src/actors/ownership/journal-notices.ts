/**
 * What stands in a journal, should not be there and does not count: each record is told of once. A stranger's harms nobody but should be known.
 * Behind a gap stand records of ours that were acknowledged to somebody; no owner could tell at the time, or it would not have gone on.
 */
import { NowAndThen } from '../../ports/now-and-then.ts';
import type { Logger } from '../../observability/logger.ts';
import type { LogPosition } from './effective.ts';
import type { StoredRecord } from '../../ports/log.ts';
import type { Clock } from '../../ports/machine.ts';

const SAY_EVERY_MS = 10_000;

export class JournalNotices {
  readonly #logger: Logger;
  readonly #foreignSaid: NowAndThen;
  readonly #strandedSaid: NowAndThen;
  foreignRecords = 0;
  strandedRecords = 0;
  #toldBelow = 0;

  constructor(clock: Pick<Clock, 'monoMs'>, logger: Logger) {
    this.#logger = logger;
    this.#foreignSaid = new NowAndThen(clock, SAY_EVERY_MS);
    this.#strandedSaid = new NowAndThen(clock, SAY_EVERY_MS);
  }

  /** `last`: of the records that count, as far as the owner stands. */
  tell(verdict: 'foreign' | 'gap', record: StoredRecord, last: LogPosition): void {
    if (record.offset < this.#toldBelow) return;
    this.#toldBelow = record.offset + 1;
    if (verdict === 'foreign') this.#foreign(record);
    else this.#stranded(record, last);
  }

  #foreign({ offset, key }: StoredRecord): void {
    this.foreignRecords += 1;
    if (!this.#foreignSaid.now()) return;
    const message = 'a journal holds a record that Perdure did not write. It is ignored; check who may write to this topic';
    this.#logger.warn(message, { offset, key, foreignRecords: this.foreignRecords });
  }

  #stranded({ offset, epoch, sequence }: StoredRecord, last: LogPosition): void {
    this.strandedRecords += 1;
    if (!this.#strandedSaid.now()) return;
    const stamps = { found: `${epoch}.${sequence}`, last: `${last.epoch}.${last.sequence}` };
    const told = { offset, ...stamps, strandedRecords: this.strandedRecords };
    this.#logger.error('records of a journal have vanished: records written after them do not count', told);
  }
}
