/**
 * What came of an attempt at a task that did not succeed.
 *
 *     notYet      the surroundings' trouble, not the task's: tried again as often as it takes
 *     over        there is nothing left to do: the task is done
 *     failed      tried again, and in the end a letter
 *     permanent   no attempt will ever succeed: a letter now
 */
import { errorMessage } from '../kernel/error-text.ts';
import type { LetterFailure } from './letter.ts';

export type TaskFailure =
  | { readonly kind: 'notYet'; readonly why: NotYet; readonly error: TaskError }
  | { readonly kind: 'over'; readonly error: TaskError }
  | { readonly kind: 'failed'; readonly by: FailedBy; readonly error: TaskError }
  | { readonly kind: 'permanent'; readonly error: TaskError };

export type FailedBy =
  /** A bug of ours. Operators may want such failures to be permanent. */
  | 'bug'
  /** Whoever was asked does not want it, or it is too large. */
  | 'refusal'
  /** Something that other tasks need as well does not work: a folder that is full. */
  | 'dependency';

export type NotYet =
  /** The log, the database or whoever was asked does not answer. */
  | 'away'
  /** Its owner changes, or this shard has been taken over. */
  | 'moving'
  /** The workflow has too much under way. */
  | 'busy'
  /** Something that it rests on is not there yet. */
  | 'notReady'
  /** Too much for whoever was asked; it said so. */
  | 'rateLimited';

/** What people read of it. `errorStack`: the frames alone, without the message in front of them. */
export type TaskError = Pick<LetterFailure, 'errorType' | 'errorMessage' | 'errorStack' | 'errorChain'>;

export const taskErrorLimits = {
  /** Characters that a task waiting for its next attempt may hold in memory. A header holds less (src/codec). */
  typeCharsMax: 256,
  messageCharsMax: 4_096,
  stackCharsMax: 8_192,
  /** Causes behind the error. */
  chainMax: 8,
} as const;

/** What was answered, in words. */
export function saidError(errorType: string, errorMessage: string): TaskError {
  const { typeCharsMax, messageCharsMax } = taskErrorLimits;
  return { errorType: cut(errorType, typeCharsMax), errorMessage: cut(errorMessage, messageCharsMax), errorStack: '', errorChain: [] };
}

/** What was thrown, whatever that is, with the causes behind it. */
export function thrownError(thrown: unknown): TaskError {
  const causes = causesOf(thrown);
  const [first = { type: 'Error', message: '' }, ...others] = causes.map(described);
  return {
    ...saidError(first.type, first.message),
    errorStack: cut(framesOf(thrown), taskErrorLimits.stackCharsMax),
    errorChain: others.map(({ type, message }) => {
      const { errorType, errorMessage } = saidError(type, message);
      return { errorType, errorMessage };
    }),
  };
}

/** The thrown value and what led to it, the outermost first. A cause may name its own effect as its cause. */
function causesOf(thrown: unknown): readonly unknown[] {
  const causes = [thrown];
  for (let at = thrown; at instanceof Error && causes.length <= taskErrorLimits.chainMax;) {
    at = at.cause;
    if (at === undefined || at === null || causes.includes(at)) break;
    causes.push(at);
  }
  return causes;
}

/** Whatever it is: an object may refuse to become text. */
function described(thrown: unknown): { readonly type: string; readonly message: string } {
  const type = thrown instanceof Error ? String(thrown.name) : 'Error';
  try {
    return { type, message: String(errorMessage(thrown)) };
  } catch {
    return { type, message: 'it has no text' };
  }
}

/** A message may be of many lines, and may look like frames. */
function framesOf(thrown: unknown): string {
  if (!(thrown instanceof Error) || typeof thrown.stack !== 'string') return '';
  const { stack, message } = thrown;
  const at = message === '' ? -1 : stack.indexOf(message);
  const behind = at < 0 ? stack.slice(stack.indexOf('\n') + 1) : stack.slice(at + message.length);
  return behind.trim();
}

function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1)}…`;
}
