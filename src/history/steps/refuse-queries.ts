/** Queries that wait for a workflow task which does not come: their workflow was paused. */
import type { Draft } from '../draft/draft.ts';
import { status } from '../generated/enums.ts';

export function refuseQueries(draft: Draft, runId: string): void {
  for (const { askId } of draft.waitingQueries(runId)) draft.answer(askId, { kind: 'queryRejected', status: status.paused });
}
