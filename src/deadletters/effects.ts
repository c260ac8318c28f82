import type { ReplyEffect } from '../kernel/handled.ts';
import type { FindPurged, IndexRequest, RestoreLetters } from './commands.ts';
import type { DeadLetterReply } from './replies.ts';

/** Its task is executed again, by the shard that owns it now; `finishMerge` tells what came of it. */
export type ExecuteLetter = {
  readonly kind: 'executeLetter';
  readonly messageId: number;
  readonly jobId: string;
  readonly overridesLoopGuard: boolean;
  readonly taskTimeoutMs: number;
};

/** Its shard is asked not to execute it any more; `finishWithdrawal` tells what it has said. */
export type WithdrawLetter = { readonly kind: 'withdrawLetter'; readonly messageId: number; readonly jobId: string };

/** What was to be carried is committed: the next letters may come, or with `cut` the journal be cut there. */
export type Carried = { readonly kind: 'carried'; readonly cut: number | undefined };

/** The index answers that, once it has what is committed. */
export type ReadIndex = { readonly kind: 'readIndex'; readonly askId: number; readonly request: IndexRequest };
/** Of letters that were purged the journal is asked; `putBack` follows where they are to come back. */
export type ReadPurged = { readonly kind: 'readPurged'; readonly askId: number; readonly request: FindPurged | RestoreLetters };
/** Nobody waits for that answer any more, if it is the index that was asked. */
export type GiveUpIndex = { readonly kind: 'giveUpIndex'; readonly askId: number };

/** Letters of a shard were taken once, and are not in the journal: people have to know. Sequences of its hand-overs. */
export type LettersLost = { readonly kind: 'lettersLost'; readonly shard: number; readonly from: number; readonly to: number };

/** A shard hands over another task under a number that it has given before: its journal has lost what was there. The task got an id of its own. */
export type HandOverReused = {
  readonly kind: 'handOverReused';
  readonly shard: number;
  readonly sequence: number;
  readonly messageId: number;
};

export type DeadLetterEffect =
  | ExecuteLetter
  | WithdrawLetter
  | Carried
  | LettersLost
  | HandOverReused
  | ReadPurged
  | ReadIndex
  | GiveUpIndex
  | ReplyEffect<DeadLetterReply>;
