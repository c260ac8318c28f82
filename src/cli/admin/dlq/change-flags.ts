/** Flags of the commands that change letters, or what works on them. */
import type { Flag } from '../../command.ts';

export const reasonFlag: Flag = { name: 'reason', value: 'TEXT', help: 'Reason to record in the audit, up to 500 characters' };

export const waitFlags: readonly Flag[] = [
  { name: 'wait', negatable: true, help: 'Wait for the job to end; --no-wait prints its id and returns', defaultText: 'yes' },
  { name: 'quiet', help: 'Show no progress on the terminal' },
  { name: 'log-level', value: 'LEVEL', help: 'With info, progress is logged every 10 s where there is no terminal', defaultText: 'warn' },
];

export const changeFlags: readonly Flag[] = [
  { name: 'dry-run', help: 'Make a plan and print what would be done, without doing it' },
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
  { name: 'canary', help: 'Work in steps of 1, 10, 100 and 1000 messages, then the rest; each step waits for the one before' },
  { name: 'max-failures', value: 'N', help: 'With --canary: pause the job after more failures than this', defaultText: '0' },
  { name: 'override-loop-guard', help: 'Include quarantined dead letters, which failed in too many merges; needs --reason' },
];
