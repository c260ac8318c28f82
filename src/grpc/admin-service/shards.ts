import type { PartitionState } from '../../actors/ownership/partition-life.ts';
import { unreachable } from '../../kernel/assert.ts';
import { int64, type ServiceMessages } from '../../wire/services.ts';
import { unavailable } from '../errors/details.ts';
import type { NamedMethod } from '../method.ts';
import { operation, type AdminContext } from './admin-context.ts';
import { existingShard } from './conventions.ts';
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
  ];
}

type V1 = ServiceMessages['adminservice']['v1'];

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
