/** Flags of the commands below `admin dlq` and `admin queue dlq`. */
import type { Flag } from '../../command.ts';
import { connectionFlags } from '../../connection-flags.ts';
import type { DlqKind } from './dlq-kind.ts';

const clusterFlag: Flag = { name: 'cluster', value: 'NAME', help: 'Source cluster' };
const namespaceFlag: Flag = {
  name: 'namespace',
  short: 'n',
  value: 'NAME',
  help: 'Of one namespace, also a deleted one',
  defaultText: 'all',
};
const shardFlag: Flag = { name: 'shard-id', value: 'N', help: 'Of one history shard, from 1', defaultText: 'all' };

export function queueFlags(kind: DlqKind): readonly Flag[] {
  return kind === 'admin dlq'
    ? [clusterFlag, { name: 'dlq-type', value: 'TYPE', help: 'One of the two queues: replication or namespace', defaultText: 'both' }]
    : [{ name: 'category', value: 'NAME', help: 'Of the tasks, by name or id: transfer, timer, visibility …' }, clusterFlag];
}

export function selectorFlags(kind: DlqKind): readonly Flag[] {
  const taskId = kind === 'admin dlq' ? 'One letter, by the taskId that read shows' : 'One task, by its id in its shard';
  return [
    namespaceFlag,
    shardFlag,
    { name: 'task-id', value: 'ID', help: taskId },
    { name: 'message-id', value: 'ID', help: 'One letter', repeat: true },
    { name: 'workflow-id', value: 'ID', help: 'All letters of a workflow' },
    { name: 'run-id', value: 'ID', help: 'Of one run' },
    { name: 'min-message-id', value: 'ID', help: 'From this letter on' },
    { name: 'max-message-id', value: 'ID', help: 'Up to this letter, it included' },
    { name: 'query', short: 'q', value: 'FILTER', help: 'As for lists of workflows, over ErrorType, Cause, WorkflowType, Fingerprint …' },
  ];
}

const timeFormatFlag: Flag = {
  name: 'time-format',
  value: 'FORMAT',
  help: 'Times in text: relative, iso or raw (milliseconds since 1970)',
  defaultText: 'relative',
};

const listOutputFlag: Flag = { name: 'output', short: 'o', value: 'FORMAT', help: 'json, jsonl, text or none' };
export const outputFlags: readonly Flag[] = [{ ...listOutputFlag, defaultText: 'text' }, timeFormatFlag];
export const readOutputFlags: readonly Flag[] = [{ ...listOutputFlag, defaultText: 'json' }];

export const callFlags: readonly Flag[] = connectionFlags;
