/**
 * Commands over dead letters, once for each kind of queue:
 *
 *     perdure admin dlq …         what other clusters sent: replication and namespace-replication, by --cluster
 *     perdure admin queue dlq …   this cluster’s own tasks, by --category
 */
import type { Command, Example } from '../../command.ts';
import { callFlags, outputFlags, queueFlags, readOutputFlags, selectorFlags } from './dlq-flags.ts';
import type { DlqKind } from './dlq-kind.ts';

export function dlqCommand(kind: DlqKind): Command {
  return {
    name: 'dlq',
    summary: kind === 'admin dlq' ? 'Dead letters of replication from other clusters.' : 'Dead letters of this cluster’s own tasks.',
    details: [
      'A dead letter is a task that failed for good and was put aside, so that it holds up nothing. It stays until it is merged or purged.',
    ],
    examples: [
      { what: 'The queues, most letters first', line: `perdure ${kind} list` },
      ...(kind === 'admin dlq'
        ? []
        : [{ what: 'Look before anything is changed', line: `perdure ${kind} read --category transfer -o text` }]),
    ],
    subcommands: [list(kind), read(kind), count(kind), show(kind), groups(kind)],
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
      ...(kind === 'admin dlq' ? [{ name: 'long', help: 'All fields of a letter, not eight' }] : []),
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
        help: 'fingerprint, cause, error-type, task-type, namespace, workflow-type, node, build or source-cluster',
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
