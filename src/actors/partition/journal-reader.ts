/**
 * Reads a journal again beside its fold, from any record on: those that count, decoded. Of its owner alone, and up to what is committed.
 *
 *     … 17 │ 18  19  20  21 │ until
 *    known ┘    void             effective judges each, as in every fold
 */
import { assert } from '../../kernel/assert.ts';
import { type Log, LogError, type PartitionId, type StoredRecord } from '../../ports/log.ts';
import { effective, goOnAt, type ClaimCodec, type LogCursor } from '../ownership/effective.ts';
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

  /** Begins behind that record, which counted; if it is gone, at the start of the journal. -1: no record is known. */
  static async behind<Record>(options: JournalReaderOptions<Record>, offset: number): Promise<JournalReader<Record>> {
    const { log, partition } = options;
    const { start } = await log.bounds(partition);
    if (offset < start) return JournalReader.#from(options, start);
    const [record] = await log.read(partition, offset, 1);
    assert(record !== undefined, 'the journal shows what stands there');
    if (record.offset > offset) return JournalReader.#from(options, record.offset);
    return new JournalReader(options, { epoch: record.epoch, sequence: record.sequence, offset: offset + 1 });
  }

  static #from<Record>(options: JournalReaderOptions<Record>, start: number): JournalReader<Record> {
    const cursor: LogCursor = { epoch: 0, sequence: 0, offset: start };
    goOnAt(cursor, start);
    return new JournalReader(options, cursor);
  }

  get offset(): number {
    return this.#cursor.offset;
  }

  /** What one read of the log gives, up to `until`; what is gone is passed over. Rejects with LogError. */
  async read(until: number, onRecord: (record: Record, offset: number) => void): Promise<void> {
    const { claims, codec } = this.#options;
    const records = await this.#stretch();
    if (records === undefined) return;
    if (records.length === 0) throw new LogError('unavailable', `the journal does not show record ${this.#cursor.offset} yet`);
    for (const record of records) {
      if (record.offset >= until) return;
      if (record.offset > this.#cursor.offset) goOnAt(this.#cursor, record.offset);
      if (effective(this.#cursor, record, claims) === 'record') onRecord(codec.decode(record.value, record.schema, record), record.offset);
    }
  }

  /** undefined: what stood there has gone from the beginning of the log, and the next read goes on behind it. */
  async #stretch(): Promise<readonly StoredRecord[] | undefined> {
    const { log, partition } = this.#options;
    try {
      return await log.read(partition, this.#cursor.offset, READ_BYTES);
    } catch (error) {
      if (!(error instanceof LogError) || error.code !== 'out-of-range') throw error;
      const { start } = await log.bounds(partition);
      if (start <= this.#cursor.offset) throw error;
      goOnAt(this.#cursor, start);
      return undefined;
    }
  }
}
