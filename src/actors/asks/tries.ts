/**
 * Attempts at what must be done in the end: a command of an actor's own that is decided, or something that another actor must take.
 *
 *     met nobody (its target moves, a log does not answer)       tried again as often as it takes, after growing pauses
 *     refused for what it is (cannot be decided or written)      tried a few times, then given up
 */
import type { AskFailure } from './asks.ts';

/** `failures`: attempts that were refused for what they are. */
export type Tries = { readonly attempt: number; readonly failures: number };

export const firstTry: Tries = { attempt: 1, failures: 0 };

/** A bug of ours rarely passes: what has met it so often is given up. */
export const FAILURES_MAX = 5;

export function isRefusedForGood({ kind }: AskFailure): boolean {
  return kind === 'internal' || kind === 'tooLarge';
}

export function failedOnceMore({ attempt, failures }: Tries): Tries {
  return { attempt, failures: failures + 1 };
}

export function nextTry({ attempt, failures }: Tries): Tries {
  return { attempt: attempt + 1, failures };
}
