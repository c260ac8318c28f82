import type { Flag } from '../../command.ts';
import { connectionFlags } from '../../connection-flags.ts';
import { outputFlag, textOutputFlag, timeFormatFlag } from '../../global-flags.ts';
import type { DlqKind } from './service.ts';

const clusterFlag: Flag = { name: 'cluster', value: 'NAME', help: 'Cluster that the tasks come from' };
const namespaceFlag: Flag = {
  name: 'namespace',
  short: 'n',
  value: 'NAME',
  help: 'Only this namespace, even if it is deleted',
  defaultText: 'all',
};
const shardFlag: Flag = { name: 'shard-id', value: 'N', help: 'Only this history shard; numbers start at 1', defaultText: 'all' };

export function queueFlags(kind: DlqKind): readonly Flag[] {
  return kind === 'admin dlq'
    ? [clusterFlag, { name: 'dlq-type', value: 'TYPE', help: 'Only this queue: replication or namespace', defaultText: 'both' }]
    : [{ name: 'category', value: 'NAME', help: 'Task category, by name or id: transfer, timer, visibility …' }, clusterFlag];
}

export function selectorFlags(kind: DlqKind): readonly Flag[] {
  const taskId = kind === 'admin dlq' ? 'Only the dead letter with the taskId that read shows' : 'Only the task with this id in its shard';
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
      help: 'Filter in the syntax of workflow lists, on ErrorType, Cause, WorkflowType, Fingerprint …',
    },
  ];
}

export const listFlags: readonly Flag[] = [textOutputFlag, timeFormatFlag, ...connectionFlags];
export const readFlags: readonly Flag[] = [{ ...outputFlag, defaultText: 'json' }, ...connectionFlags];
