import { type Flag, flag } from '../../command.ts';
import { connectionFlags } from '../../connection-flags.ts';
import { outputFlag, textOutputFlag, timeFormatFlag } from '../../global-flags.ts';
import type { DlqKind } from './service.ts';

const clusterFlag = flag('cluster', 'NAME', 'Cluster that the tasks come from');
const namespaceFlag = flag('namespace', 'NAME', 'Only this namespace, even if it is deleted', { short: 'n', defaultText: 'all' });
const shardFlag = flag('shard-id', 'N', 'Only this history shard; numbers start at 1', { defaultText: 'all' });

export function queueFlags(kind: DlqKind): readonly Flag[] {
  return kind === 'admin dlq'
    ? [clusterFlag, flag('dlq-type', 'TYPE', 'Only this queue: replication or namespace', { defaultText: 'both' })]
    : [flag('category', 'NAME', 'Task category, by name or id: transfer, timer, visibility …'), clusterFlag];
}

export function selectorFlags(kind: DlqKind): readonly Flag[] {
  const taskId = kind === 'admin dlq' ? 'Only the dead letter with the taskId that read shows' : 'Only the task with this id in its shard';
  return [
    namespaceFlag,
    shardFlag,
    flag('task-id', 'ID', taskId),
    flag('message-id', 'ID', 'Only the dead letter with this message id', { repeat: true }),
    flag('workflow-id', 'ID', 'Only dead letters of this workflow'),
    flag('run-id', 'ID', 'Only dead letters of this run'),
    flag('min-message-id', 'ID', 'Only message ids from this one on'),
    flag('max-message-id', 'ID', 'Only message ids up to and including this one'),
    flag('query', 'FILTER', 'Filter in the syntax of workflow lists, on ErrorType, Cause, WorkflowType, Fingerprint …', { short: 'q' }),
  ];
}

export const listFlags: readonly Flag[] = [textOutputFlag, timeFormatFlag, ...connectionFlags];
export const readFlags: readonly Flag[] = [{ ...outputFlag, defaultText: 'json' }, ...connectionFlags];
