/** Writes that a request was answered (answered-requests.ts). */
import { type AnsweredRequest, answeredRequestsMax, operation } from '../answered-requests.ts';
import type { RunDraft } from '../draft.ts';
import type { RunView } from '../state.ts';

/** `scheduledEventIds`: of the activities that it was for; none: it was for the workflow. Without an id nobody can repeat it. */
export function noteAnswer(run: RunDraft, scheduledEventIds: readonly number[], { operation, requestId }: AnsweredRequest): void {
  if (requestId !== '') run.addFact({ kind: 'requestAnswered', scheduledEventIds, operation, requestId });
}

/** For a run in the place of another, which a late repetition must not reach. */
export function handOnAnswers(run: RunDraft, before: RunView): void {
  for (const answered of before.answered?.requests ?? []) noteAnswer(run, [], answered);
}

/** For the next run of a chain, to which a signal goes that is sent once more. */
export function handOnSignals(run: RunDraft, before: RunView): void {
  for (const { requestId } of [...before.signalRequestIds.values()].slice(-answeredRequestsMax)) {
    noteAnswer(run, [], { operation: operation.signal, requestId });
  }
}

/** For a run that goes on from an event of that one: the activities that are pending in both. */
export function handOnAnswersOfActivities(run: RunDraft, base: RunView): void {
  for (const { scheduledEventId } of [...run.run.activities.values()]) {
    const { requests = [] } = base.activities.get(scheduledEventId)?.operations?.answered ?? {};
    for (const answered of requests) noteAnswer(run, [scheduledEventId], answered);
  }
}
