import type { HandlerContext } from '../handler-context.ts';
import { loadedWhenCalled } from '../method.ts';
import type { Service } from '../transport/call.ts';
import type { Host } from './host.ts';

export const adminServiceName = 'temporal.server.api.adminservice.v1.AdminService';

const built = [
  ...['DescribeCluster', 'ListClusters', 'ListClusterMembers', 'DescribeHistoryHost', 'DeepHealthCheck', 'GetShard', 'GetNamespace'],
  'DescribeMutableState',
  ...['ListHistoryTasks', 'RemoveTask', 'AddTasks'],
  ...['GetSearchAttributes', 'AddSearchAttributes', 'RemoveSearchAttributes'],
  ...['ListQueues', 'GetDLQTasks', 'PurgeDLQTasks', 'MergeDLQTasks', 'DescribeDLQJob', 'CancelDLQJob'],
  ...['GetDLQMessages', 'PurgeDLQMessages', 'MergeDLQMessages', 'GetDLQReplicationMessages'],
];

/**
 * For operators, and for Temporal's `tdbg`. Its messages are megabytes of code that no worker needs: all of it is loaded by the first call. Methods
 * that are not listed answer UNIMPLEMENTED in the transport's one wording.
 */
export function adminService(context: HandlerContext, host: () => Host): Service {
  const load = async () => (await import('./admin-methods.ts')).adminMethods(context, host);
  return { name: adminServiceName, methods: new Map(loadedWhenCalled(built, load)) };
}
