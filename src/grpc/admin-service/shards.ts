import type { PartitionState } from '../../actors/ownership/partition-life.ts';
import { unreachable } from '../../kernel/assert.ts';
import { int64, type ServiceMessages, timestampMs } from '../../wire/services.ts';
import { unavailable } from '../errors/details.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import type { NamedMethod } from '../method.ts';
import { operation, type AdminContext } from './admin-context.ts';
import { existingShard, noPageToken } from './conventions.ts';
import { addressOf } from './host.ts';

export function shardMethods({ api, context, host }: AdminContext): readonly NamedMethod[] {
  const { server, state } = context.ports;
  return [
    operation('GetShard', api.GetShardRequest, api.GetShardResponse, ({ shardId }) => {
      existingShard(shardId, server.historyShards);
      const report = state().shards.find(({ shard }) => shard === shardId);
      if (report === undefined) throw unavailable(`shard ${shardId} has no owner now`);
      return {
        shardInfo: {
          shardId,
          rangeId: int64(report.epoch),
          owner: isHeld(report.state) ? addressOf(host()) : '',
          state: shardState(api.ShardState, report.state),
        },
      };
    }),
    operation('ListHistoryTasks', api.ListHistoryTasksRequest, api.ListHistoryTasksResponse, (request) => {
      const { TaskCategory } = api;
      const { category, nextPageToken, taskRange } = request;
      existingShard(request.shardId, server.historyShards);
      if (category < TaskCategory.TASK_CATEGORY_TRANSFER || category > TaskCategory.TASK_CATEGORY_OUTBOUND) {
        throw invalidArgument(`Invalid task category id: ${category}`);
      }
      checkRange(taskRange, scheduled(TaskCategory).has(category));
      noPageToken(nextPageToken);
      if (category === TaskCategory.TASK_CATEGORY_TRANSFER || category === TaskCategory.TASK_CATEGORY_TIMER) {
        throw notBuilt(`ListHistoryTasks of ${TaskCategory[category]}`);
      }
      // A shard here has no tasks of the other categories.
      return {};
    }),
  ];
}

type V1 = ServiceMessages['adminservice']['v1'];

/** Categories whose tasks stand in the order of their times. */
function scheduled({ TASK_CATEGORY_TIMER, TASK_CATEGORY_ARCHIVAL, TASK_CATEGORY_MEMORY_TIMER }: V1['TaskCategory']): ReadonlySet<number> {
  return new Set([TASK_CATEGORY_TIMER, TASK_CATEGORY_ARCHIVAL, TASK_CATEGORY_MEMORY_TIMER]);
}

/** From one task to before another; a bound that is not set is none. */
function checkRange(range: V1['ListHistoryTasksRequest']['prototype']['taskRange'], byTime: boolean): void {
  const min = range?.inclusiveMinTaskKey ?? undefined;
  const max = range?.exclusiveMaxTaskKey ?? undefined;
  const minId = min?.taskId?.toNumber() ?? 0;
  const maxId = max?.taskId?.toNumber() ?? 0;
  if (minId < 0 || maxId < 0) throw invalidArgument(`Invalid task id: ${Math.min(minId, maxId)}`);
  if (min === undefined || max === undefined) return;
  const laterMs = byTime ? timestampMs(min.fireTime) - timestampMs(max.fireTime) : 0;
  if (laterMs > 0 || (laterMs === 0 && minId > maxId)) throw invalidArgument('Invalid task range: its first task is behind its last');
}

/** Its owner is here, and answers for it. */
export function isHeld(state: PartitionState): boolean {
  return state === 'active' || state === 'draining';
}

function shardState(values: V1['ShardState'], state: PartitionState): number {
  switch (state) {
    case 'unassigned':
    case 'released':
      return values.SHARD_STATE_UNOWNED;
    case 'restoring':
    case 'replaying':
    case 'claiming':
      return values.SHARD_STATE_ACQUIRING;
    case 'active':
    case 'draining':
      return values.SHARD_STATE_ACQUIRED;
    case 'failed':
      return values.SHARD_STATE_FAILED;
    default:
      return unreachable(state);
  }
}
