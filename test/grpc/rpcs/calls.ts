/**
 * One call for each RPC that is built or will be: a request that a server which does the work answers with success. The order is that of the
 * API, a line each where possible. RPCs that are refused whatever they are asked need no request.
 */
import type { Plain } from '../../fuzz/mutate.ts';
import { identity, namespace, seconds, type World } from './world.ts';

export type Call = (world: World) => Plain | Promise<Plain>;

const ofRun: Call = async (world) => ({ namespace, workflowExecution: (await world.started()).execution, identity });
const ofNamed: Call = async (world) => ({ namespace, execution: (await world.started()).execution });
const ofSchedule: Call = async (world) => ({ namespace, scheduleId: await world.scheduleId(), identity });
const ofNamespace: Call = async (world) => ({ namespace: await world.namespace() });
const ofBatch: Call = async (world) => ({ namespace, jobId: await world.batchStarted(), reason: 'r', identity });
const ofWorkflowTask: Call = async (world) => ({ namespace, taskToken: (await world.workflowTask()).task.taskToken, identity });
const ofActivityTask: Call = async (world) => ({ namespace, taskToken: (await world.activityTask()).taskToken, identity });
const ofCancelledActivity: Call = async (world) => ({ namespace, taskToken: (await world.cancelledActivity()).taskToken, identity });
const byId: Call = async (world) => ({ namespace, ...(await world.activityTask()).execution, activityId: 'a', identity });
const ofActivity: Call = async (world) => ({ namespace, execution: (await world.scheduledActivity()).execution, id: 'a', identity });
const ofActivityExecution: Call = async (world) => ({
  namespace,
  ...(await world.scheduledActivity()).execution,
  activityId: 'a',
  identity,
});
const list: Call = async (world) => {
  const { workflowId } = await world.started();
  return { namespace, query: `WorkflowId = '${workflowId}'` };
};
const everMs = { startTimeFilter: { earliestTime: seconds(1), latestTime: seconds(4_000_000_000) } };
const failure = { message: 'it failed', applicationFailureInfo: { type: 'T' } };
const nothing: Call = () => ({});

