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
      'A dead letter is a task that failed for good and was put aside, so that it holds up nothing. It stays until it is merged or purged.',
      ...(kind === 'admin dlq'
        ? ['For dead letters of this cluster’s own tasks use perdure admin queue dlq. Only list and job list show those of both.']
        : []),
    ],
    examples: [
      { what: 'The queues, most letters first', line: `perdure ${kind} list` },
      ...(kind === 'admin dlq'
        ? []
        : [{ what: 'Look before anything is changed', line: `perdure ${kind} read --category transfer -o text` }]),
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
    summary: 'Show the queues: how many letters, how old, which error most often. Most letters first.',
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
    summary: 'List letters, in the order of their ids. Changes nothing.',
    details: ['Flags that choose letters hold together; without any it is all letters.'],
    flags: [
      ...queueFlags(kind),
      ...selectorFlags(kind),
      { name: 'limit', value: 'N', help: 'At most so many', defaultText: 'all' },
      { name: 'page-size', value: 'N', help: 'Letters of one request, 1000 at most', defaultText: '1000' },
      {
        name: 'long',
        help: kind === 'admin dlq' ? 'All fields of a letter, not eight' : 'All fields of a letter; accepted, they are always there',
      },
      { name: 'payload', help: 'With the task itself' },
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
    summary: 'Print how many letters read would list with the same flags.',
    flags: [...queueFlags(kind), ...selectorFlags(kind), ...outputFlags.slice(0, 1), ...callFlags],
    examples: examples(kind, 'count', ['Of one namespace', '--namespace orders']),
    run: async (invocation) => (await import('./read.ts')).runCount(kind, invocation),
  };
}

function show(kind: DlqKind): Command {
  return {
    name: 'show',
    summary: 'Show one letter: its task, its errors, and what befell it.',
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
    summary: 'Count letters by what they have in common, most letters first.',
    flags: [
      ...queueFlags(kind),
      ...selectorFlags(kind),
      {
        name: 'by',
        value: 'FIELD',
        help: 'fingerprint, cause, disposition, error-type, task-type, namespace, workflow-type, node, build or source-cluster',
        defaultText: 'fingerprint',
      },
      { name: 'limit', value: 'N', help: 'At most so many groups, 100 at most', defaultText: '100' },
      ...outputFlags,
      ...callFlags,
    ],
    examples: examples(kind, 'groups', ['By workflow type', '--by workflow-type']),
    run: async (invocation) => (await import('./groups.ts')).runGroups(kind, invocation),
  };
}

const exitCodesOfChange =
  'Exit code 0: none of them is left; 3: it has ended, and letters remain (failed, skipped, cancelled or not tried); 1: what was named is not there, or the job failed.';

function merge(kind: DlqKind): Command {
  return {
    name: 'merge',
    summary: 'Process letters again. What fails again stays, with one failure more.',
    details: [
      'Which letters is decided at once: one that comes later is not touched. Flags that choose hold together; without any it is all letters.',
      exitCodesOfChange,
    ],
    flags: [...queueFlags(kind), ...selectorFlags(kind), ...changeFlags, ...mergeFlags, ...outputFlags.slice(0, 1), ...callFlags],
    examples: examples(
      kind,
      'merge',
      ['What it would do', '--dry-run'],
      ['Carefully: 1, 10, 100 letters, and stop when one fails', '--canary'],
      ['All letters of one workflow', '--workflow-id order-1'],
    ),
    run: async (invocation) => (await import('./change.ts')).runChange(kind, 'merge', invocation),
  };
}

function purge(kind: DlqKind): Command {
  return {
    name: 'purge',
    summary: 'Delete letters. They are not processed.',
    details: [
      `Look at them first: perdure ${kind} read, with the same flags. On a terminal it asks; elsewhere the command line is the answer, unless PERDURE_CONFIRM is always: then it needs --yes.`,
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
    summary: `Choose letters to ${operation}, and keep the choice for an hour. Changes nothing else.`,
    flags: [...queueFlags(kind), ...selectorFlags(kind), reasonFlag, ...flags, ...outputFlags.slice(0, 1), ...callFlags],
    examples: examples(kind, `plan ${operation}`, ['By a filter', `--query "Cause = 'permanent-error'"`]),
    run: async (invocation) => (await import('./change.ts')).runPlan(kind, operation, invocation),
  });
  return {
    name: 'plan',
    summary: 'Choose letters now, change them later: what is applied is what was looked at.',
    examples: examples(kind, 'plan merge'),
    subcommands: [planned('merge', mergeFlags), planned('purge', [])],
  };
}

