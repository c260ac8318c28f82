import type { Flag } from '../../command.ts';
import { logLevels } from '../../global-flags.ts';

export const reasonFlag: Flag = { name: 'reason', value: 'TEXT', help: 'Reason to record in the audit, up to 500 characters' };

export const waitFlags: readonly Flag[] = [
  { name: 'wait', negatable: true, help: 'Wait until the job ends; --no-wait prints its id and returns', defaultText: 'yes' },
  { name: 'quiet', help: 'Show no progress on the terminal' },
  {
    name: 'log-level',
    value: 'LEVEL',
    choices: logLevels,
    help: 'With info and without a terminal, progress is logged every 10 s',
    defaultText: 'warn',
  },
];

export const changeFlags: readonly Flag[] = [
  { name: 'dry-run', help: 'Make a plan and print it, without applying it' },
  reasonFlag,
  { name: 'yes', short: 'y', help: 'Ask no questions' },
  ...waitFlags,
];

export const paceFlags: readonly Flag[] = [
  { name: 'rps', value: 'N', help: 'Messages per second, 0.1 to 10000; 0 means no limit', defaultText: 'perdure.dlq.mergeRPS' },
  { name: 'concurrency', value: 'N', help: 'Messages at a time, 1 to 64', defaultText: 'perdure.dlq.mergeConcurrency' },
];

export const mergeFlags: readonly Flag[] = [
  ...paceFlags,
  {
    name: 'task-timeout',
    value: 'DURATION',
    help: 'How long to wait for one task, 1s to 10m',
    defaultText: 'perdure.dlq.mergeTaskTimeout',
  },
  { name: 'canary', help: 'Merge in steps of 1, 10, 100 and 1000 messages, then the rest; each step waits for the previous one' },
  { name: 'max-failures', value: 'N', help: 'With --canary: pause the job when more messages than this have failed', defaultText: '0' },
  { name: 'override-loop-guard', help: 'Also merge quarantined dead letters, which failed in too many merges; needs --reason' },
];
