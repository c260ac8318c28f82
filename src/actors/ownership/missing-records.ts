/**
 * Whether a journal, as the log holds it, still reaches back to where its fold begins (docs/protocol.md, T13).
 *
 *     start                       end               without a checkpoint: start = 0
 *       ├───────●──────────────────┤
 *          last_offset                              with one: start <= last_offset, which is the witness, and it ends in the log
 *
 * The one place that says so, and says what to do: for owners, and for whoever reads a journal without owning it.
 */
import type { CheckpointPosition } from '../../projections/database-port.ts';
import type { LogBounds } from '../../ports/log.ts';

/** What is missing, and what to do; undefined: the fold may begin. */
export function missingBeginning(
  { start }: LogBounds,
  checkpoint: CheckpointPosition | undefined,
  hasDatabase: boolean,
): string | undefined {
  if (start <= Math.max(0, checkpoint?.lastOffset ?? 0)) return undefined;
  if (checkpoint !== undefined) {
    return (
      `the journal starts at offset ${start}, but the checkpoint in the database ends at offset ${checkpoint.lastOffset}: the records ` +
      'in between are in neither. Restore a newer backup of the database, or an older one of the journal'
    );
  }
  const isCut = `the journal starts at ${start}, not at 0`;
  if (hasDatabase) {
    return (
      `${isCut}, and the database holds no checkpoint of it: the records before offset ${start} are in neither. ` +
      `Restore a backup of the database whose checkpoint reaches offset ${start}; is it the right database?`
    );
  }
  return (
    `${isCut}: were segments deleted (retention.ms, retention.bytes), or records (DeleteRecords)? If it was trimmed behind checkpoints, the ` +
    'database that has them must be named again (perdure.postgres)'
  );
}

/** The checkpoint knows of records that the log does not reach (T5). */
export function missingEnd({ end }: LogBounds, checkpoint: CheckpointPosition | undefined): string | undefined {
  if (checkpoint === undefined || checkpoint.nextOffset <= end) return undefined;
  return (
    `the log ends at ${end}, but the checkpoint in the database reaches offset ${checkpoint.nextOffset}. Was the journal restored from an older ` +
    'copy, or is this the database of another cluster? Restore both from backups of one time, the database not newer than the journal'
  );
}
