/** What a plan, a job and the journal of them may hold. */
import { charactersIn } from '../../kernel/utf8.ts';
import { idRangesProblem } from './id-ranges.ts';
import type { JobAuthor, JobOptions, PlanLetters } from '../jobs/job.ts';
import type { JobOperation } from '../../kernel/letter-words.ts';
export const jobLimits = {
  /** Stretches of ids of one plan: of what a filter selects, more are planned in parts. */
  rangesMax: 10_000,
  activeJobsMax: 16,
  rpsMin: 0.1,
  rpsMax: 10_000,
  concurrencyMax: 64,
  taskTimeoutMsMin: 1_000,
  taskTimeoutMsMax: 600_000,
  reasonCharsMax: 500,
  /** The name of who asked, and the id that jobs of one command share. */
  nameCharsMax: 1_000,
  queryCharsMax: 8_192,
  /** A plan that nobody applies. */
  planExpiryMs: 3_600_000,
  /** How long whoever applies an expired plan is told that it has expired. */
  planKeptMs: 7_200_000,
  /** The oldest plans are forgotten first. */
  plansMax: 1_000,
  /** A job that has ended. */
  jobKeptMs: 30 * 24 * 3_600_000,
  /** Ended jobs of one queue. */
  endedJobsMax: 1_000,
  /** Roughly the bytes in memory of the ids and failures of all plans, and of all ended jobs. */
  plansBytesMax: 64 * 1024 * 1024,
  endedJobsBytesMax: 64 * 1024 * 1024,
  /** How many failures, skips and noops are told of one job. */
  failuresTold: 100,
  skipsTold: 100,
  noopsTold: 100,
  causesTold: 1_000,
  /** Plans and jobs that are written again at once, and their bytes, roughly; one always is. */
  carriedMax: 100,
  carriedBytesMax: 1024 * 1024,
  listedMax: 1_000,
  /** Ids that are asked for and not handled: what a takeover has to look at again. */
  windowIdsMax: 1_000,
  /** Letters with an unknown outcome that are asked for once more. */
  unknownIdsMax: 1_000,
} as const;

/** Letters that are tried before all outcomes so far are looked at; then the rest. */
const canarySteps = [1, 11, 111, 1_111] as const;

/** How many letters may be tried once the outcomes of `tried` are known. */
export function canaryLimit(tried: number): number {
  return canarySteps.find((end) => tried < end) ?? Infinity;
}

/** What is wrong with what is asked of jobs, in words; undefined: nothing. */

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
  return count > reasonCharsMax ? `reason has ${count} characters, and may have ${reasonCharsMax}` : undefined;
}

export function optionsProblem(operation: JobOperation, options: JobOptions, reason: string): string | undefined {
  const { rps, concurrency, taskTimeoutMs, maxFailures, canary, overridesLoopGuard } = options;
  const { taskTimeoutMsMin, taskTimeoutMsMax } = jobLimits;
  if (!Number.isSafeInteger(taskTimeoutMs) || taskTimeoutMs < taskTimeoutMsMin || taskTimeoutMs > taskTimeoutMsMax) {
    return `Invalid task_timeout: ${taskTimeoutMs} ms; it is ${taskTimeoutMsMin / 1_000} s to ${taskTimeoutMsMax / 60_000} min`;
  }
  if (!Number.isSafeInteger(maxFailures) || maxFailures < 0) return `Invalid max_failures: ${maxFailures}`;
  if (canary && operation !== 'merge') return 'only a merge can go in steps';
  if (overridesLoopGuard && reason === '') return 'override_loop_guard needs a reason';
  return paceProblem(rps, concurrency);
}

export function paceProblem(rps: number | undefined, concurrency: number | undefined): string | undefined {
  const { rpsMin, rpsMax, concurrencyMax } = jobLimits;
  if (rps !== undefined && rps !== 0 && !(rps >= rpsMin && rps <= rpsMax)) {
    return `Invalid rps: ${rps}; it is ${rpsMin} to ${rpsMax}, or 0 for no limit`;
  }
  if (concurrency === undefined) return undefined;
  const isFine = Number.isSafeInteger(concurrency) && concurrency >= 1 && concurrency <= concurrencyMax;
  return isFine ? undefined : `Invalid concurrency: ${concurrency}; it is 1 to ${concurrencyMax}`;
}
