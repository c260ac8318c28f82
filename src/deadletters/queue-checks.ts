/** What is wrong with what the owner of a queue is asked, in words; undefined: nothing. */
import { charactersIn } from '../kernel/utf8.ts';
import { deadLetterLimits } from './letter-commands.ts';
import type { Authorship } from './letter-records.ts';

export function timeoutProblem(taskTimeoutMs: number): string | undefined {
  const { taskTimeoutMsMin, taskTimeoutMsMax } = deadLetterLimits;
  const isWithin = taskTimeoutMs >= taskTimeoutMsMin && taskTimeoutMs <= taskTimeoutMsMax;
  return isWithin ? undefined : `a task timeout is ${taskTimeoutMsMin} to ${taskTimeoutMsMax} ms, not ${taskTimeoutMs}`;
}

/** Each becomes a header; no text of a record may be longer than the log takes. */
export function authorshipProblem({ jobId, who, why }: Authorship): string | undefined {
  const { whyCharsMax, nameCharsMax } = deadLetterLimits;
  if (charactersIn(why) > whyCharsMax) return `a reason has ${whyCharsMax} characters at most, this one ${charactersIn(why)}`;
  if (who.length > nameCharsMax) return `who asks has a name of ${nameCharsMax} characters at most, not ${who.length}`;
  return jobId.length > nameCharsMax ? `a job has an id of ${nameCharsMax} characters at most, not ${jobId.length}` : undefined;
}

export function forgotten(shard: number, sequence: number, last: number): string {
  return `shard ${shard} hands over its dead letter ${sequence}, and the last one was ${last}: it is older than what is kept`;
}

export function isId(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
