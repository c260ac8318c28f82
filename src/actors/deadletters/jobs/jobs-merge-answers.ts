/** What the answer to one merge says of its letter. */
import type { Job, JobFailure } from '../../../deadletters/jobs/job.ts';
import type { LetterError } from '../../../deadletters/letter.ts';
import { unreachable } from '../../../kernel/assert.ts';
import type { AskFailure } from '../../asks/asks.ts';
import type { Asker, DeadLetterAnswer } from '../../asks/router.ts';
import type { SeenLetter } from './jobs-letters.ts';
import type { LetterOutcome } from './jobs-tally.ts';
import type { DeadLetterRejection, LettersPurged, LettersRestored, MergeEnded } from '../../../deadletters/letter-commands.ts';
import type { PurgeLetters, RestoreLetters } from '../../../deadletters/letter-commands.ts';

export type MergeAnswer = DeadLetterAnswer<{ readonly kind: 'mergeLetter' } & Parameters<Asker['askDeadLetters']>[1]>;

export type MergeResult =
  | { readonly kind: 'settled'; readonly outcome: LetterOutcome }
  /** What has become of it has to be looked at. `failure`: the queue is not there. */
  | { readonly kind: 'inDoubt'; readonly failure: AskFailure | undefined };

export function mergeResult(letter: SeenLetter, answer: MergeAnswer): MergeResult {
  switch (answer.kind) {
    case 'mergeEnded':
      return settled(outcomeOf(letter, answer));
    case 'rejected':
      return rejected(letter, answer.rejection);
    case 'deadline':
      return settled(unknownOutcome(letter, nothingHeard));
    case 'unavailable':
    case 'notHere':
    case 'busy':
      return { kind: 'inDoubt', failure: answer };
    default:
      return settled(failedOutcome(letter, { errorType: answer.kind, errorMessage: answer.message }));
  }
}

function outcomeOf(letter: SeenLetter, answer: MergeEnded): LetterOutcome {
  const { messageId } = letter;
  switch (answer.outcome) {
    case 'merged':
      return { kind: 'merged' };
    case 'merged-noop':
      return { kind: 'merged-noop', noop: { messageId, reason: answer.detail } };
    case 'failed': {
      const { error, sameCause } = answer;
      return error.errorType === outcomeUnknown ? unknownOutcome(letter, error.errorMessage) : failedOutcome(letter, error, sameCause);
    }
    case 'skipped':
      return { kind: 'skipped', skip: { messageId, reason: answer.reason } };
    default:
      return unreachable(answer);
  }
}

function rejected(letter: SeenLetter, { reason, message }: DeadLetterRejection): MergeResult {
  switch (reason) {
    case 'not-claimed':
    case 'began-anew':
      return { kind: 'inDoubt', failure: undefined };
    case 'not-now':
      return { kind: 'inDoubt', failure: { kind: 'unavailable', message } };
    case 'not-in-queue':
      // It was under way already, for this job.
      return settled({ kind: letter.isDoubtful ? 'merged' : 'gone' });
    case 'being-merged':
      return settled(unknownOutcome(letter, nothingHeard));
    case 'overlap':
    case 'too-many-jobs':
    case 'invalid-argument':
      return settled(failedOutcome(letter, { errorType: 'InvalidArgument', errorMessage: message }));
    default:
      return unreachable(reason);
  }
}

const outcomeUnknown = 'OutcomeUnknown';
const nothingHeard = 'there was no answer within the task timeout';

function settled(outcome: LetterOutcome): MergeResult {
  return { kind: 'settled', outcome };
}

function unknownOutcome(letter: SeenLetter, errorMessage: string): LetterOutcome {
  return { kind: 'unknown', failure: failureOf(letter, { errorType: outcomeUnknown, errorMessage }, false) };
}

export function failedOutcome(letter: SeenLetter, error: LetterError, sameCause = letter.errorType === error.errorType): LetterOutcome {
  return { kind: 'failed', failure: failureOf(letter, error, sameCause) };
}

function failureOf({ messageId, taskId, taskType }: SeenLetter, { errorType, errorMessage }: LetterError, sameCause: boolean): JobFailure {
  return { messageId, taskId, taskType, errorType, errorMessage, sameCause };
}

/** One step of a purge, or of its undoing: what is asked of the queue, and what its answer says of each letter. */

export function stepOf(
  { jobId, operation, purgedBy, actor: who, reason: why }: Job,
  batch: readonly SeenLetter[],
): PurgeLetters | RestoreLetters {
  if (operation === 'restore') {
    return { kind: 'restoreLetters', jobId, who, why, messageIds: batch.map(({ messageId }) => messageId), purgedBy };
  }
  return { kind: 'purgeLetters', jobId, who, why, letters: batch.map(({ messageId, generation }) => ({ messageId, generation })) };
}

/** `rest`: they are asked for once more; where nothing is settled, nothing of them is left to do, and whose doing that is has to be looked at. */
type StepOutcomes = { readonly settled: ReadonlyMap<number, LetterOutcome>; readonly rest: readonly SeenLetter[] };

export function outcomesOf(batch: readonly SeenLetter[], answer: LettersPurged | LettersRestored): StepOutcomes {
  const settled = new Map<number, LetterOutcome>();
  for (const id of answer.ids) settled.set(id, { kind: answer.kind });
  if (answer.kind === 'purged') {
    // It was there a moment ago, and only a merge of an earlier job can have it.
    for (const id of answer.gone) settled.set(id, skipped(id, 'being-merged'));
    for (const id of answer.merged) settled.set(id, { kind: 'merged' });
    for (const id of answer.executing) settled.set(id, skipped(id, executing));
    return { settled, rest: [] };
  }
  for (const id of answer.lost) settled.set(id, skipped(id, 'undo-window-over'));
  // Some did not fit beside these.
  return { settled, rest: batch.filter(({ messageId }) => !settled.has(messageId)) };
}

/** Its shard has not said that it will not be. */
const executing = 'being-executed: the outcome of its last merge is not known, or its shard is not served; purge it again later';

function skipped(messageId: number, reason: string): LetterOutcome {
  return { kind: 'skipped', skip: { messageId, reason } };
}
