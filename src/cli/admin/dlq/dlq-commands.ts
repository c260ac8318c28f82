/**
 * The commands for dead letters exist twice, once for each kind of queue:
 *
 *     perdure admin dlq …         tasks from other clusters (replication and namespace-replication), selected by --cluster
 *     perdure admin queue dlq …   this cluster’s own tasks, selected by --category
 *
 * Both list the same queues and the same jobs; they differ in the flags that select messages.
 */
import { alternatives } from '../../cli-error.ts';
import type { Command, Example, Flag } from '../../command.ts';
import { callFlags } from '../../connection-flags.ts';
import { changeFlags, mergeFlags, paceFlags, reasonFlag, waitFlags } from './change-flags.ts';
import { listFlags, queueFlags, readFlags, selectorFlags } from './dlq-flags.ts';
import type { DlqKind } from './service.ts';

export function dlqCommand(kind: DlqKind): Command {
  return {
    name: 'dlq',
    summary: kind === 'admin dlq' ? 'Dead letters of replication tasks from other clusters.' : 'Dead letters of this cluster’s own tasks.',
    details: [
      'A dead letter (or DLQ message) is a task that failed for good and was moved out of its queue, so that others do not wait for it. It stays until it is merged (tried again) or purged (deleted).',
      ...(kind === 'admin dlq'
        ? ['For dead letters of this cluster’s own tasks use perdure admin queue dlq. Only list and job list show both kinds.']
        : []),
    ],
    examples: [
      { what: 'List the queues, largest first', line: `perdure ${kind} list` },
      ...(kind === 'admin dlq'
        ? []
        : [{ what: 'Read the messages before changing anything', line: `perdure ${kind} read --category transfer -o text` }]),
    ],
    subcommands: [
      ...[list, read, count, show, groups].map((command) => command(kind)),
      ...[merge, purge, plan, apply, job, restore, audit].map((command) => command(kind)),
    ],
  };
}

/** A command line for an example, with the flag that selects a queue of this kind. */
function line(kind: DlqKind, command: string, more = ''): string {
  const queue = kind === 'admin dlq' ? '--cluster cluster-b' : '--category transfer';
  return [`perdure ${kind} ${command} ${queue}`, more].filter((part) => part !== '').join(' ');
}

function examples(kind: DlqKind, command: string, ...others: readonly (readonly [string, string])[]): readonly Example[] {
  return [['For one queue', ''] as const, ...others].map(([what, more]) => ({ what, line: line(kind, command, more) }));
}

function list(kind: DlqKind): Command {
  return {
    name: 'list',
    summary: 'List the queues, largest first, with the number of messages, their age and the most frequent error.',
    flags: [...queueFlags(kind), ...listFlags],
    examples: [
      { what: 'As a table', line: `perdure ${kind} list` },
      { what: 'As JSON', line: `perdure ${kind} list -o json` },
    ],
    run: async (invocation) => (await import('./queues.ts')).runList(kind, invocation),
  };
}

function read(kind: DlqKind): Command {
  return {
    name: 'read',
    summary: 'List dead letters in the order of their message ids. Changes nothing.',
    details: ['Flags that select messages are combined with AND; without any, all messages are selected.'],
    flags: [
      ...queueFlags(kind),
      ...selectorFlags(kind),
      { name: 'limit', value: 'N', help: 'Maximum number of messages', defaultText: 'all' },
      { name: 'page-size', value: 'N', help: 'Messages per request, 1000 at most', defaultText: '1000' },
      {
        name: 'long',
        help: kind === 'admin dlq' ? 'All fields of a message instead of eight' : 'Accepted for compatibility; all fields are always shown',
      },
      { name: 'payload', help: 'Include the task itself' },
      ...readFlags,
    ],
    examples: examples(kind, 'read', ['As a table', '-o text'], ['With one type of error', `--query "ErrorType = 'Internal'" -o jsonl`]),
    run: async (invocation) => (await import('./read.ts')).runRead(kind, invocation),
  };
}

