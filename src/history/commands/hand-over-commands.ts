/** Tasks that have failed for good: what a shard is told of them, in words that its records have as well. */
import type { DeadLetterCause, LetterDisposition } from '../../kernel/letter-words.ts';

/** Why it has failed: a letter says it (src/deadletters/letter.ts has the same shape). Times are ms since 1970. */
export type TaskFailure = {
  readonly cause: DeadLetterCause;
  readonly disposition: LetterDisposition;
  readonly errorType: string;
  readonly errorMessage: string;
  readonly errorStack: string;
  /** The outermost first. */
  readonly errorChain: readonly { readonly errorType: string; readonly errorMessage: string }[];
  readonly fingerprint: string;
  readonly attempts: number;
  readonly firstFailureTimeMs: number;
  readonly lastFailureTimeMs: number;
  readonly handler: string;
  readonly node: string;
  readonly build: string;
};

/** What a task is about, as far as that is known when it fails: later it may be gone. Texts that are not known are ''. */
export type TaskSubject = {
  readonly namespace: string;
  /** Where the task is for a workflow in another namespace: that one. */
  readonly targetNamespaceId: string;
  readonly targetNamespace: string;
  readonly workflowType: string;
  /** Offset of the journal's record that holds the task; undefined: not known. */
  readonly originOffset: number | undefined;
};

/** The first tasks of a line, up to that sequence, are letters with these ids. */
export type AcceptedLetters = { readonly category: string; readonly sequence: number; readonly messageIds: readonly number[] };

/** A pending task has failed for good: it leaves its queue and becomes a dead letter (tasks/hand-over.ts). */
export type HandOverTask = {
  readonly kind: 'handOverTask';
  readonly taskId: number;
  /** `transfer` or `timer` */
  readonly category: string;
  readonly failure: TaskFailure;
  readonly subject: TaskSubject;
};

export type NoteLetters = AcceptedLetters & { readonly kind: 'noteLetters' };

export type HandOverCommand = HandOverTask | NoteLetters;

/** What a failure takes in memory and in a row, roughly. */
export function failureBytes({ errorMessage, errorStack, errorChain }: TaskFailure): number {
  return errorChain.reduce((bytes, error) => bytes + error.errorMessage.length, errorMessage.length + errorStack.length);
}
