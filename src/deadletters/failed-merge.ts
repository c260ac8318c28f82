/** A letter whose merge has failed, as it is written again. */
import type { Letter, LetterFailure } from './letter.ts';

export type FailedMerge = {
  readonly failure: LetterFailure;
  readonly jobId: string;
  readonly timeMs: number;
  /** After so many failed merges the letter is quarantined. */
  readonly maxGeneration: number;
};

/** Earlier failures that a letter keeps; its headers hold no more. */
const HISTORY_MAX = 16;

/** What it was goes into its history: it tells of its last failure. How often and since when the task had failed before stays what it was. */
export function failedOnceMore(letter: Letter, { failure, jobId, timeMs, maxGeneration }: FailedMerge): Letter {
  const { failure: before, history } = letter;
  const generation = letter.generation + 1;
  const kind = letter.generation === 0 ? 'failure' : 'merge';
  const { errorType, fingerprint } = before;
  const earlier = { timeMs: before.lastFailureTimeMs, kind, errorType, jobId: letter.jobId, fingerprint };
  const { attempts, firstFailureTimeMs } = before;
  return {
    ...letter,
    failure: { ...failure, attempts, firstFailureTimeMs, lastFailureTimeMs: timeMs },
    generation,
    state: generation >= maxGeneration ? 'quarantined' : letter.state,
    history: [...history, earlier].slice(-HISTORY_MAX),
    jobId,
  };
}

/** Whatever it says: the letter was in the queue for that already. */
export function isSameCause(letter: Letter, { fingerprint }: LetterFailure): boolean {
  return letter.failure.fingerprint === fingerprint;
}

/** Whether the last merge failed for the cause of the failure before it, by what the letter keeps of that. */
export function failedAsBefore({ history, failure }: Pick<Letter, 'history' | 'failure'>): boolean {
  return history.at(-1)?.fingerprint === failure.fingerprint;
}
