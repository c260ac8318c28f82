import { saidError, thrownError } from '../../../deadletters/task-failure.ts';
import { unreachable } from '../../../kernel/assert.ts';
import type { RowWritten } from '../../../projections/list/refused-rows.ts';
import type { SideAnswer } from './side-tasks.ts';

/** What has come of a row of List, to the task that is to write it. */
export function rowAnswer(taskId: number, outcome: RowWritten): SideAnswer {
  switch (outcome.kind) {
    case 'written':
      return { kind: 'done', command: { kind: 'finishRow', taskId } };
    case 'refused':
      return { kind: 'failed', failure: { kind: 'permanent', error: thrownError(outcome.error) } };
    case 'notNow': {
      const error = saidError('Unavailable', 'rows of List cannot be written now');
      return { kind: 'failed', failure: { kind: 'notYet', why: 'away', error } };
    }
    default:
      return unreachable(outcome);
  }
}
