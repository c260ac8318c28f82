import { loadPublicMessages, loadServiceMessages } from '../../wire/services.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { NamedMethod } from '../method.ts';
import type { AdminContext } from './admin-context.ts';
import { clusterMethods } from './cluster.ts';
import { deadLetterMethods } from './dead-letters.ts';
import type { Host } from './host.ts';
import { mutableStateMethods } from './mutable-state.ts';
import { namespaceMethods } from './namespaces.ts';
import { replicationTaskMethods } from './replication-tasks.ts';
import { searchAttributeMethods } from './search-attributes.ts';
import { shardMethods } from './shards.ts';
import { shardTaskMethods } from './shard-tasks.ts';

/** Loaded by the first call of AdminService, with all that it imports. */
export async function adminMethods(context: HandlerContext, host: () => Host): Promise<readonly NamedMethod[]> {
  const messages = await loadServiceMessages();
  const publicMessages = await loadPublicMessages();
  const admin: AdminContext = { context, host, messages, publicMessages, api: messages.adminservice.v1 };
  return [
    ...clusterMethods(admin),
    ...shardMethods(admin),
    ...shardTaskMethods(admin),
    ...mutableStateMethods(admin),
    ...namespaceMethods(admin),
    ...searchAttributeMethods(admin),
    ...deadLetterMethods(admin),
    ...replicationTaskMethods(admin),
  ];
}
