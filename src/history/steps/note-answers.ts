/** Writes that a request was answered (run/answered-requests.ts). */
import { type AnsweredRequest, answeredRequestsMax, operation } from '../run/answered-requests.ts';
import type { RunDraft } from '../draft/draft.ts';
import type { RunView } from '../run/state.ts';

/** `scheduledEventIds`: of the activities that it was for; none: it was for the workflow. Without an id nobody can repeat it. */
export function noteAnswer(run: RunDraft, scheduledEventIds: readonly number[], { operation, requestId }: AnsweredRequest): void {
  if (requestId !== '') run.addFact({ kind: 'requestAnswered', scheduledEventIds, operation, requestId });
}

/** A late repetition of a request to a run must not reach the run that takes its place. */
export function handOnAnswers(run: RunDraft, before: RunView): void {
  for (const answered of before.answered?.requests ?? []) noteAnswer(run, [], answered);
}

/** A signal that is sent once more goes to the next run of a chain, which must know it. */
export function handOnSignals(run: RunDraft, before: RunView): void {
  for (const { requestId } of [...before.signalRequestIds.values()].slice(-answeredRequestsMax)) {
    noteAnswer(run, [], { operation: operation.signal, requestId });
  }
}

/** A run that goes on from an event of `base` keeps the answers of the activities that are pending in both. */
export function handOnAnswersOfActivities(run: RunDraft, base: RunView): void {
  for (const { scheduledEventId } of [...run.run.activities.values()]) {
    const { requests = [] } = base.activities.get(scheduledEventId)?.operations?.answered ?? {};
    for (const answered of requests) noteAnswer(run, [scheduledEventId], answered);
  }
}
