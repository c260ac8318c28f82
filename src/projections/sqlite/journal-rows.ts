/** The row of a journal: its fence, and how far its rows go. */
import { DatabaseError } from '../database-port.ts';
import { restoredOf } from '../tables/state-rows.ts';
import { whole } from '../tables/stored-numbers.ts';
import { bytesOf, rowReader, wholeOf, type SqlRow } from './values.ts';
import type { Checkpoint, Fence, Fenced, JournalId, Restored, TrimPoint } from '../database-port.ts';
import type { Connection } from './connection.ts';

const nowMs = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
/** Raises the fence and reads in one statement: it waits for a write that is under way, and none can come between. */
const restoreSql = `
  INSERT INTO journals (kind, partition, fence, epoch, sequence, next_offset, last_offset, time_ms, schema, counters, trim_points)
  VALUES (?, ?, ${nowMs}, 0, 0, 0, -1, 0, 0, NULL, x'')
  ON CONFLICT (kind, partition) DO UPDATE SET fence = max(fence + 1, excluded.fence) RETURNING *`;

const selectSql = 'SELECT * FROM journals WHERE kind = ? AND partition = ?';
const generationSql = 'SELECT fence, next_offset FROM journals WHERE kind = ? AND partition = ?';

const guardSql = `
  UPDATE journals SET epoch = ?1, sequence = ?2, next_offset = ?3, last_offset = ?4, time_ms = ?5, schema = ?6, counters = ?7, trim_points = ?8
  WHERE kind = ?9 AND partition = ?10 AND fence = ?11 AND CASE WHEN counters IS NULL THEN coalesce(?12, 0) = 0
    ELSE epoch <= ?1 AND next_offset <= ?3 AND next_offset IN (?3, coalesce(?12, next_offset)) END`;

export function restoreJournal(connection: Connection, { kind, partition }: JournalId): Restored {
  const row = connection.statement(restoreSql).get(kind, whole(partition, 'partition'));
  if (row === undefined) throw new DatabaseError('corrupt', 'the row of a journal is not there after it was written');
  return restoredOf(row, rowReader, trimPointsOf);
}

export function readJournal(connection: Connection, { kind, partition }: JournalId): Restored {
  return restoredOf(connection.statement(selectSql).get(kind, partition), rowReader, trimPointsOf);
}

/** Which rows they are; fence 0: never restored, next offset 0: never written. */
export function generationOf(connection: Connection, { kind, partition }: JournalId): Pick<Fenced<unknown>, 'fence' | 'nextOffset'> {
  const row = connection.statement(generationSql).get(kind, partition);
  return row === undefined ? { fence: 0, nextOffset: 0 } : { fence: wholeOf(row, 'fence'), nextOffset: wholeOf(row, 'next_offset') };
}

/** The guard of a write and its first statement. False: another has restored since, or the rows are not those that this one goes on from. */
export function moveJournal(
  connection: Connection,
  { kind, partition }: JournalId,
  fence: Fence,
  { position, base }: Pick<Checkpoint, 'position' | 'base'>,
): boolean {
  const { epoch, sequence, nextOffset, lastOffset, timeMs, schema, counters, trimPoints } = position;
  const numbers = { epoch, sequence, 'next offset': nextOffset, 'last offset': lastOffset, time: timeMs, schema };
  const moved = Object.entries(numbers).map(([what, value]) => whole(value, what));
  const guarded = [kind, partition, fence, base === undefined ? null : whole(base, 'base')];
  const { changes } = connection.statement(guardSql).run(...moved, counters, trimPointBytes(trimPoints), ...guarded);
  return changes === 1;
}

const trimPointSize = 24;

/** Time, offset and bytes of each as IEEE doubles, which hold every whole number below 2^53. */
function trimPointBytes(points: readonly TrimPoint[]): Uint8Array {
  const bytes = new Uint8Array(points.length * trimPointSize);
  const view = new DataView(bytes.buffer);
  for (const [index, point] of points.entries()) {
    const at = index * trimPointSize;
    view.setFloat64(at, whole(point.timeMs, 'time of a trim point'));
    view.setFloat64(at + 8, whole(point.lastOffset, 'offset of a trim point'));
    view.setFloat64(at + 16, whole(point.bytes, 'bytes behind a trim point'));
  }
  return bytes;
}

function trimPointsOf(row: SqlRow): readonly TrimPoint[] {
  const bytes = bytesOf(row, 'trim_points');
  if (bytes.length % trimPointSize !== 0) {
    const words = `the row of a journal is damaged: its trim points are ${bytes.length} bytes of none`;
    throw new DatabaseError('corrupt', `${words}; restore a backup`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: bytes.length / trimPointSize }, (_, index) => ({
    timeMs: view.getFloat64(index * trimPointSize),
    lastOffset: view.getFloat64(index * trimPointSize + 8),
    bytes: view.getFloat64(index * trimPointSize + 16),
  }));
}
