/** What is wrong with what is asked of jobs, in words; undefined: nothing. */
import { charactersIn } from '../../kernel/utf8.ts';
import { idRangesProblem } from '../id-ranges.ts';
import type { PlanLetters } from './commands.ts';
import type { JobAuthor, JobOperation, JobOptions } from './job.ts';
import { jobLimits } from './job-limits.ts';

export function planProblem({ operation, selection, options, ...author }: PlanLetters): string | undefined {
  if (operation === 'restore' && selection.ids === undefined) return 'dead letters that are restored are named by their ids';
  return authorProblem(author) ?? optionsProblem(operation, options, author.reason) ?? (selection.ids && idRangesProblem(selection.ids));
}

function authorProblem({ actor, reason, query, groupId }: JobAuthor): string | undefined {
  const { nameCharsMax, queryCharsMax } = jobLimits;
  if (actor === '' || actor.length > nameCharsMax) return `who asks has a name of 1 to ${nameCharsMax} characters, not ${actor.length}`;
  if (query.length > queryCharsMax) return `a filter has ${queryCharsMax} characters at most, this one ${query.length}`;
  if (groupId.length > nameCharsMax) return `the id of a group has ${nameCharsMax} characters at most, this one ${groupId.length}`;
  return reasonProblem(reason);
}

export function reasonProblem(reason: string): string | undefined {
  const { reasonCharsMax } = jobLimits;
  const count = charactersIn(reason);
  return count > reasonCharsMax ? `a reason has ${reasonCharsMax} characters at most, this one ${count}` : undefined;
}

function optionsProblem(operation: JobOperation, options: JobOptions, reason: string): string | undefined {
  const { rps, concurrency, taskTimeoutMs, maxFailures, canary, overridesLoopGuard } = options;
  const { taskTimeoutMsMin, taskTimeoutMsMax } = jobLimits;
  if (!Number.isSafeInteger(taskTimeoutMs) || taskTimeoutMs < taskTimeoutMsMin || taskTimeoutMs > taskTimeoutMsMax) {
    return `the longest wait for an outcome is 1 s to 10 min, not ${taskTimeoutMs} ms`;
  }
  if (!Number.isSafeInteger(maxFailures) || maxFailures < 0) return `no number of failures: ${maxFailures}`;
  if (canary && operation !== 'merge') return 'only a merge can go in steps';
  if (overridesLoopGuard && reason === '') return 'a merge of dead letters in quarantine needs a reason';
  return paceProblem(rps, concurrency);
}

export function paceProblem(rps: number | undefined, concurrency: number | undefined): string | undefined {
  const { rpsMin, rpsMax, concurrencyMax } = jobLimits;
  if (rps !== undefined && rps !== 0 && !(rps >= rpsMin && rps <= rpsMax)) {
    return `a job handles ${rpsMin} to ${rpsMax} dead letters a second, or 0 for no limit, not ${rps}`;
  }
  if (concurrency === undefined) return undefined;
  const isFine = Number.isSafeInteger(concurrency) && concurrency >= 1 && concurrency <= concurrencyMax;
  return isFine ? undefined : `a job has 1 to ${concurrencyMax} dead letters under way, not ${concurrency}`;
}
