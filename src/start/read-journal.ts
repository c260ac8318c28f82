/** Reads a journal as its owner would replay it, but without claiming it. */
import { setTimeout as pause } from 'node:timers/promises';
import { LogError, missingOffsets, partitionName } from '../ports/log.ts';
import { missingBeginning } from '../actors/ownership/missing-records.ts';
import { OwnerPosition } from '../actors/ownership/owner-position.ts';
import { readThrough, type Reader } from '../actors/ownership/log-stretch.ts';
import type { ClaimCodec, Verdict } from '../actors/ownership/effective.ts';
import type { Log, PartitionId, StoredRecord } from '../ports/log.ts';

export type JournalReading = {
  readonly log: Log;
  readonly partition: PartitionId;
  readonly claims: ClaimCodec;
  /** Called first if the journal does not begin at 0. If it is absent or throws, such a journal is not read. */
  readonly onCut?: (start: number) => void;
  /** Called with every effective claim and record, in order. */
  readonly onCounted: (record: StoredRecord, verdict: Verdict & ('claim' | 'record')) => void;
};

const SHORT_READ_PAUSE_MS = 50;

/** Reads from the start to the current end. Throws LogError `corrupt` if the beginning is gone, because no checkpoint replaces it here. */
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
