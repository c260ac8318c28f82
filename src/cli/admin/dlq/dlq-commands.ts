/**
 * The commands for dead letters exist twice, once for each kind of queue:
 *
 *     perdure admin dlq …         tasks from other clusters (replication and namespace-replication), selected by --cluster
 *     perdure admin queue dlq …   this cluster’s own tasks, selected by --category
 *
 * Both list the same queues and the same jobs; they differ in the flags that select messages.
 */
import { alternatives } from '../../cli-error.ts';
import { command, type Command, type Example, type ExitCode, type Flag, flag, type Invocation, toggle } from '../../command.ts';
import { callFlags } from '../../connection-flags.ts';
import { changeFlags, mergeFlags, paceFlags, reasonFlag, waitFlags } from './change-flags.ts';
import { listFlags, queueFlags, readFlags, selectorFlags } from './dlq-flags.ts';
import type * as jobsModule from './jobs.ts';
import type { DlqKind } from './service.ts';

export function dlqCommand(kind: DlqKind): Command {
  const isOfOthers = kind === 'admin dlq';
  const whose = isOfOthers ? 'replication tasks from other clusters' : 'this cluster’s own tasks';
  return command('dlq', `Dead letters of ${whose}.`, {
    details: [
      'A dead letter (or DLQ message) is a task that failed for good and was moved out of its queue, so that others do not wait for it. It stays until it is merged (tried again) or purged (deleted).',
      ...(isOfOthers
        ? ['For dead letters of this cluster’s own tasks use perdure admin queue dlq. Only list and job list show both kinds.']
        : []),
    ],
    examples: [
      { what: 'List the queues, largest first', line: `perdure ${kind} list` },
      ...(isOfOthers ? [] : [{ what: 'Read the messages before changing anything', line: line(kind, 'read', '-o text') }]),
    ],
    subcommands: [list, read, count, show, groups, merge, purge, plan, apply, job, restore, audit].map((each) => each(kind)),
  });
}

type OfKind = (kind: DlqKind) => Command;

/** A command line for an example, with the flag that selects a queue of this kind. */
function line(kind: DlqKind, words: string, more = ''): string {
  const queue = kind === 'admin dlq' ? '--cluster cluster-b' : '--category transfer';
  return [`perdure ${kind} ${words} ${queue}`, more].filter((part) => part !== '').join(' ');
}

function examples(kind: DlqKind, words: string, ...others: readonly (readonly [string, string])[]): readonly Example[] {
  return [['For one queue', ''] as const, ...others].map(([what, more]) => ({ what, line: line(kind, words, more) }));
}

const list: OfKind = (kind) =>
  command('list', 'List the queues, largest first, with the number of messages, their age and the most frequent error.', {
    flags: [...queueFlags(kind), ...listFlags],
    examples: [
      { what: 'As a table', line: `perdure ${kind} list` },
      { what: 'As JSON', line: `perdure ${kind} list -o json` },
    ],
    run: async (invocation) => (await import('./queues.ts')).runList(kind, invocation),
  });

const read: OfKind = (kind) =>
  command('read', 'List dead letters in the order of their message ids. Changes nothing.', {
    details: ['Flags that select messages are combined with AND; without any, all messages are selected.'],
    flags: [
      ...queueFlags(kind),
      ...selectorFlags(kind),
      flag('limit', 'N', 'Maximum number of messages', { defaultText: 'all' }),
      flag('page-size', 'N', 'Messages per request, 1000 at most', { defaultText: '1000' }),
      toggle(
        'long',
        kind === 'admin dlq' ? 'All fields of a message instead of eight' : 'Accepted for compatibility; all fields are always shown',
      ),
      toggle('payload', 'Include the task itself'),
      ...readFlags,
    ],
    examples: examples(kind, 'read', ['As a table', '-o text'], ['With one type of error', `--query "ErrorType = 'Internal'" -o jsonl`]),
    run: async (invocation) => (await import('./read.ts')).runRead(kind, invocation),
  });

const count: OfKind = (kind) =>
  command('count', 'Print how many dead letters the command read would list with the same flags.', {
    flags: [...queueFlags(kind), ...selectorFlags(kind), ...callFlags],
    examples: examples(kind, 'count', ['For one namespace', '--namespace orders']),
    run: async (invocation) => (await import('./read.ts')).runCount(kind, invocation),
  });

