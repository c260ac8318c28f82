/**
 * The row of a journal, from which all its others are read: what is wrong with it is no one workflow's trouble. A damaged count of tasks would give
 * ids out twice, a damaged trim point would have the journal trimmed that a restart needs. So its partition is not served, and says why.
 */
import { errorText } from '../../kernel/error-text.ts';
import { type CheckpointPosition, DatabaseError, type JournalId, type TrimPoint } from '../database-port.ts';
import { foreignSchema } from './fenced-rows.ts';

/** Throws DatabaseError. */
export function checkPosition(journal: JournalId, position: CheckpointPosition): void {
  const foreign = foreignSchema(position);
  if (foreign !== undefined) throw new DatabaseError('misconfigured', foreign);
  const { epoch, sequence, nextOffset, lastOffset, timeMs, trimPoints } = position;
  if (![epoch, sequence, nextOffset, timeMs].every(isCount) || !isOffset(lastOffset) || lastOffset >= nextOffset) {
    const end = `it ends at offset ${lastOffset}, record ${epoch}.${sequence}, goes on at ${nextOffset}, and is of time ${timeMs}`;
    throw damaged(journal, end);
  }
  let before = -1;
  for (const point of trimPoints) {
    if (!isPoint(point) || point.lastOffset < before || point.lastOffset > lastOffset) {
      const found = `a trim point at offset ${point.lastOffset}, of time ${point.timeMs}, stands between ${before} and ${lastOffset}`;
      throw damaged(journal, found);
    }
    before = point.lastOffset;
  }
}

/** `install`: it can be the counters alone that it throws for. Rejects with DatabaseError. */
export async function installingCounters(journal: JournalId, install: () => void | Promise<void>): Promise<void> {
  try {
    await install();
  } catch (error) {
    throw damaged(journal, errorText(error));
  }
}

function damaged({ kind, partition }: JournalId, problem: string): DatabaseError {
  const row = `the row of ${kind} journal ${partition} in the table of journals is damaged: ${problem}`;
  return new DatabaseError('corrupt', `${row}; restore a backup of the database that is no older than its journals begin`);
}

function isPoint({ timeMs, lastOffset, bytes }: TrimPoint): boolean {
  return Number.isSafeInteger(timeMs) && isOffset(lastOffset) && isCount(bytes);
}

function isOffset(value: number): boolean {
  return value === -1 || isCount(value);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