function apply(kind: DlqKind): Command {
  return {
    name: 'apply',
    summary: 'Carry out a plan.',
    details: [exitCodesOfChange],
    args: [{ name: 'PLAN', help: 'Its id, as plan and --dry-run print it' }],
    flags: [
      { name: 'hash', value: 'HEX', help: 'Refuse a plan that is not the one with this hash' },
      ...waitFlags,
      ...outputFlags.slice(0, 1),
      ...callFlags,
    ],
    examples: [{ what: 'And wait for its end', line: `perdure ${kind} apply 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90` }],
    run: async (invocation) => (await import('./change.ts')).runApply(kind, invocation),
  };
}

function restore(kind: DlqKind): Command {
  return {
    name: 'restore',
    summary: 'Put letters that were purged back into their queue, while that can be undone.',
    details: [
      'Exit code 0: none of them is missing; 3: it has ended, and letters are not back (failed, skipped, cancelled or not tried); 1: what was named is not there, or the job failed.',
    ],
    flags: [
      ...queueFlags(kind),
      { name: 'message-id', value: 'ID', help: 'One letter', repeat: true },
      { name: 'job', value: 'JOB', help: 'All that this job purged' },
      reasonFlag,
      ...waitFlags,
      ...outputFlags.slice(0, 1),
      ...callFlags,
    ],
    examples: [
      { what: 'One letter', line: line(kind, 'restore', '--message-id 41') },
      { what: 'Undo a purge', line: `perdure ${kind} restore --job 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90` },
    ],
    run: async (invocation) => (await import('./restore.ts')).runRestore(kind, invocation),
  };
}

function audit(kind: DlqKind): Command {
  return {
    name: 'audit',
    summary: 'Show who did what to which letters, when and why. The newest first.',
    details: ['The same stands in the topic <prefix>.audit, as JSON, for any tool for Kafka.'],
    flags: [
      ...queueFlags(kind),
      { name: 'job', value: 'JOB', help: 'What this job did, or was done to it' },
      { name: 'message-id', value: 'ID', help: 'What befell one letter' },
      { name: 'limit', value: 'N', help: 'At most so many; 0: all', defaultText: '100' },
      ...outputFlags,
      ...callFlags,
    ],
    examples: examples(kind, 'audit', ['What befell one letter', '--message-id 41']),
    run: async (invocation) => (await import('./audit.ts')).runAudit(kind, invocation),
  };
}

type JobAction = NonNullable<Command['run']>;

function job(kind: DlqKind): Command {
  const ofOne = (name: string, summary: string, flags: readonly Flag[], run: JobAction, more = ''): Command => ({
    name,
    summary,
    args: [{ name: 'JOB', help: 'Its id' }],
    flags: [...flags, ...outputFlags.slice(0, 1), ...callFlags],
    examples: [{ what: 'By its id', line: `perdure ${kind} job ${name} 0b6f3c5e-5ab7-4a5c-9d0c-5b3f7d1c2a90${more}` }],
    run,
  });
  return {
    name: 'job',
    summary: 'What works on letters, or has.',
    examples: [{ what: 'What works now', line: `perdure ${kind} job list --active` }],
    subcommands: [
      {
        name: 'list',
        summary: 'List jobs, the newest first.',
        flags: [
          ...queueFlags(kind).filter(({ name }) => name !== 'dlq-type'),
          { name: 'active', help: 'Those that have not ended' },
          { name: 'limit', value: 'N', help: 'At most so many; 0: all', defaultText: '100' },
          ...outputFlags,
          ...callFlags,
        ],
        examples: [{ what: 'What works now', line: `perdure ${kind} job list --active` }],
        run: async (invocation) => (await import('./jobs.ts')).runListJobs(invocation),
      },
      ofOne('describe', 'Show a job: what it has done, and what failed.', [], async (invocation) =>
        (await import('./jobs.ts')).runDescribeJob(invocation),
      ),
      ofOne('watch', 'Wait for the end of a job; prints and exits as merge and purge do.', waitFlags.slice(1), async (invocation) =>
        (await import('./jobs.ts')).runWatchJob(kind, invocation),
      ),
      ofOne('pause', 'Let a job pause.', [reasonFlag], async (invocation) => (await import('./jobs.ts')).runPauseJob(invocation)),
      ofOne('resume', 'Let a job that is paused go on.', [reasonFlag], async (invocation) =>
        (await import('./jobs.ts')).runResumeJob(invocation),
      ),
      ofOne('cancel', 'End a job: what it has begun is finished, the rest is left.', [reasonFlag], async (invocation) =>
        (await import('./jobs.ts')).runCancelJob(invocation),
      ),
      ofOne(
        'update',
        'Change the pace of a job while it runs.',
        [...paceFlags.map(({ name, value = '', help }) => ({ name, value, help })), reasonFlag],
        async (invocation) => (await import('./jobs.ts')).runUpdateJob(invocation),
        ' --rps 20',
      ),
    ],
  };
}
