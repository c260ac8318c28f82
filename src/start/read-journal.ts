/** Reading a journal as its owner would fold it, without claiming it: for whoever only wants to know what it says. */
import { setTimeout as pause } from 'node:timers/promises';
import { LogError, missingOffsets, partitionName, SHORT_READS_MAX } from '../actors/log.ts';
import { OwnerPosition } from '../actors/owner-position.ts';
import type { ClaimCodec } from '../actors/claim.ts';
import type { Verdict } from '../actors/effective.ts';
import type { Log, PartitionId, StoredRecord } from '../actors/log.ts';

export type JournalReading = {
  readonly log: Log;
  readonly partition: PartitionId;
  readonly claims: ClaimCodec;
  /** Every claim and record that counts, in order. `enough` ends the reading. */
  readonly onCounted: (record: StoredRecord, verdict: Verdict & ('claim' | 'record')) => 'go on' | 'enough';
};

const READ_BYTES = 1024 * 1024;
const SHORT_READ_PAUSE_MS = 50;

/** Up to the end that the log has now. Throws LogError `corrupt` when the journal's beginning is gone. */
export async function readJournal({ log, partition, claims, onCounted }: JournalReading): Promise<void> {
  const name = partitionName(partition);
  const { start, end } = await log.bounds(partition);
  if (start > 0) throw new LogError('corrupt', `${name} starts at offset ${start}: what stood before is gone, and there is no checkpoint`);
  const position = new OwnerPosition();
  for (let shortReads = 0; position.cursor.offset < end;) {
    const records = await log.read(partition, position.cursor.offset, READ_BYTES);
    if (records.length === 0) {
      shortReads += 1;
      if (shortReads > SHORT_READS_MAX) throw new LogError('unavailable', `${name} shows nothing at offset ${position.cursor.offset} yet`);
      await pause(SHORT_READ_PAUSE_MS);
    }
    for (const record of records) {
      const verdict = position.step(record, claims);
      if (verdict === 'hole') throw missingOffsets(partition, position.cursor.offset, record.offset - 1);
      if ((verdict === 'claim' || verdict === 'record') && onCounted(record, verdict) === 'enough') return;
    }
  }
}
