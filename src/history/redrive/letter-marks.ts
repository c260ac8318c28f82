/**
 * Which letters of dead letter queues this shard has executed again, or is executing: so that a letter is executed once, however often it is
 * asked for. Marks are never changed in place: a cut keeps them as they are.
 *
 *     executeLetter ─▶ pending: its task waits under a new id ─▶ ended: applied, noop or failed ── confirmLetter ─▶ no mark
 */
import { failureBytes, type TaskFailure } from '../hand-over/hand-over-commands.ts';
import type { PendingTask } from '../tasks.ts';
import type { LetterName } from './redrive-commands.ts';

/** What has come of it. */
export type LetterOutcome =
  | { readonly kind: 'applied' }
  /** There was nothing left to do; why, for people. */
  | { readonly kind: 'noop'; readonly detail: string }
  | { readonly kind: 'failed'; readonly failure: TaskFailure };

/** Its task waits like any other, under an id of its own. */
export type BegunLetter = { readonly letter: LetterName; readonly task: PendingTask };

export type EndedLetter = { readonly letter: LetterName; readonly outcome: LetterOutcome };

/** `outcome` undefined: its task is pending. `taskId` 0: it needed none. */
export type LetterMark = { readonly letter: LetterName; readonly taskId: number; readonly outcome: LetterOutcome | undefined };

/** By `markKey`: one for a letter, of its last generation that was asked for. */
export type LetterMarks = ReadonlyMap<string, LetterMark>;

export function markKey({ queue, messageId }: LetterName): string {
  return `letter ${queue}/${messageId}`;
}

export function marksOf(marks: readonly LetterMark[]): LetterMarks {
  return new Map(marks.map((mark) => [markKey(mark.letter), mark]));
}

const noMarks: LetterMarks = new Map();

function withMark(marks: LetterMarks | undefined, mark: LetterMark): LetterMarks {
  return new Map([...(marks ?? noMarks), [markKey(mark.letter), mark]]);
}

/** Its task waits from now on. */
export function withBegun(marks: LetterMarks | undefined, { letter, task: { taskId } }: BegunLetter): LetterMarks {
  return withMark(marks, { letter, taskId, outcome: undefined });
}

export function withEnded(marks: LetterMarks | undefined, { letter, outcome }: EndedLetter): LetterMarks {
  return withMark(marks, { letter, taskId: marks?.get(markKey(letter))?.taskId ?? 0, outcome });
}

/** Whose task that is; undefined: no letter's, or no longer. */
export function pendingMarkOf(marks: LetterMarks | undefined, taskId: number): LetterMark | undefined {
  for (const mark of marks?.values() ?? []) if (mark.taskId === taskId && mark.outcome === undefined) return mark;
  return undefined;
}

/** Its run is deleted, and the task waited aside. */
export function withTaskGone(marks: LetterMarks | undefined, taskId: number): LetterMarks | undefined {
  const mark = pendingMarkOf(marks, taskId);
  return mark === undefined
    ? marks
    : withEnded(marks, { letter: mark.letter, outcome: { kind: 'noop', detail: 'the workflow was deleted' } });
}

/** undefined: none is left. */
export function withoutMark(marks: LetterMarks | undefined, letter: LetterName): LetterMarks | undefined {
  const left = new Map(marks);
  left.delete(markKey(letter));
  return left.size === 0 ? undefined : left;
}

const MARK_BYTES = 256;

/** In memory and in a row, roughly. */
export function markBytes({ outcome }: LetterMark): number {
  return MARK_BYTES + (outcome?.kind === 'failed' ? failureBytes(outcome.failure) : 0);
}
