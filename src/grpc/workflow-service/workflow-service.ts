import type { HandlerContext } from '../handler-context.ts';
import { loadedWhenCalled } from '../method.ts';
import type { Service } from '../transport/call.ts';
import { activityExecutionOperationMethods } from './activity-execution-operations.ts';
import { activityOperationMethods } from './activity-operations.ts';
import { activityTaskMethods } from './activity-tasks.ts';
import { describeMethods } from './describe.ts';
import { historyMethods } from './history.ts';
import { lifecycleMethods } from './lifecycle.ts';
import { multiOperationMethods } from './multi-operation.ts';
import { namespaceMethods } from './namespaces.ts';
import { queryMethods } from './query.ts';
import { refusedMethods } from './refusals.ts';
import { resetMethods } from './reset.ts';
import { serverInfoMethods } from './server-info.ts';
import { startMethods } from './start.ts';
import { taskQueueMethods } from './task-queues.ts';
import { updateMethods } from './updates.ts';
import { workflowOperationMethods } from './workflow-operations.ts';
import { workflowTaskMethods } from './workflow-tasks.ts';

export const workflowServiceName = 'temporal.api.workflowservice.v1.WorkflowService';

const visibilityMethodNames = [
  'ListWorkflowExecutions',
  'ScanWorkflowExecutions',
  'ListOpenWorkflowExecutions',
  'ListClosedWorkflowExecutions',
  'ListArchivedWorkflowExecutions',
  'CountWorkflowExecutions',
  'GetSearchAttributes',
  'ListSchedules',
  'CountSchedules',
  'ListBatchOperations',
];

const scheduleMethodNames = [
  'CreateSchedule',
  'DescribeSchedule',
  'UpdateSchedule',
  'PatchSchedule',
  'DeleteSchedule',
  'ListScheduleMatchingTimes',
];

const workerMethodNames = ['RecordWorkerHeartbeat', 'ListWorkers', 'CountWorkers', 'DescribeWorker'];
const batchMethodNames = ['StartBatchOperation', 'StopBatchOperation', 'DescribeBatchOperation'];

/** Methods that are not listed here answer UNIMPLEMENTED in the transport's one wording. */
export function workflowService(context: HandlerContext): Service {
  return {
    name: workflowServiceName,
    methods: new Map([
      ...refusedMethods,
      ...serverInfoMethods(context),
      ...namespaceMethods(context),
      ...startMethods(context),
      ...lifecycleMethods(context),
      ...workflowOperationMethods(context),
      ...resetMethods(context),
      ...describeMethods(context),
      ...queryMethods(context),
      ...updateMethods(context),
      ...multiOperationMethods(context),
      ...historyMethods(context),
      ...workflowTaskMethods(context),
      ...activityTaskMethods(context),
      ...activityOperationMethods(context),
      ...activityExecutionOperationMethods(context),
      ...taskQueueMethods(context),
      ...loadedWhenCalled(workerMethodNames, async () => (await import('./workers.ts')).workerMethods(context)),
      ...loadedWhenCalled(scheduleMethodNames, async () => (await import('./schedules.ts')).scheduleMethods(context)),
      ...loadedWhenCalled(batchMethodNames, async () => (await import('./batches.ts')).batchMethods(context)),
      ...loadedWhenCalled(visibilityMethodNames, async () => (await import('./visibility.ts')).visibilityMethods(context)),
    ]),
  };
}