export const calls: Readonly<Record<string, Call>> = {
  RegisterNamespace: (world) => ({ namespace: world.name('namespace'), workflowExecutionRetentionPeriod: seconds(86_400) }),
  DescribeNamespace: () => ({ namespace }),
  ListNamespaces: nothing,
  UpdateNamespace: async (world) => ({ ...(await ofNamespace(world)), updateInfo: { description: 'd' } }),
  DeprecateNamespace: ofNamespace,
  StartWorkflowExecution: (world) => world.start(),
  ExecuteMultiOperation: (world) => {
    const { workflowId, taskQueue, ...rest } = world.start();
    world.answerOne(taskQueue.name);
    const startWorkflow = { ...rest, workflowId, taskQueue, workflowIdConflictPolicy: 2 };
    return { namespace, operations: [{ startWorkflow }, { updateWorkflow: world.update({ workflowId, runId: '' }) }] };
  },
  GetWorkflowExecutionHistory: ofNamed,
  GetWorkflowExecutionHistoryReverse: ofNamed,
  PollWorkflowTaskQueue: async (world) => ({ namespace, taskQueue: { name: (await world.started()).queue }, identity }),
  RespondWorkflowTaskCompleted: ofWorkflowTask,
  RespondWorkflowTaskFailed: async (world) => ({ ...(await ofWorkflowTask(world)), cause: 1, failure }),
  PollActivityTaskQueue: async (world) => ({ namespace, taskQueue: { name: (await world.scheduledActivity()).queue }, identity }),
  RecordActivityTaskHeartbeat: ofActivityTask,
  RecordActivityTaskHeartbeatById: byId,
  RespondActivityTaskCompleted: ofActivityTask,
  RespondActivityTaskCompletedById: byId,
  RespondActivityTaskFailed: async (world) => ({ ...(await ofActivityTask(world)), failure }),
  RespondActivityTaskFailedById: async (world) => ({ ...(await byId(world)), failure }),
  RespondActivityTaskCanceled: ofCancelledActivity,
  RespondActivityTaskCanceledById: async (world) => ({
    namespace,
    ...(await world.cancelledActivity()).execution,
    activityId: 'a',
    identity,
  }),
  RequestCancelWorkflowExecution: ofRun,
  SignalWorkflowExecution: async (world) => ({ ...(await ofRun(world)), signalName: 's' }),
  SignalWithStartWorkflowExecution: (world) => ({ ...world.start(), signalName: 's' }),
  ResetWorkflowExecution: async (world) => ({
    namespace,
    workflowExecution: (await world.idle()).execution,
    workflowTaskFinishEventId: 4,
    requestId: world.name('reset'),
  }),
  TerminateWorkflowExecution: ofRun,
  DeleteWorkflowExecution: ofRun,
  ListOpenWorkflowExecutions: async (world) => ({
    namespace,
    ...everMs,
    executionFilter: { workflowId: (await world.started()).workflowId },
  }),
  ListClosedWorkflowExecutions: async (world) => ({
    namespace,
    ...everMs,
    executionFilter: { workflowId: (await world.closed()).workflowId },
  }),
  ListWorkflowExecutions: list,
  ListArchivedWorkflowExecutions: () => ({ namespace }),
  ScanWorkflowExecutions: list,
  CountWorkflowExecutions: list,
  GetSearchAttributes: nothing,
  RespondQueryTaskCompleted: async (world) => ({ namespace, taskToken: await world.queryToken(), completedType: 1 }),
  ResetStickyTaskQueue: ofNamed,
  ShutdownWorker: () => ({ namespace, stickyTaskQueue: 'sticky', identity, reason: 'r' }),
  QueryWorkflow: async (world) => {
    const { execution, queue } = await world.started();
    world.answerOne(queue);
    return { namespace, execution, query: { queryType: 'q' } };
  },
  DescribeWorkflowExecution: ofNamed,
  DescribeTaskQueue: async (world) => ({ namespace, taskQueue: { name: (await world.idle()).queue }, taskQueueType: 1 }),
  GetClusterInfo: nothing,
  GetSystemInfo: nothing,
  ListTaskQueuePartitions: () => ({ namespace, taskQueue: { name: 'q' } }),
  CreateSchedule: (world) => ({
    namespace,
    scheduleId: world.name('schedule'),
    schedule: world.schedule(),
    requestId: world.name('request'),
  }),
  DescribeSchedule: ofSchedule,
  UpdateSchedule: async (world) => ({ ...(await ofSchedule(world)), schedule: world.schedule(), requestId: world.name('request') }),
  PatchSchedule: async (world) => ({ ...(await ofSchedule(world)), patch: { pause: 'p' }, requestId: world.name('request') }),
  ListScheduleMatchingTimes: async (world) => ({ ...(await ofSchedule(world)), startTime: seconds(0), endTime: seconds(40_000) }),
  DeleteSchedule: ofSchedule,
  ListSchedules: async (world) => ({ namespace, query: `ScheduleId = '${await world.scheduleId()}'` }),
  CountSchedules: async (world) => ({ namespace, query: `ScheduleId = '${await world.scheduleId()}'` }),
  UpdateWorkflowExecution: async (world) => {
    const { execution, queue } = await world.started();
    world.answerOne(queue);
    return world.update(execution);
  },
  PollWorkflowExecutionUpdate: async (world) => ({
    namespace,
    updateRef: { workflowExecution: (await world.updated()).execution, updateId: 'u' },
    identity,
    waitPolicy: { lifecycleStage: 3 },
  }),
  StartBatchOperation: (world) => world.batch(),
  StopBatchOperation: ofBatch,
  DescribeBatchOperation: ofBatch,
  ListBatchOperations: async (world) => {
    await world.batchStarted();
    return { namespace };
  },
  UpdateActivityOptions: async (world) => ({
    ...(await ofActivity(world)),
    activityOptions: { heartbeatTimeout: seconds(20) },
    updateMask: { paths: ['heartbeat_timeout'] },
  }),
  UpdateWorkflowExecutionOptions: async (world) => ({
    ...(await ofRun(world)),
    workflowExecutionOptions: { priority: { priorityKey: 2 } },
    updateMask: { paths: ['priority'] },
  }),
  PauseActivity: ofActivity,
  UnpauseActivity: async (world) => {
    const activity = await ofActivity(world);
    await world.call('PauseActivity', activity);
    return activity;
  },
  ResetActivity: ofActivity,
  RecordWorkerHeartbeat: (world) => world.heartbeat(),
  ListWorkers: async (world) => {
    await world.heartbeaten();
    return { namespace };
  },
  CountWorkers: async (world) => {
    await world.heartbeaten();
    return { namespace };
  },
  UpdateTaskQueueConfig: (world) => ({
    namespace,
    identity,
    taskQueue: world.name('queue'),
    taskQueueType: 2,
    updateQueueRateLimit: { rateLimit: { requestsPerSecond: 10 }, reason: 'r' },
  }),
  DescribeWorker: async (world) => ({ namespace, workerInstanceKey: await world.heartbeaten() }),
  PauseWorkflowExecution: async (world) => ({
    namespace,
    ...(await world.started()).execution,
    identity,
    requestId: world.name('pause'),
  }),
  UnpauseWorkflowExecution: async (world) => {
    const paused = { namespace, ...(await world.started()).execution, identity, requestId: world.name('pause') };
    await world.call('PauseWorkflowExecution', paused);
    return paused;
  },
  PauseActivityExecution: ofActivityExecution,
  UnpauseActivityExecution: async (world) => {
    const activity = await ofActivityExecution(world);
    await world.call('PauseActivityExecution', activity);
    return activity;
  },
  ResetActivityExecution: ofActivityExecution,
  UpdateActivityExecutionOptions: async (world) => ({
    ...(await ofActivityExecution(world)),
    activityOptions: { heartbeatTimeout: seconds(20) },
    updateMask: { paths: ['heartbeat_timeout'] },
  }),
  AddSearchAttributes: () => ({ namespace, searchAttributes: { RpcInt: 3 } }),
  RemoveSearchAttributes: () => ({ namespace, searchAttributes: ['RpcInt'] }),
  ListSearchAttributes: () => ({ namespace }),
  DeleteNamespace: ofNamespace,
  ListClusters: nothing,
};
