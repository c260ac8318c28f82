/** Flags of the commands below `admin dlq` and `admin queue dlq`. */
import type { Flag } from '../../command.ts';
import { connectionFlags } from '../../connection-flags.ts';
import type { DlqKind } from './dlq-kind.ts';

const clusterFlag: Flag = { name: 'cluster', value: 'NAME', help: 'Source cluster' };
const namespaceFlag: Flag = {
  name: 'namespace',
  short: 'n',
  value: 'NAME',
  help: 'Only this namespace, which may be deleted',
  defaultText: 'all',
};
const shardFlag: Flag = { name: 'shard-id', value: 'N', help: 'Only this history shard; shards count from 1', defaultText: 'all' };

export function queueFlags(kind: DlqKind): readonly Flag[] {
  return kind === 'admin dlq'
    ? [clusterFlag, { name: 'dlq-type', value: 'TYPE', help: 'Only one of the two queues: replication or namespace', defaultText: 'both' }]
    : [{ name: 'category', value: 'NAME', help: 'Task category, by name or id: transfer, timer, visibility …' }, clusterFlag];
}

export function selectorFlags(kind: DlqKind): readonly Flag[] {
  const taskId =
    kind === 'admin dlq' ? 'Only the dead letter with this taskId, as read shows it' : 'Only the task with this id in its shard';
  return [
    namespaceFlag,
    shardFlag,
    { name: 'task-id', value: 'ID', help: taskId },
    { name: 'message-id', value: 'ID', help: 'Only the dead letter with this message id', repeat: true },
    { name: 'workflow-id', value: 'ID', help: 'Only dead letters of this workflow' },
    { name: 'run-id', value: 'ID', help: 'Only dead letters of this run' },
    { name: 'min-message-id', value: 'ID', help: 'Only message ids from this one on' },
    { name: 'max-message-id', value: 'ID', help: 'Only message ids up to and including this one' },
    {
      name: 'query',
      short: 'q',
      value: 'FILTER',
      help: 'Filter in the syntax of workflow lists, over ErrorType, Cause, WorkflowType, Fingerprint …',
    },
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