function count(kind: DlqKind): Command {
  return {
    name: 'count',
    summary: 'Print how many dead letters the command read would list with the same flags.',
    flags: [...queueFlags(kind), ...selectorFlags(kind), ...callFlags],
    examples: examples(kind, 'count', ['For one namespace', '--namespace orders']),
    run: async (invocation) => (await import('./read.ts')).runCount(kind, invocation),
  };
}

function show(kind: DlqKind): Command {
  return {
    name: 'show',
    summary: 'Show one dead letter: its task, its errors and its history.',
    flags: [...queueFlags(kind), ...selectorFlags(kind).filter(({ name }) => /^(message|task|shard)-id$/.test(name)), ...callFlags],
    examples: [{ what: 'Show one by its id', line: line(kind, 'show', '--message-id 41') }],
    run: async (invocation) => (await import('./show.ts')).runShow(kind, invocation),
  };
}

const groupings = [
  ...['fingerprint', 'cause', 'disposition', 'error-type', 'task-type', 'namespace', 'workflow-type', 'node', 'build', 'source-cluster'],
];

function groups(kind: DlqKind): Command {
  return {
    name: 'groups',
    summary: 'Group dead letters by a field and count them, largest group first.',
    flags: [
      ...queueFlags(kind),
      ...selectorFlags(kind),
      {
        name: 'by',
        value: 'FIELD',
        choices: groupings,
        help: alternatives(groupings),
        defaultText: 'fingerprint',
      },
      { name: 'limit', value: 'N', help: 'Maximum number of groups, up to 100', defaultText: '100' },
      ...listFlags,
    ],
    examples: examples(kind, 'groups', ['By workflow type', '--by workflow-type']),
    run: async (invocation) => (await import('./groups.ts')).runGroups(kind, invocation),
  };
}

const exitCodesOfChange =
  'Exit codes: 0, no selected message is left; 3, the job ended, and selected messages remain (failed, skipped, cancelled or not tried); 1, a named message does not exist, or the job failed.';

const manyJobs =
  'A filter that selects many scattered messages needs several jobs. They run one after the other. If the command ends early, it says how to continue.';

function merge(kind: DlqKind): Command {
  return {
    name: 'merge',
    summary: 'Process dead letters again. A message that fails again stays in its queue.',
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
  };
}

function purge(kind: DlqKind): Command {
  return {
    name: 'purge',
    summary: 'Delete dead letters without processing them.',
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
  };
}

function plan(kind: DlqKind): Command {
  const planned = (operation: 'merge' | 'purge', flags: readonly Flag[]): Command => ({
    name: operation,
    summary: `Select dead letters to ${operation}; the plan can be applied for an hour. Changes no message.`,
    flags: [...queueFlags(kind), ...selectorFlags(kind), reasonFlag, ...flags, ...callFlags],
    examples: examples(kind, `plan ${operation}`, ['With a filter', `--query "Cause = 'permanent-error'"`]),
    run: async (invocation) => (await import('./change.ts')).runPlan(kind, operation, invocation),
  });
  return {
    name: 'plan',
    summary: 'Select dead letters now, to change exactly these later.',
    examples: examples(kind, 'plan merge'),
    subcommands: [planned('merge', mergeFlags), planned('purge', [])],
  };
}

function apply(kind: DlqKind): Command {
  return {
    name: 'apply',
    summary: 'Apply a plan: merge or purge the messages that it selected.',
    details: [exitCodesOfChange],
    args: [{ name: 'PLAN', help: 'Plan id, as printed by plan and --dry-run' }],
    flags: [{ name: 'hash', value: 'HEX', help: 'Refuse the plan unless it has this hash' }, ...waitFlags, ...callFlags],
    examples: [{ what: 'Apply a plan and wait for its job', line: `perdure ${kind} apply 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90` }],
    run: async (invocation) => (await import('./change.ts')).runApply(kind, invocation),
  };
}

