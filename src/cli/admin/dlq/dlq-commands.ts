/**
 * Commands over dead letters, once for each kind of queue:
 *
 *     perdure admin dlq …         what other clusters sent: replication and namespace-replication, by --cluster
 *     perdure admin queue dlq …   this cluster’s own tasks, by --category
 *
 * Both list the same queues and the same jobs; they differ in what a selection is made of.
 */
import type { Command, Example, Flag } from '../../command.ts';
import { changeFlags, mergeFlags, paceFlags, reasonFlag, waitFlags } from './change-flags.ts';
import { callFlags, outputFlags, queueFlags, readOutputFlags, selectorFlags } from './dlq-flags.ts';
import type { DlqKind } from './dlq-kind.ts';

export function dlqCommand(kind: DlqKind): Command {
  return {
    name: 'dlq',
    summary: kind === 'admin dlq' ? 'Dead letters of replication from other clusters.' : 'Dead letters of this cluster’s own tasks.',
    details: [
      'A dead letter (a DLQ message) is a task that failed for good and was moved out of the way of others. It stays until it is merged or purged.',
      ...(kind === 'admin dlq'
        ? ['For dead letters of this cluster’s own tasks use perdure admin queue dlq. Only list and job list show those of both.']
        : []),
    ],
    examples: [
      { what: 'The queues, largest first', line: `perdure ${kind} list` },
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

/** A command line of either kind. */
function line(kind: DlqKind, command: string, more = ''): string {
  const queue = kind === 'admin dlq' ? '--cluster cluster-b' : '--category transfer';
  return [`perdure ${kind} ${command} ${queue}`, more].filter((part) => part !== '').join(' ');
}

function examples(kind: DlqKind, command: string, ...others: readonly (readonly [string, string])[]): readonly Example[] {
  return [['Of one queue', ''] as const, ...others].map(([what, more]) => ({ what, line: line(kind, command, more) }));
}

function list(kind: DlqKind): Command {
  return {
    name: 'list',
    summary: 'List the queues, largest first: number of messages, age, most frequent error.',
    flags: [...queueFlags(kind), ...outputFlags, ...callFlags],
    examples: [
      { what: 'All of them', line: `perdure ${kind} list` },
      { what: 'For a script', line: `perdure ${kind} list -o json` },
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
      ...readOutputFlags,
      ...callFlags,
    ],
    examples: examples(kind, 'read', ['As a table', '-o text'], ['By what went wrong', `--query "ErrorType = 'Internal'" -o jsonl`]),
    run: async (invocation) => (await import('./read.ts')).runRead(kind, invocation),
  };
}

function count(kind: DlqKind): Command {
  return {
    name: 'count',
    summary: 'Print how many messages read would list with the same flags.',
    flags: [...queueFlags(kind), ...selectorFlags(kind), ...outputFlags.slice(0, 1), ...callFlags],
    examples: examples(kind, 'count', ['Of one namespace', '--namespace orders']),
    run: async (invocation) => (await import('./read.ts')).runCount(kind, invocation),
  };
}

function show(kind: DlqKind): Command {
  return {
    name: 'show',
    summary: 'Show one dead letter: its task, its errors and its history.',
    flags: [
      ...queueFlags(kind),
      ...selectorFlags(kind).filter(({ name }) => /^(message|task|shard)-id$/.test(name)),
      ...outputFlags.slice(0, 1),
      ...callFlags,
    ],
    examples: [{ what: 'By its id', line: line(kind, 'show', '--message-id 41') }],
    run: async (invocation) => (await import('./show.ts')).runShow(kind, invocation),
  };
}

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
        help: 'fingerprint, cause, disposition, error-type, task-type, namespace, workflow-type, node, build or source-cluster',
        defaultText: 'fingerprint',
      },
      { name: 'limit', value: 'N', help: 'Maximum number of groups, up to 100', defaultText: '100' },
      ...outputFlags,
      ...callFlags,
    ],
    examples: examples(kind, 'groups', ['By workflow type', '--by workflow-type']),
    run: async (invocation) => (await import('./groups.ts')).runGroups(kind, invocation),
  };
}

const exitCodesOfChange =
  'Exit code 0: no selected message is left; 3: the job ended, and selected messages remain (failed, skipped, cancelled or not tried); 1: a named message does not exist, or the job failed.';

const manyJobs =
  'A filter that selects many scattered messages needs several jobs. They run one after the other; where the command ends early it says how to go on.';

function merge(kind: DlqKind): Command {
  return {
    name: 'merge',
    summary: 'Process dead letters again. A message that fails again stays in its queue.',
    details: [
      'Messages are selected when the command starts: later ones are not touched. Flags that select messages are combined with AND; without any, all messages are selected.',
      manyJobs,
      exitCodesOfChange,
    ],
    flags: [...queueFlags(kind), ...selectorFlags(kind), ...changeFlags, ...mergeFlags, ...outputFlags.slice(0, 1), ...callFlags],
    examples: examples(
      kind,
      'merge',
      ['What it would do', '--dry-run'],
      ['Carefully: 1, 10, 100 messages, and pause when one fails', '--canary'],
      ['All messages of one workflow', '--workflow-id order-1'],
    ),
    run: async (invocation) => (await import('./change.ts')).runChange(kind, 'merge', invocation),
  };
}

function purge(kind: DlqKind): Command {
  return {
    name: 'purge',
    summary: 'Delete dead letters without processing them.',
    details: [
      `Read them first: perdure ${kind} read, with the same flags. On a terminal the command asks for confirmation. Elsewhere it does not, unless PERDURE_CONFIRM is always: then it needs --yes.`,
      manyJobs,
      exitCodesOfChange,
    ],
    flags: [...queueFlags(kind), ...selectorFlags(kind), ...changeFlags, ...outputFlags.slice(0, 1), ...callFlags],
    examples: examples(
      kind,
      'purge',
      ['A range', '--min-message-id 10 --max-message-id 19 --reason "orders of a test"'],
      ['Without a question', '--yes'],
    ),
    run: async (invocation) => (await import('./change.ts')).runChange(kind, 'purge', invocation),
  };
}

