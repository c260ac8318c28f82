/** What the answer to one merge says of its letter. */
import type { JobFailure } from '../../../deadletters/jobs/job.ts';
import type { LetterError } from '../../../deadletters/letter.ts';
import type { DeadLetterRejection, MergeEnded } from '../../../deadletters/replies.ts';
import { unreachable } from '../../../kernel/assert.ts';
import type { AskFailure } from '../../asks/asks.ts';
import type { Asker, DeadLetterAnswer } from '../../asks/router.ts';
import type { SeenLetter } from './jobs-letters.ts';
import type { LetterOutcome } from './jobs-tally.ts';

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
const nothingHeard = 'nothing was heard of it within the task timeout';

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