const show: OfKind = (kind) =>
  command('show', 'Show one dead letter: its task, its errors and its history.', {
    flags: [...queueFlags(kind), ...selectorFlags(kind).filter(({ name }) => /^(message|task|shard)-id$/.test(name)), ...callFlags],
    examples: [{ what: 'Show one by its id', line: line(kind, 'show', '--message-id 41') }],
    run: async (invocation) => (await import('./show.ts')).runShow(kind, invocation),
  });

const groupings = [
  ...['fingerprint', 'cause', 'disposition', 'error-type', 'task-type', 'namespace', 'workflow-type', 'node', 'build', 'source-cluster'],
];

const groups: OfKind = (kind) =>
  command('groups', 'Group dead letters by a field and count them, largest group first.', {
    flags: [
      ...queueFlags(kind),
      ...selectorFlags(kind),
      flag('by', 'FIELD', alternatives(groupings), { choices: groupings, defaultText: 'fingerprint' }),
      flag('limit', 'N', 'Maximum number of groups, up to 100', { defaultText: '100' }),
      ...listFlags,
    ],
    examples: examples(kind, 'groups', ['By workflow type', '--by workflow-type']),
    run: async (invocation) => (await import('./groups.ts')).runGroups(kind, invocation),
  });

const exitCodesOfChange =
  'Exit codes: 0, no selected message is left; 3, the job ended, and selected messages remain (failed, skipped, cancelled or not tried); 1, a named message does not exist, or the job failed.';

const manyJobs =
  'A filter that selects many scattered messages needs several jobs. They run one after the other. If the command ends early, it says how to continue.';

const merge: OfKind = (kind) =>
  command('merge', 'Process dead letters again. A message that fails again stays in its queue.', {
    details: [
      'Messages are selected when the command starts; later ones are not touched. Flags that select messages are combined with AND; without any, all messages are selected.',
      manyJobs,
      exitCodesOfChange,
    ],
    flags: [...queueFlags(kind), ...selectorFlags(kind), ...changeFlags, ...mergeFlags, ...callFlags],
    examples: examples(
      kind,
      'merge',
      ['Show what it would do', '--dry-run'],
      ['In growing steps (1, 10, 100 …), with a pause when a message fails', '--canary'],
      ['For one workflow', '--workflow-id order-1'],
    ),
    run: async (invocation) => (await import('./change.ts')).runChange(kind, 'merge', invocation),
  });

const purge: OfKind = (kind) =>
  command('purge', 'Delete dead letters without processing them.', {
    details: [
      `Look at them first: perdure ${kind} read, with the same flags. On a terminal the command asks for confirmation. Without a terminal it does not ask; if PERDURE_CONFIRM is set to always, it then needs --yes.`,
      manyJobs,
      exitCodesOfChange,
    ],
    flags: [...queueFlags(kind), ...selectorFlags(kind), ...changeFlags, ...callFlags],
    examples: examples(
      kind,
      'purge',
      ['For a range of ids', '--min-message-id 10 --max-message-id 19 --reason "orders of a test"'],
      ['Without asking', '--yes'],
    ),
    run: async (invocation) => (await import('./change.ts')).runChange(kind, 'purge', invocation),
  });

function plan(kind: DlqKind): Command {
  const planned = (operation: 'merge' | 'purge', flags: readonly Flag[]): Command =>
    command(operation, `Select dead letters to ${operation}; the plan can be applied for an hour. Changes no message.`, {
      flags: [...queueFlags(kind), ...selectorFlags(kind), reasonFlag, ...flags, ...callFlags],
      examples: examples(kind, `plan ${operation}`, ['With a filter', `--query "Cause = 'permanent-error'"`]),
      run: async (invocation) => (await import('./change.ts')).runPlan(kind, operation, invocation),
    });
  return command('plan', 'Select dead letters now, to change exactly these later.', {
    examples: examples(kind, 'plan merge'),
    subcommands: [planned('merge', mergeFlags), planned('purge', [])],
  });
}

