import type { DeclaredMethods } from '../../wire/generated/declared-methods.ts';
import { notYet } from './missing.ts';
import { rpcService, type Row } from './rpc.ts';

const name = 'temporal.server.api.adminservice.v1.AdminService';
const served = { scope: 'cluster', access: 'admin', module: 'admin' } as const;
const unserved = { scope: 'cluster', access: 'admin', missing: notYet } as const;

const rows = {
  RebuildMutableState: unserved,
  DescribeMutableState: served,
  ImportWorkflowExecution: unserved,
  DeleteWorkflowExecution: unserved,
  GetShard: served,
  CloseShard: unserved,
  ListHistoryTasks: served,
  RemoveTask: served,
  DescribeCluster: served,
  ListClusters: served,
  ListClusterMembers: served,
  AddOrUpdateRemoteCluster: unserved,
  RemoveRemoteCluster: unserved,
  GetReplicationMessages: unserved,
  GetNamespaceReplicationMessages: unserved,
  StreamWorkflowReplicationMessages: { ...unserved, streamed: true },
  ResendReplicationTasks: unserved,
  GetDLQMessages: served,
  PurgeDLQMessages: served,
  MergeDLQMessages: served,
  GetDLQTasks: served,
  PurgeDLQTasks: served,
  MergeDLQTasks: served,
  AddSearchAttributes: served,
  RemoveSearchAttributes: served,
  GetSearchAttributes: served,
  GetWorkflowExecutionRawHistoryV2: unserved,
  ReapplyEvents: unserved,
  GetTaskQueueTasks: unserved,
  RefreshWorkflowTasks: unserved,
  DescribeHistoryHost: served,
  DeepHealthCheck: served,
  ListQueues: served,
  AddTasks: served,
  DescribeDLQJob: served,
  CancelDLQJob: served,
  GetDLQReplicationMessages: served,
  DescribeTaskQueuePartition: unserved,
  ForceUnloadTaskQueuePartition: unserved,
  GetTaskQueueUserData: unserved,
  GetNamespace: served,
  StartAdminBatchOperation: unserved,
  GenerateLastHistoryReplicationTasks: unserved,
  GetWorkflowExecutionRawHistory: unserved,
  MigrateSchedule: unserved,
  SyncWorkflowState: unserved,
} as const satisfies Record<DeclaredMethods[typeof name], Row>;

export const adminRpcs = rpcService(name, rows, { operationPrefix: 'Admin' });
