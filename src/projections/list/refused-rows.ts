/** Rows of List that a database refuses: one must not keep the others from being shown. */
import type { Logger } from '../../observability/logger.ts';
import type { VisibilityRow } from '../visibility/row.ts';
import { DatabaseError } from '../database-port.ts';

/** What has come of one row. `notNow`: it waits like others. */
export type RowWritten = { readonly kind: 'written' | 'notNow' } | { readonly kind: 'refused'; readonly error: DatabaseError };

/** The database refuses a row for good: trying again would meet it again. */
export function isRefusal(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.code === 'data';
}

/** Writes each row alone: what is refused is told, and left out. Ends with the first outcome other than `flushed`. */
export async function writeOneByOne<Outcome extends string>(
  rows: readonly VisibilityRow[],
  write: (row: VisibilityRow) => Promise<Outcome | 'flushed'>,
  logger: Logger,
  onRefused: (row: VisibilityRow, error: DatabaseError) => void = () => {},
): Promise<Outcome | 'flushed'> {
  for (const row of rows) {
    try {
      const outcome = await write(row);
      if (outcome !== 'flushed') return outcome;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      onRefused(row, error);
      const { namespaceId, workflowId, runId } = row;
      const told = { namespaceId, workflowId, runId, error };
      logger.warn('the database refused the row of a workflow: List does not show its current state', told);
    }
  }
  return 'flushed';
}
