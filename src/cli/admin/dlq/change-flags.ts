/** Flags of the commands that change letters, or what works on them. */
import type { Flag } from '../../command.ts';

export const reasonFlag: Flag = { name: 'reason', value: 'TEXT', help: 'Why, for the audit; up to 500 characters' };

export const waitFlags: readonly Flag[] = [
  { name: 'wait', negatable: true, help: 'Wait until the job has ended; --no-wait prints its id', defaultText: 'yes' },
  { name: 'quiet', help: 'No progress on the terminal' },
  { name: 'log-level', value: 'LEVEL', help: 'info: where there is no terminal, how far it is, a line in 10 s', defaultText: 'warn' },
];

export const changeFlags: readonly Flag[] = [
  { name: 'dry-run', help: 'Make a plan, print what would be done, and do nothing' },
  reasonFlag,
  { name: 'yes', short: 'y', help: 'No questions' },
  ...waitFlags,
];

export const paceFlags: readonly Flag[] = [
  { name: 'rps', value: 'N', help: 'Letters a second, 0.1 to 10000; 0: no limit', defaultText: 'perdure.dlq.mergeRPS' },
  { name: 'concurrency', value: 'N', help: 'Letters at a time, 1 to 64', defaultText: 'perdure.dlq.mergeConcurrency' },
];

export const mergeFlags: readonly Flag[] = [
  ...paceFlags,
  { name: 'task-timeout', value: 'DURATION', help: 'Longest wait for one task, 1s to 10m', defaultText: 'perdure.dlq.mergeTaskTimeout' },
  { name: 'canary', help: 'Steps of 1, 10, 100, 1000 letters, then the rest: each when the last has ended' },
  { name: 'max-failures', value: 'N', help: 'With --canary: more failures pause the job', defaultText: '0' },
  { name: 'override-loop-guard', help: 'Also letters that failed so often that they are quarantined; needs --reason' },
];
