import { type Flag, flag, toggle } from '../../command.ts';
import { logLevels } from '../../global-flags.ts';

export const reasonFlag = flag('reason', 'TEXT', 'Reason to record in the audit, up to 500 characters');

export const waitFlags: readonly Flag[] = [
  toggle('wait', 'Wait until the job ends; --no-wait prints its id and returns', { negatable: true, defaultText: 'yes' }),
  toggle('quiet', 'Show no progress on the terminal'),
  flag('log-level', 'LEVEL', 'With info and without a terminal, progress is logged every 10 s', {
    choices: logLevels,
    defaultText: 'warn',
  }),
];

export const changeFlags: readonly Flag[] = [
  toggle('dry-run', 'Make a plan and print it, without applying it'),
  reasonFlag,
  toggle('yes', 'Ask no questions', { short: 'y' }),
  ...waitFlags,
];

export const paceFlags: readonly Flag[] = [
  flag('rps', 'N', 'Messages per second, 0.1 to 10000; 0 means no limit', { defaultText: 'perdure.dlq.mergeRPS' }),
  flag('concurrency', 'N', 'Messages at a time, 1 to 64', { defaultText: 'perdure.dlq.mergeConcurrency' }),
];

export const mergeFlags: readonly Flag[] = [
  ...paceFlags,
  flag('task-timeout', 'DURATION', 'How long to wait for one task, 1s to 10m', { defaultText: 'perdure.dlq.mergeTaskTimeout' }),
  toggle('canary', 'Merge in steps of 1, 10, 100 and 1000 messages, then the rest; each step waits for the previous one'),
  flag('max-failures', 'N', 'With --canary: pause the job when more messages than this have failed', { defaultText: '0' }),
  toggle('override-loop-guard', 'Also merge quarantined dead letters, which failed in too many merges; needs --reason'),
];
