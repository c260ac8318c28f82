import type { DeclaredMethods } from '../../wire/generated/declared-methods.ts';
import { notYet } from './missing.ts';
import { rowsOf, rpcService, type Row } from './rpc.ts';

const name = 'temporal.server.api.adminservice.v1.AdminService';
const served = { scope: 'cluster', access: 'admin', module: 'admin' } as const;
const unserved = { scope: 'cluster', access: 'admin', missing: notYet } as const;
const each = rowsOf<DeclaredMethods[typeof name]>();

const rows = {
  RebuildMutableState: unserved,
  DescribeMutableState: served,
  ...each(unserved, 'ImportWorkflowExecution', 'DeleteWorkflowExecution'),
  GetShard: served,
  CloseShard: unserved,
  ...each(served, 'ListHistoryTasks', 'RemoveTask', 'DescribeCluster', 'ListClusters', 'ListClusterMembers'),
  ...each(unserved, 'AddOrUpdateRemoteCluster', 'RemoveRemoteCluster', 'GetReplicationMessages', 'GetNamespaceReplicationMessages'),
  StreamWorkflowReplicationMessages: { ...unserved, streamed: true },
  ResendReplicationTasks: unserved,
  ...each(served, 'GetDLQMessages', 'PurgeDLQMessages', 'MergeDLQMessages', 'GetDLQTasks', 'PurgeDLQTasks', 'MergeDLQTasks'),
  ...each(served, 'AddSearchAttributes', 'RemoveSearchAttributes', 'GetSearchAttributes'),
  ...each(unserved, 'GetWorkflowExecutionRawHistoryV2', 'ReapplyEvents', 'GetTaskQueueTasks', 'RefreshWorkflowTasks'),
  ...each(served, 'DescribeHistoryHost', 'DeepHealthCheck', 'ListQueues', 'AddTasks', 'DescribeDLQJob', 'CancelDLQJob'),
  GetDLQReplicationMessages: served,
  ...each(unserved, 'DescribeTaskQueuePartition', 'ForceUnloadTaskQueuePartition', 'GetTaskQueueUserData'),
  GetNamespace: served,
  ...each(unserved, 'StartAdminBatchOperation', 'GenerateLastHistoryReplicationTasks', 'GetWorkflowExecutionRawHistory', 'MigrateSchedule'),
  SyncWorkflowState: unserved,
} as const satisfies Record<DeclaredMethods[typeof name], Row>;

export const adminRpcs = rpcService(name, rows, { operationPrefix: 'Admin' });
