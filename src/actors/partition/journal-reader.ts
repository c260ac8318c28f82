/**
 * Reads a journal again beside its fold, from any record on: those that count, decoded. Of its owner alone, and up to what is committed.
 *
 *     … 17 │ 18  19  20  21 │ until
 *    known ┘    void             effective judges each, as in every fold
 */
import { assert } from '../../kernel/assert.ts';
import { type Log, LogError, missingOffsets, type PartitionId } from '../log.ts';
import type { ClaimCodec } from '../ownership/claim.ts';
import { effective, type LogCursor } from '../ownership/effective.ts';
import type { RecordCodec } from './partition-core.ts';

export type JournalReaderOptions<Record> = {
  readonly log: Pick<Log, 'read' | 'bounds'>;
  readonly partition: PartitionId;
  readonly codec: Pick<RecordCodec<Record>, 'decode'>;
  readonly claims: Pick<ClaimCodec, 'decode'>;
};

const READ_BYTES = 1024 * 1024;

export class JournalReader<Record> {
  readonly #options: JournalReaderOptions<Record>;
  readonly #cursor: LogCursor;

  private constructor(options: JournalReaderOptions<Record>, cursor: LogCursor) {
    this.#options = options;
    this.#cursor = cursor;
  }

  /** Behind that record, which counted; where it is cut off, from the start of the journal, which is a claim. -1: none is known. */
  static async behind<Record>(options: JournalReaderOptions<Record>, offset: number): Promise<JournalReader<Record>> {
    const { log, partition } = options;
    const { start } = await log.bounds(partition);
    if (offset < start) return new JournalReader(options, { epoch: 0, sequence: 0, offset: start });
    const [record] = await log.read(partition, offset, 1);
    assert(record?.offset === offset, `the record at offset ${offset} is there`);
    return new JournalReader(options, { epoch: record.epoch, sequence: record.sequence, offset: offset + 1 });
  }

  /** All in front of it was read. */
  get offset(): number {
    return this.#cursor.offset;
  }

  /** What one read of the log gives, up to `until`. Rejects with LogError. */
  async read(until: number, onRecord: (record: Record, offset: number) => void): Promise<void> {
    const { log, partition, claims, codec } = this.#options;
    const records = await log.read(partition, this.#cursor.offset, READ_BYTES);
    if (records.length === 0) throw new LogError('unavailable', `the journal does not show record ${this.#cursor.offset} yet`);
    for (const record of records) {
      if (record.offset >= until) return;
      const verdict = effective(this.#cursor, record, claims);
      if (verdict === 'hole') throw missingOffsets(partition, this.#cursor.offset, record.offset - 1);
      if (verdict === 'record') onRecord(codec.decode(record.value, record.schema, record), record.offset);
    }
  }
}
