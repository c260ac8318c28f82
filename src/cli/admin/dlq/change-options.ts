import { parseDurationMs } from '../../../config/duration.ts';
import { charactersIn } from '../../../kernel/utf8.ts';
import type { JobOptions } from '../../../wire/generated/api/deadletter/service.ts';
import { usageError } from '../../cli-error.ts';
import type { FlagValues } from '../../command.ts';
import { count } from './read.ts';

const reasonCharsMax = 500;

export type Pace = Pick<JobOptions, 'rps' | 'concurrency'>;

export function reasonOf(flags: FlagValues): string {
  const reason = flags.one('reason') ?? '';
  const length = charactersIn(reason);
  if (length <= reasonCharsMax) return reason;
  throw usageError(`--reason has ${length} characters, and may have ${reasonCharsMax}`);
}

export function jobOptionsOf(flags: FlagValues): JobOptions {
  const overrideLoopGuard = flags.switched('override-loop-guard') === true;
  if (overrideLoopGuard && reasonOf(flags) === '') throw usageError('--override-loop-guard needs --reason');
  const canary = flags.switched('canary') === true;
  if (!canary && flags.one('max-failures') !== undefined) throw usageError('--max-failures goes with --canary');
  return {
    ...paceOf(flags),
    taskTimeoutMs: taskTimeoutMs(flags.one('task-timeout')),
    canary,
    maxFailures: count(flags, 'max-failures', 0),
    overrideLoopGuard,
  };
}

export function paceOf(flags: FlagValues): Pace {
  return {
    rps: number(flags, 'rps', (value) => value === 0 || (value >= 0.1 && value <= 10_000), '0.1 to 10000, or 0 for no limit'),
    concurrency: number(flags, 'concurrency', (value) => Number.isInteger(value) && value >= 1 && value <= 64, '1 to 64'),
  };
}

function number(flags: FlagValues, name: string, isFit: (value: number) => boolean, expected: string): number | undefined {
  const given = flags.one(name);
  if (given === undefined) return undefined;
  const value = /^\d+(\.\d+)?$/.test(given) ? Number(given) : Number.NaN;
  if (isFit(value)) return value;
  throw usageError(`--${name}: expected ${expected}, got "${given}"`);
}

/** 0 means the server's default. */
function taskTimeoutMs(given: string | undefined): number {
  if (given === undefined) return 0;
  const ms = parseDurationMs(given);
  if (ms !== undefined && ms >= 1_000 && ms <= 600_000) return ms;
  throw usageError(`--task-timeout: expected 1s to 10m, got "${given}"`);
}
