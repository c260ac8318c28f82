import type { ReplyEffect } from '../kernel/handled.ts';
import type { DeadLetterReply } from './replies.ts';

/** Its task is executed again, by the shard that owns it now; `finishMerge` tells what came of it. */
export type ExecuteLetter = {
  readonly kind: 'executeLetter';
  readonly messageId: number;
  readonly jobId: string;
  readonly overridesLoopGuard: boolean;
};

export type DeadLetterEffect = ExecuteLetter | ReplyEffect<DeadLetterReply>;