function plan(kind: DlqKind): Command {
  const planned = (operation: 'merge' | 'purge', flags: readonly Flag[]): Command => ({
    name: operation,
    summary: `Select dead letters to ${operation}, and keep the selection for an hour. Changes no message.`,
    flags: [...queueFlags(kind), ...selectorFlags(kind), reasonFlag, ...flags, ...outputFlags.slice(0, 1), ...callFlags],
    examples: examples(kind, `plan ${operation}`, ['By a filter', `--query "Cause = 'permanent-error'"`]),
    run: async (invocation) => (await import('./change.ts')).runPlan(kind, operation, invocation),
  });
  return {
    name: 'plan',
    summary: 'Select dead letters now and change exactly these later.',
    examples: examples(kind, 'plan merge'),
    subcommands: [planned('merge', mergeFlags), planned('purge', [])],
  };
}

function apply(kind: DlqKind): Command {
  return {
    name: 'apply',
    summary: 'Carry out a plan.',
    details: [exitCodesOfChange],
    args: [{ name: 'PLAN', help: 'Plan id, as printed by plan and --dry-run' }],
    flags: [
      { name: 'hash', value: 'HEX', help: 'Refuse the plan unless it has this hash' },
      ...waitFlags,
      ...outputFlags.slice(0, 1),
      ...callFlags,
    ],
    examples: [{ what: 'Apply a plan and wait for its job', line: `perdure ${kind} apply 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90` }],
    run: async (invocation) => (await import('./change.ts')).runApply(kind, invocation),
  };
}

function restore(kind: DlqKind): Command {
  return {
    name: 'restore',
    summary: 'Return purged dead letters to their queue, within the undo window.',
    details: [
      'Exit code 0: all are back; 3: the job ended, and some are not back (failed, skipped, cancelled or not tried); 1: a named message does not exist, or the job failed.',
    ],
    flags: [
      ...queueFlags(kind),
      { name: 'message-id', value: 'ID', help: 'A purged message', repeat: true },
      { name: 'job', value: 'JOB', help: 'All messages that this job purged' },
      reasonFlag,
      ...waitFlags,
      ...outputFlags.slice(0, 1),
      ...callFlags,
    ],
    examples: [
      { what: 'One message', line: line(kind, 'restore', '--message-id 41') },
      { what: 'Undo a purge', line: `perdure ${kind} restore --job 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90` },
    ],
    run: async (invocation) => (await import('./restore.ts')).runRestore(kind, invocation),
  };
}

function audit(kind: DlqKind): Command {
  return {
    name: 'audit',
    summary: 'Show who changed which dead letters, when and why, newest first.',
    details: ['The topic <prefix>.audit has the same entries as JSON, for any Kafka tool.'],
    flags: [
      ...queueFlags(kind),
      { name: 'job', value: 'JOB', help: 'Only entries of this job' },
      { name: 'message-id', value: 'ID', help: 'Only entries about this message' },
      { name: 'limit', value: 'N', help: 'Maximum number of entries; 0 means all', defaultText: '100' },
      ...outputFlags,
      ...callFlags,
    ],
    examples: examples(kind, 'audit', ['The entries about one message', '--message-id 41']),
    run: async (invocation) => (await import('./audit.ts')).runAudit(kind, invocation),
  };
}

type JobAction = NonNullable<Command['run']>;

function job(kind: DlqKind): Command {
  const ofOne = (name: string, summary: string, flags: readonly Flag[], run: JobAction, more = ''): Command => ({
    name,
    summary,
    args: [{ name: 'JOB', help: 'Job id' }],
    flags: [...flags, ...outputFlags.slice(0, 1), ...callFlags],
    examples: [{ what: 'By its id', line: `perdure ${kind} job ${name} 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90${more}` }],
    run,
  });
  return {
    name: 'job',
    summary: 'Jobs that merge, purge or restore dead letters.',
    examples: [{ what: 'Running jobs', line: `perdure ${kind} job list --active` }],
    subcommands: [
      {
        name: 'list',
        summary: 'List jobs, newest first.',
        flags: [
          ...queueFlags(kind).filter(({ name }) => name !== 'dlq-type'),
          { name: 'active', help: 'Only jobs that have not ended' },
          { name: 'limit', value: 'N', help: 'Maximum number of jobs; 0 means all', defaultText: '100' },
          ...outputFlags,
          ...callFlags,
        ],
        examples: [{ what: 'Running jobs', line: `perdure ${kind} job list --active` }],
        run: async (invocation) => (await import('./jobs.ts')).runListJobs(invocation),
      },
      ofOne('describe', 'Show a job: its progress and its failures.', [], async (invocation) =>
        (await import('./jobs.ts')).runDescribeJob(invocation),
      ),
      ofOne('watch', 'Wait for a job to end; prints and exits as merge and purge do.', waitFlags.slice(1), async (invocation) =>
        (await import('./jobs.ts')).runWatchJob(kind, invocation),
      ),
      ofOne('pause', 'Pause a job.', [reasonFlag], async (invocation) => (await import('./jobs.ts')).runPauseJob(invocation)),
      ofOne('resume', 'Resume a paused job.', [reasonFlag], async (invocation) => (await import('./jobs.ts')).runResumeJob(invocation)),
      ofOne('cancel', 'Cancel a job: messages in progress are finished, the rest is left.', [reasonFlag], async (invocation) =>
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
