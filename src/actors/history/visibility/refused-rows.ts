/** Rows of List that a database refuses: one must not keep the others from being shown. */
import type { Logger } from '../../../observability/logger.ts';
import type { VisibilityRow } from '../../../visibility/row.ts';
import { saidError, thrownError } from '../../../deadletters/task-failure.ts';
import { unreachable } from '../../../kernel/assert.ts';
import { DatabaseError } from '../../database.ts';
import type { SideAnswer } from '../side-tasks/side-tasks.ts';

/** What it means for the task that is to write it. */
export function rowAnswer(taskId: number, outcome: RowWritten): SideAnswer {
  switch (outcome.kind) {
    case 'written':
      return { kind: 'done', command: { kind: 'finishRow', taskId } };
    case 'refused':
      return { kind: 'failed', failure: { kind: 'permanent', error: thrownError(outcome.error) } };
    case 'notNow':
      return {
        kind: 'failed',
        failure: { kind: 'notYet', why: 'away', error: saidError('Unavailable', 'rows of List cannot be written now') },
      };
    default:
      return unreachable(outcome);
  }
}

/** What has come of one row. `notNow`: it waits like others. */
export type RowWritten = { readonly kind: 'written' | 'notNow' } | { readonly kind: 'refused'; readonly error: DatabaseError };

/** Of a row: trying again would meet it again. */
export function isRefusal(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.code === 'data';
}

/** Each alone: what is refused is told, and left out. Ends with the first that comes to anything but `flushed`. */
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