const apply: OfKind = (kind) =>
  command('apply', 'Apply a plan: merge or purge the messages that it selected.', {
    details: [exitCodesOfChange],
    args: [{ name: 'PLAN', help: 'Plan id, as printed by plan and --dry-run' }],
    flags: [flag('hash', 'HEX', 'Refuse the plan unless it has this hash'), ...waitFlags, ...callFlags],
    examples: [{ what: 'Apply a plan and wait for its job', line: `perdure ${kind} apply 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90` }],
    run: async (invocation) => (await import('./change.ts')).runApply(kind, invocation),
  });

const restore: OfKind = (kind) =>
  command('restore', 'Return purged dead letters to their queue, within the undo window.', {
    details: [
      'Exit codes: 0, all are back in their queue; 3, the job ended, and some are not (failed, skipped, cancelled or not tried); 1, a named message does not exist, or the job failed.',
    ],
    flags: [
      ...queueFlags(kind),
      flag('message-id', 'ID', 'Id of a purged message', { repeat: true }),
      flag('job', 'JOB', 'Id of a purge job: restore all messages that it purged'),
      reasonFlag,
      ...waitFlags,
      ...callFlags,
    ],
    examples: [
      { what: 'Restore one message', line: line(kind, 'restore', '--message-id 41') },
      { what: 'Undo a purge', line: `perdure ${kind} restore --job 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90` },
    ],
    run: async (invocation) => (await import('./restore.ts')).runRestore(kind, invocation),
  });

const audit: OfKind = (kind) =>
  command('audit', 'Show who changed which dead letters, when and why, newest first.', {
    details: ['The topic <prefix>.audit has the same entries as JSON, so any Kafka tool can read them.'],
    flags: [
      ...queueFlags(kind),
      flag('job', 'JOB', 'Only entries of this job'),
      flag('message-id', 'ID', 'Only entries about this message'),
      flag('limit', 'N', 'Maximum number of entries; 0 means all', { defaultText: '100' }),
      ...listFlags,
    ],
    examples: examples(kind, 'audit', ['For one message', '--message-id 41']),
    run: async (invocation) => (await import('./audit.ts')).runAudit(kind, invocation),
  });

function job(kind: DlqKind): Command {
  const ofOne = (name: string, summary: string, flags: readonly Flag[], run: JobAction, more = ''): Command =>
    command(name, summary, {
      args: [{ name: 'JOB', help: 'Job id' }],
      flags: [...flags, ...callFlags],
      examples: [{ what: 'For one job', line: `perdure ${kind} job ${name} 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90${more}` }],
      run: async (invocation) => run(await import('./jobs.ts'), invocation),
    });
  const running: Example = { what: 'List running jobs', line: `perdure ${kind} job list --active` };
  const pace = paceFlags.map(({ name, value = '', help }) => ({ name, value, help }));
  const cancels = 'Cancel a job: messages in progress are finished, the others are not touched.';
  const waits = 'Wait for a job to end, with the output and exit codes of merge and purge.';
  return command('job', 'Jobs that merge, purge or restore dead letters.', {
    examples: [running],
    subcommands: [
      command('list', 'List jobs, newest first.', {
        flags: [
          ...queueFlags(kind).filter(({ name }) => name !== 'dlq-type'),
          toggle('active', 'Only jobs that have not ended'),
          flag('limit', 'N', 'Maximum number of jobs; 0 means all', { defaultText: '100' }),
          ...listFlags,
        ],
        examples: [running],
        run: async (invocation) => (await import('./jobs.ts')).runListJobs(invocation),
      }),
      ofOne('describe', 'Show a job: its progress and its failures.', [], (jobs, invocation) => jobs.runDescribeJob(invocation)),
      ofOne('watch', waits, waitFlags.slice(1), (jobs, invocation) => jobs.runWatchJob(kind, invocation)),
      ofOne('pause', 'Pause a job.', [reasonFlag], (jobs, invocation) => jobs.runPauseJob(invocation)),
      ofOne('resume', 'Resume a paused job.', [reasonFlag], (jobs, invocation) => jobs.runResumeJob(invocation)),
      ofOne('cancel', cancels, [reasonFlag], (jobs, invocation) => jobs.runCancelJob(invocation)),
      ofOne(
        'update',
        'Change the rate and concurrency of a running job.',
        [...pace, reasonFlag],
        (jobs, invocation) => jobs.runUpdateJob(invocation),
        ' --rps 20',
      ),
    ],
  });
}

type JobAction = (jobs: typeof jobsModule, invocation: Invocation) => Promise<ExitCode>;
