/**
 * How often a task was attempted, and what follows from one more failure.
 *
 *     attempt ── failed ─▶ judge ─┬─ again, after a pause that grows
 *                                 ├─ over: the task is done
 *                                 └─ letter: it leaves normal processing
 *
 * `notYet` counts nowhere: a log that is away for a day makes no letters.
 */
import { unreachable } from '../kernel/assert.ts';
import { type CaptureSettings, failuresMaxOf } from './capture-settings.ts';
import type { NotYet, TaskFailure } from './task-failure.ts';
import type { DeadLetterCause, LetterDisposition } from '../kernel/letter-words.ts';

/** The attempts at one task. Times are ms since 1970; undefined: it has not failed yet. */
export type Attempts = {
  /** All attempts that were made and did not succeed. */
  readonly attempts: number;
  /** The attempts that count as failures. */
  readonly failures: number;
  /** How many in a row had to wait for the same pace. */
  readonly inARow: number;
  readonly pace: Pace;
  /** The times of failures that count. */
  readonly firstFailureTimeMs: number | undefined;
  readonly lastFailureTimeMs: number | undefined;
};

const noTimes = { firstFailureTimeMs: undefined, lastFailureTimeMs: undefined };
export const noAttempts: Attempts = { attempts: 0, failures: 0, inARow: 0, pace: 'usual', ...noTimes };

export type Verdict =
  /** `pauseMs`: before jitter. */
  | { readonly kind: 'again'; readonly attempts: Attempts; readonly pauseMs: number }
  | { readonly kind: 'over' }
  | { readonly kind: 'letter'; readonly attempts: Attempts; readonly why: LetterReason };

export type LetterReason = { readonly cause: DeadLetterCause; readonly disposition: LetterDisposition };

export const namespaceDeleted: LetterReason = { cause: 'namespace-deleted', disposition: 'target-gone' };

export type Pace = 'usual' | 'notReady' | 'rateLimited';

const second = 1_000;
const minute = 60 * second;

/** The pause after the n-th attempt in a row: `firstMs * factor ** (n - 1)`, and never longer than `maxMs`. */
const paces: { readonly [pace in Pace]: { readonly firstMs: number; readonly factor: number; readonly maxMs: number } } = {
  usual: { firstMs: second, factor: 1.1, maxMs: 3 * minute },
  notReady: { firstMs: 3 * second, factor: 1.5, maxMs: 3 * minute },
  rateLimited: { firstMs: 3 * second, factor: 1.5, maxMs: 5 * minute },
};

/** Total: a reason without its pace does not compile. */
const paceOfWaiting: { readonly [why in NotYet]: Pace } = {
  away: 'usual',
  moving: 'usual',
  busy: 'usual',
  notReady: 'notReady',
  rateLimited: 'rateLimited',
};

/** `category`: of the queue that the letter would go to, `transfer`. */
export function judgeAttempt(before: Attempts, failure: TaskFailure, category: string, nowMs: number, settings: CaptureSettings): Verdict {
  if (failure.kind === 'over') return { kind: 'over' };
  const isPicked = settings.errorPattern?.matches(failure.error.errorMessage) === true;
  const counts = isPicked || failure.kind !== 'notYet';
  const pace = failure.kind === 'notYet' ? paceOfWaiting[failure.why] : 'usual';
  const attempts = onceMore(before, counts, pace, nowMs);
  if (counts && settings.enabled) {
    const why = reasonOf(failure, attempts.failures >= failuresMaxOf(category, settings), isPicked, settings);
    if (why !== undefined) return { kind: 'letter', attempts, why };
  }
  return { kind: 'again', attempts, pauseMs: pauseMs(attempts) };
}

type FailedAttempt = Exclude<TaskFailure, { readonly kind: 'over' }>;

/** undefined: the failure makes no letter, and the task is tried again. */
function reasonOf(failure: FailedAttempt, isExhausted: boolean, isPicked: boolean, settings: CaptureSettings): LetterReason | undefined {
  if (isPicked) return { cause: 'permanent-error', disposition: 'operator' };
  if (isPermanent(failure, settings)) return { cause: 'permanent-error', disposition: 'poison' };
  if (!isExhausted) return undefined;
  const isShared = failure.kind === 'failed' && failure.by === 'dependency';
  return { cause: 'retries-exhausted', disposition: isShared ? 'systemic' : 'exhausted' };
}

function onceMore(before: Attempts, counts: boolean, pace: Pace, nowMs: number): Attempts {
  return {
    attempts: before.attempts + 1,
    failures: before.failures + (counts ? 1 : 0),
    inARow: before.pace === pace ? before.inARow + 1 : 1,
    pace,
    firstFailureTimeMs: counts ? (before.firstFailureTimeMs ?? nowMs) : before.firstFailureTimeMs,
    lastFailureTimeMs: counts ? nowMs : before.lastFailureTimeMs,
  };
}

function isPermanent(failure: FailedAttempt, settings: CaptureSettings): boolean {
  switch (failure.kind) {
    case 'notYet':
      return false;
    case 'failed':
      return failure.by === 'bug' && settings.internalErrorsArePermanent;
    case 'permanent':
      return true;
    default:
      return unreachable(failure);
  }
}

function pauseMs({ inARow, pace }: Attempts): number {
  const { firstMs, factor, maxMs } = paces[pace];
  // Beyond any double it is Infinity, and the longest pause holds.
  return Math.min(firstMs * factor ** (inARow - 1), maxMs);
}
