/** The row of a journal: its fence, and how far its rows go. */
import { DatabaseError } from '../../actors/database.ts';
import { bytesOf, optionalBytesOf, whole, wholeOf, type SqlRow } from './values.ts';
import type { Checkpoint, CheckpointPosition, Fence, Fenced, JournalId, Restored, TrimPoint } from '../../actors/database.ts';
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
  UPDATE journals SET epoch = ?, sequence = ?, next_offset = ?, last_offset = ?, time_ms = ?, schema = ?, counters = ?, trim_points = ?
  WHERE kind = ? AND partition = ? AND fence = ? AND CASE WHEN counters IS NULL THEN coalesce(?, 0) = 0
    ELSE epoch <= ? AND next_offset <= ? AND next_offset IN (?, coalesce(?, next_offset)) END`;

export function restoreJournal(connection: Connection, { kind, partition }: JournalId): Restored {
  const row = connection.statement(restoreSql).get(kind, whole(partition, 'partition'));
  if (row === undefined) throw new DatabaseError('corrupt', 'the row of a journal is not there after it was written');
  return restored(row);
}

export function readJournal(connection: Connection, { kind, partition }: JournalId): Restored {
  const row = connection.statement(selectSql).get(kind, partition);
  return row === undefined ? { fence: 0, position: undefined } : restored(row);
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
  const { epoch, nextOffset } = position;
  const goesOnFrom = base === undefined ? null : whole(base, 'base');
  const { changes } = connection
    .statement(guardSql)
    .run(
      whole(epoch, 'epoch'),
      whole(position.sequence, 'sequence'),
      whole(nextOffset, 'next offset'),
      whole(position.lastOffset, 'last offset'),
      whole(position.timeMs, 'time'),
      whole(position.schema, 'schema'),
      position.counters,
      trimPointBytes(position.trimPoints),
      kind,
      partition,
      fence,
      goesOnFrom,
      epoch,
      nextOffset,
      nextOffset,
      goesOnFrom,
    );
  return changes === 1;
}

function restored(row: SqlRow): Restored {
  const fence = wholeOf(row, 'fence');
  const counters = optionalBytesOf(row, 'counters');
  if (counters === undefined) return { fence, position: undefined };
  const position: CheckpointPosition = {
    epoch: wholeOf(row, 'epoch'),
    sequence: wholeOf(row, 'sequence'),
    nextOffset: wholeOf(row, 'next_offset'),
    lastOffset: wholeOf(row, 'last_offset'),
    timeMs: wholeOf(row, 'time_ms'),
    schema: wholeOf(row, 'schema'),
    counters,
    trimPoints: trimPointsOf(bytesOf(row, 'trim_points')),
  };
  return { fence, position };
}

/** So it begins; it was time and offset alone before there were bytes, 16 for each point without a beginning. */
const trimPointsFormat = 2;
const trimPointSize = { now: 24, before: 16 } as const;

/** Time, offset and bytes of each as IEEE doubles, which hold every whole number below 2^53. No points are no bytes at all. */
function trimPointBytes(points: readonly TrimPoint[]): Uint8Array {
  if (points.length === 0) return new Uint8Array(0);
  const bytes = new Uint8Array(1 + points.length * trimPointSize.now);
  bytes[0] = trimPointsFormat;
  const view = new DataView(bytes.buffer, 1);
  for (const [index, point] of points.entries()) {
    const at = index * trimPointSize.now;
    view.setFloat64(at, whole(point.timeMs, 'time of a trim point'));
    view.setFloat64(at + 8, whole(point.lastOffset, 'offset of a trim point'));
    view.setFloat64(at + 16, whole(point.bytes, 'bytes behind a trim point'));
  }
  return bytes;
}

function trimPointsOf(bytes: Uint8Array): readonly TrimPoint[] {
  const isBefore = bytes.length % trimPointSize.before === 0;
  if (!isBefore && (bytes[0] !== trimPointsFormat || bytes.length % trimPointSize.now !== 1)) {
    throw new DatabaseError(
      'corrupt',
      `the row of a journal is damaged: its trim points are ${bytes.length} bytes of none; restore a backup`,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset + (isBefore ? 0 : 1));
  const size = isBefore ? trimPointSize.before : trimPointSize.now;
  return Array.from({ length: Math.floor(bytes.length / size) }, (_, index) => ({
    timeMs: view.getFloat64(index * size),
    lastOffset: view.getFloat64(index * size + 8),
    bytes: isBefore ? 0 : view.getFloat64(index * size + 16),
  }));
}
