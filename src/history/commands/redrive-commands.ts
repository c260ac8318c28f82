/** What the owners of dead letter queues ask a shard. */
import type { RunKey } from '../../kernel/run-key.ts';

/** A letter as often as it may be executed: once for each of its generations. `queue`: its number, in its incarnation (kernel/queue-incarnation.ts). */
export type LetterName = { readonly queue: number; readonly messageId: number; readonly generation: number };

/** Executes the letter's task, once, however often it is asked for. Answered when the outcome is committed; rejected: busy-workflow. */
export type ExecuteLetter = {
  readonly kind: 'executeLetter';
  /** The run of the task, whose shard is asked. */
  readonly key: RunKey;
  readonly letter: LetterName;
  /** All letters of that queue, in this incarnation, below that message id are resolved for good: nobody will ask for them, and their marks may go. */
  readonly resolvedBelow: number;
  /** A pending task as rows hold it (perdure.state.v1.PendingTask). */
  readonly task: Uint8Array;
};

/** What has come of it is in its queue's journal: the mark may go. Reply: Done, also when there is none. */
export type ConfirmLetter = { readonly kind: 'confirmLetter'; readonly letter: LetterName };

/** Its task is not to be executed any more. Reply: LetterWithdrawn, also of no such task; LetterExecuted, if it has ended; rejected: busy-workflow. */
export type WithdrawLetter = { readonly kind: 'withdrawLetter'; readonly key: RunKey; readonly letter: LetterName };

export type ListLetterMarks = { readonly kind: 'listLetterMarks'; readonly queue: number };

export type RedriveRequest = ExecuteLetter | ConfirmLetter | WithdrawLetter | ListLetterMarks;
