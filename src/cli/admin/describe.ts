/** `perdure admin shard describe` and `perdure admin cluster describe`. */
import { loadServiceMessages, timestampMs } from '../../wire/services.ts';
import { failure, usageError } from '../cli-error.ts';
import type { ExitCode, Invocation } from '../command.ts';
import { withServer } from '../grpc-client.ts';
import { printFields } from '../printed-fields.ts';
import { rfc3339 } from '../printed-time.ts';
import { describeCluster, getShard } from './admin-service.ts';

export async function runDescribeShard(invocation: Invocation): Promise<ExitCode> {
  const { flags } = invocation;
  const given = flags.one('shard-id');
  if (given === undefined) throw usageError('--shard-id is missing', { next: 'Shards are numbered from 1: --shard-id 1.' });
  if (!/^-?\d{1,9}$/.test(given)) throw usageError(`--shard-id: expected a whole number from 1, got "${given}"`);
  const { ShardState } = (await loadServiceMessages()).adminservice.v1;
  const { shardInfo } = await withServer(invocation, async (client) => client.call(await getShard(), { shardId: Number(given) }));
  if (shardInfo === undefined || shardInfo === null) throw failure(`the server answers without shard ${given}`);
  const updateTimeMs = timestampMs(shardInfo.updateTime);
  return printFields(invocation, {
    shardId: shardInfo.shardId ?? 0,
    rangeId: shardInfo.rangeId?.toNumber() ?? 0,
    owner: shardInfo.owner ?? '',
    state: (ShardState[shardInfo.state ?? 0] ?? '').replace('SHARD_STATE_', '').toLowerCase(),
    // Temporal's server sends this field; Perdure does not.
    ...(updateTimeMs === 0 ? {} : { updateTime: rfc3339(updateTimeMs) }),
  });
}

export async function runDescribeCluster(invocation: Invocation): Promise<ExitCode> {
  const answer = await withServer(invocation, async (client) => client.call(await describeCluster(), { clusterName: '' }));
  const { clusterName, clusterId, historyShardCount, serverVersion, persistenceStore, visibilityStore } = answer;
  const versionInfo = { current: { version: answer.versionInfo?.current?.version ?? '' } };
  const members = answer.membershipInfo?.reachableMembers ?? [];
  const stores = { persistenceStore, visibilityStore };
  return printFields(invocation, { clusterName, clusterId, historyShardCount, versionInfo, serverVersion, ...stores, members });
}
