/** Tasks that have failed for good: what a shard is told of them, in words that its records have as well. */

/** Why it has failed: a letter says it (src/deadletters/letter.ts has the same shape). Times are ms since 1970. */
export type TaskFailure = {
  readonly cause: 'retries-exhausted' | 'permanent-error' | 'namespace-deleted';
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

/** The first tasks of a line, up to that sequence, are letters with these ids. */
export type AcceptedLetters = { readonly category: string; readonly sequence: number; readonly messageIds: readonly number[] };

/** A pending task has failed for good: it leaves its queue and becomes a dead letter (hand-over/hand-over.ts). No reply. */
export type HandOverTask = {
  readonly kind: 'handOverTask';
  readonly taskId: number;
  /** `transfer` */
  readonly category: string;
  readonly failure: TaskFailure;
};

/** The first of those, up to that sequence, are letters with these ids. No reply. */
export type NoteLetters = AcceptedLetters & { readonly kind: 'noteLetters' };

/** In memory and in a row, roughly. */
export function failureBytes({ errorMessage, errorStack, errorChain }: TaskFailure): number {
  return errorChain.reduce((bytes, error) => bytes + error.errorMessage.length, errorMessage.length + errorStack.length);
}
