/** What has come of a letter whose task was executed again. */
import type { TaskFailure } from '../../history/hand-over/hand-over-commands.ts';
import type { LetterOutcome } from '../../history/redrive/letter-marks.ts';
import { unreachable } from '../../kernel/assert.ts';
import * as wire from '../../wire/generated/peer/history.ts';
import { WireError } from '../../wire/wire-error.ts';
import { type Words, wordOf } from './words.ts';

const noLetterOutcome = wire.emptyLetterOutcome();
const letterOutcomes: Words<LetterOutcome['kind']> = { applied: true, noop: true, failed: true };
const letterDispositions: Words<TaskFailure['disposition']> = {
  '': true,
  poison: true,
  exhausted: true,
  systemic: true,
  'target-gone': true,
  operator: true,
};
const letterCauses: Words<TaskFailure['cause']> = { 'retries-exhausted': true, 'permanent-error': true, 'namespace-deleted': true };

export function letterOutcomeToWire(outcome: LetterOutcome): wire.LetterOutcome {
  return { ...noLetterOutcome, ...outcome };
}

export function letterOutcomeFromWire({ kind: word, detail, failure }: wire.LetterOutcome): LetterOutcome {
  const kind = wordOf(letterOutcomes, word, 'LetterOutcome.kind');
  switch (kind) {
    case 'applied':
      return { kind };
    case 'noop':
      return { kind, detail };
    case 'failed':
      if (failure === undefined) throw new WireError('LetterOutcome.failure is missing');
      return { kind, failure: letterFailureFromWire(failure) };
    default:
      return unreachable(kind);
  }
}

function letterFailureFromWire({ cause, disposition, ...failure }: wire.LetterFailure): TaskFailure {
  return {
    ...failure,
    cause: wordOf(letterCauses, cause, 'LetterFailure.cause'),
    disposition: wordOf(letterDispositions, disposition, 'LetterFailure.disposition'),
  };
}
