import type { JobOperation, JobOptions } from '../../deadletters/jobs/job.ts';
import { charactersIn } from '../../kernel/utf8.ts';
import type { JobOptions as WireOptions } from '../../wire/generated/api/deadletter/service.ts';
import type { JobSettings } from '../ports.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { letterLimits } from './letter-limits.ts';

/** Throws INVALID_ARGUMENT. The pace that operators set is for merges, which execute tasks; a purge goes as fast as it can unless a request says otherwise. */
export function jobOptions(operation: JobOperation, given: WireOptions | undefined, settings: JobSettings, reason: string): JobOptions {
  const { rpsMin, rpsMax, concurrencyMax, taskTimeoutMsMin, taskTimeoutMsMax } = letterLimits;
  const options: JobOptions = {
    rps: checkedRps(given?.rps) ?? (operation === 'merge' ? within(settings.mergeRps, rpsMin, rpsMax) : 0),
    concurrency: checkedConcurrency(given?.concurrency) ?? within(settings.mergeConcurrency, 1, concurrencyMax),
    taskTimeoutMs: checkedTaskTimeout(given?.taskTimeoutMs ?? 0) ?? within(settings.mergeTaskTimeoutMs, taskTimeoutMsMin, taskTimeoutMsMax),
    canary: given?.canary ?? false,
    maxFailures: given?.maxFailures ?? 0,
    overridesLoopGuard: given?.overrideLoopGuard ?? false,
  };
  if (options.maxFailures < 0) throw invalidArgument(`Invalid max_failures: ${options.maxFailures}`);
  if (options.overridesLoopGuard && reason === '') throw invalidArgument('override_loop_guard needs a reason');
  return options;
}

/** What operators set may be beyond what a job can have. */
function within(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}

function checkedTaskTimeout(timeoutMs: number): number | undefined {
  const { taskTimeoutMsMin, taskTimeoutMsMax } = letterLimits;
  if (timeoutMs === 0) return undefined;
  if (timeoutMs >= taskTimeoutMsMin && timeoutMs <= taskTimeoutMsMax) return timeoutMs;
  throw invalidArgument(`Invalid task_timeout: ${timeoutMs} ms; it is ${taskTimeoutMsMin / 1_000} s to ${taskTimeoutMsMax / 60_000} min`);
}

/** Undefined: none is given. */
export function checkedRps(rps: number | undefined): number | undefined {
  const { rpsMin, rpsMax } = letterLimits;
  if (rps === undefined || rps === 0 || (rps >= rpsMin && rps <= rpsMax)) return rps;
  throw invalidArgument(`Invalid rps: ${rps}; it is ${rpsMin} to ${rpsMax}, or 0 for no limit`);
}

export function checkedConcurrency(concurrency: number | undefined): number | undefined {
  const { concurrencyMax } = letterLimits;
  if (concurrency === undefined || (concurrency >= 1 && concurrency <= concurrencyMax)) return concurrency;
  throw invalidArgument(`Invalid concurrency: ${concurrency}; it is 1 to ${concurrencyMax}`);
}

export function checkedReason(reason: string): string {
  const { reasonCharsMax } = letterLimits;
  const length = charactersIn(reason);
  if (length > reasonCharsMax) throw invalidArgument(`reason has ${length} characters, and may have ${reasonCharsMax}`);
  return reason;
}
