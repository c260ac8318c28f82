/** Reading a journal as its owner would fold it, without claiming it: for whoever only wants to know what it says. */
import { setTimeout as pause } from 'node:timers/promises';
import { LogError, missingOffsets, partitionName } from '../actors/log.ts';
import { missingBeginning } from '../actors/ownership/missing-records.ts';
import { OwnerPosition } from '../actors/ownership/owner-position.ts';
import { readThrough } from '../actors/ownership/read-through.ts';
import type { ClaimCodec } from '../actors/ownership/claim.ts';
import type { Verdict } from '../actors/ownership/effective.ts';
import type { Log, PartitionId, StoredRecord } from '../actors/log.ts';
import type { Reader } from '../actors/ownership/read-through.ts';

export type JournalReading = {
  readonly log: Log;
  readonly partition: PartitionId;
  readonly claims: ClaimCodec;
  /** First: it begins behind 0. Absent, or where it throws, such a journal is not read. */
  readonly onCut?: (start: number) => void;
  /** Every claim and record that counts, in order. */
  readonly onCounted: (record: StoredRecord, verdict: Verdict & ('claim' | 'record')) => void;
};

const SHORT_READ_PAUSE_MS = 50;

/** From its start, up to the end that the log has now. Throws LogError `corrupt` when the journal's beginning is gone: no checkpoint stands for it here. */
export async function readJournal({ log, partition, claims, onCut, onCounted }: JournalReading): Promise<void> {
  const bounds = await log.bounds(partition);
  const missing = missingBeginning(bounds, undefined, false);
  if (missing !== undefined && onCut === undefined) throw new LogError('corrupt', `${partitionName(partition)}: ${missing}`);
  const position = new OwnerPosition();
  if (missing !== undefined) {
    onCut?.(bounds.start);
    position.goOnAt(bounds.start);
  }
  const reader: Reader = {
    get cursor() {
      return position.cursor;
    },
    step: (record) => {
      const verdict = position.step(record, claims);
      if (verdict === 'hole') throw missingOffsets(partition, position.cursor.offset, record.offset - 1);
      if (verdict === 'claim' || verdict === 'record') onCounted(record, verdict);
    },
  };
  const wait = async (): Promise<boolean> => {
    await pause(SHORT_READ_PAUSE_MS);
    return true;
  };
  await readThrough({ log, partition, until: bounds.end, pause: wait }, reader);
}
