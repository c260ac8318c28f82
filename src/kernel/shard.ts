import { fingerprint32 } from './fingerprint.ts';

/** The history shard of a workflow; shards count from 1. Fixed for ever by the shard count that a log was created with. */
export function historyShardOf(namespaceId: string, workflowId: string, shards: number): number {
  return (fingerprint32(`${namespaceId}_${workflowId}`) % shards) + 1;
}