function restore(kind: DlqKind): Command {
  return {
    name: 'restore',
    summary: 'Return purged dead letters to their queue, within the undo window.',
    details: [
      'Exit codes: 0, all are back in their queue; 3, the job ended, and some are not (failed, skipped, cancelled or not tried); 1, a named message does not exist, or the job failed.',
    ],
    flags: [
      ...queueFlags(kind),
      { name: 'message-id', value: 'ID', help: 'Id of a purged message', repeat: true },
      { name: 'job', value: 'JOB', help: 'Id of a purge job: restore all messages that it purged' },
      reasonFlag,
      ...waitFlags,
      ...callFlags,
    ],
    examples: [
      { what: 'Restore one message', line: line(kind, 'restore', '--message-id 41') },
      { what: 'Undo a purge', line: `perdure ${kind} restore --job 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90` },
    ],
    run: async (invocation) => (await import('./restore.ts')).runRestore(kind, invocation),
  };
}

function audit(kind: DlqKind): Command {
  return {
    name: 'audit',
    summary: 'Show who changed which dead letters, when and why, newest first.',
    details: ['The topic <prefix>.audit has the same entries as JSON, so any Kafka tool can read them.'],
    flags: [
      ...queueFlags(kind),
      { name: 'job', value: 'JOB', help: 'Only entries of this job' },
      { name: 'message-id', value: 'ID', help: 'Only entries about this message' },
      { name: 'limit', value: 'N', help: 'Maximum number of entries; 0 means all', defaultText: '100' },
      ...listFlags,
    ],
    examples: examples(kind, 'audit', ['For one message', '--message-id 41']),
    run: async (invocation) => (await import('./audit.ts')).runAudit(kind, invocation),
  };
}

type JobAction = NonNullable<Command['run']>;

function job(kind: DlqKind): Command {
  const ofOne = (name: string, summary: string, flags: readonly Flag[], run: JobAction, more = ''): Command => ({
    name,
    summary,
    args: [{ name: 'JOB', help: 'Job id' }],
    flags: [...flags, ...callFlags],
    examples: [{ what: 'For one job', line: `perdure ${kind} job ${name} 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90${more}` }],
    run,
  });
  return {
    name: 'job',
    summary: 'Jobs that merge, purge or restore dead letters.',
    examples: [{ what: 'List running jobs', line: `perdure ${kind} job list --active` }],
    subcommands: [
      {
        name: 'list',
        summary: 'List jobs, newest first.',
        flags: [
          ...queueFlags(kind).filter(({ name }) => name !== 'dlq-type'),
          { name: 'active', help: 'Only jobs that have not ended' },
          { name: 'limit', value: 'N', help: 'Maximum number of jobs; 0 means all', defaultText: '100' },
          ...listFlags,
        ],
        examples: [{ what: 'List running jobs', line: `perdure ${kind} job list --active` }],
        run: async (invocation) => (await import('./jobs.ts')).runListJobs(invocation),
      },
      ofOne('describe', 'Show a job: its progress and its failures.', [], async (invocation) =>
        (await import('./jobs.ts')).runDescribeJob(invocation),
      ),
      ofOne('watch', 'Wait for a job to end, with the output and exit codes of merge and purge.', waitFlags.slice(1), async (invocation) =>
        (await import('./jobs.ts')).runWatchJob(kind, invocation),
      ),
      ofOne('pause', 'Pause a job.', [reasonFlag], async (invocation) => (await import('./jobs.ts')).runPauseJob(invocation)),
      ofOne('resume', 'Resume a paused job.', [reasonFlag], async (invocation) => (await import('./jobs.ts')).runResumeJob(invocation)),
      ofOne('cancel', 'Cancel a job: messages in progress are finished, the others are not touched.', [reasonFlag], async (invocation) =>
        (await import('./jobs.ts')).runCancelJob(invocation),
      ),
      ofOne(
        'update',
        'Change the rate and concurrency of a running job.',
        [...paceFlags.map(({ name, value = '', help }) => ({ name, value, help })), reasonFlag],
        async (invocation) => (await import('./jobs.ts')).runUpdateJob(invocation),
        ' --rps 20',
      ),
    ],
  };
}
