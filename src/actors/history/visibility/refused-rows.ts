/** Rows of List that a database refuses: one must not keep the others from being shown. */
import type { Logger } from '../../../observability/logger.ts';
import type { VisibilityRow } from '../../../visibility/row.ts';
import { DatabaseError } from '../../database.ts';

/** Of a row: trying again would meet it again. */
export function isRefusal(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.code === 'data';
}

/** Each alone: what is refused is told, and left out. Ends with the first that comes to anything but `flushed`. */
export async function writeOneByOne<Outcome extends string>(
  rows: readonly VisibilityRow[],
  write: (row: VisibilityRow) => Promise<Outcome | 'flushed'>,
  logger: Logger,
): Promise<Outcome | 'flushed'> {
  for (const row of rows) {
    try {
      const outcome = await write(row);
      if (outcome !== 'flushed') return outcome;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const { namespaceId, workflowId, runId } = row;
      logger.warn('the database refuses the row of a workflow: List does not show it as it is', {
        namespaceId,
        workflowId,
        runId,
        error,
      });
    }
  }
  return 'flushed';
}
