/** Reading a stretch of a journal record by record, in as many reads as it takes. */
import { LogError, partitionName } from '../log.ts';
import type { Log, PartitionId, StoredRecord } from '../log.ts';

const READ_BYTES = 1024 * 1024;
/** Reads may lag behind an append that was acknowledged, or an end that was told. This often in a row they may show nothing. */
const SHORT_READS_MAX = 20;

export type Reading = {
  readonly log: Log;
  readonly partition: PartitionId;
  readonly until: number;
  /** Waits a moment; false = nobody wants the answer any more. */
  pause(): Promise<boolean>;
};

export type Reader = {
  /** Where it stands: `step` moves it on. */
  readonly cursor: { readonly offset: number };
  step(record: StoredRecord): void;
};

/** False when nobody wants the answer any more. Throws LogError when the log cannot be read. */
export async function readThrough(reading: Reading, reader: Reader): Promise<boolean> {
  const { log, partition, until } = reading;
  for (let shortReads = 0; reader.cursor.offset < until;) {
    const records = await log.read(partition, reader.cursor.offset, READ_BYTES);
    if (records.length === 0) {
      shortReads += 1;
      if (shortReads > SHORT_READS_MAX) throw await whyNothing(reading, reader.cursor.offset);
      if (!(await reading.pause())) return false;
    }
    for (const record of records) {
      // By where the reader stands, not by the record: a hole may reach from before `until` to behind it.
      if (reader.cursor.offset >= until) break;
      reader.step(record);
    }
  }
  return true;
}

/** It lags; or what was seen behind it is gone, and no waiting brings it back. */
async function whyNothing({ log, partition, until }: Reading, offset: number): Promise<LogError> {
  const { end } = await log.bounds(partition);
  const name = partitionName(partition);
  if (end < until) return new LogError('out-of-range', `${name} ends at ${end}, but offset ${until - 1} was seen`);
  return new LogError('unavailable', `${name} shows nothing at offset ${offset} yet`);
}
