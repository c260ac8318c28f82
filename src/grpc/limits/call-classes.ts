/** Which rate a call counts for, and who goes first where a namespace has reached it: as Temporal's frontend has it. */

export type CallClass = 'execution' | 'visibility';

/** 0 goes first. */
export type Priority = 0 | 1 | 2 | 3 | 4 | 5;
export const prioritiesInAll = 6;

const visibility: ReadonlySet<string> = new Set([
  'CountWorkflowExecutions',
  'ScanWorkflowExecutions',
  'ListOpenWorkflowExecutions',
  'ListClosedWorkflowExecutions',
  'ListWorkflowExecutions',
  'ListArchivedWorkflowExecutions',
  'ListSchedules',
  'CountSchedules',
  'ListBatchOperations',
]);

/** The others have 2: they change something, and can be asked again. */
const prioritiesByMethod: ReadonlyMap<string, Priority> = new Map(
  (
    [
      [0, 'DescribeNamespace DeprecateNamespace UpdateNamespace'],
      [1, 'StartWorkflowExecution SignalWorkflowExecution SignalWithStartWorkflowExecution UpdateWorkflowExecution ExecuteMultiOperation'],
      [1, 'CreateSchedule StartBatchOperation RespondWorkflowTaskCompleted RespondQueryTaskCompleted'],
      [1, 'RespondActivityTaskCompleted RespondActivityTaskCompletedById RecordActivityTaskHeartbeat RecordActivityTaskHeartbeatById'],
      [3, 'DescribeWorkflowExecution DescribeTaskQueue ListTaskQueuePartitions QueryWorkflow DescribeSchedule ListScheduleMatchingTimes'],
      [3, 'DescribeBatchOperation ListWorkers DescribeWorker CountWorkers RespondWorkflowTaskFailed'],
      [3, 'RespondActivityTaskFailed RespondActivityTaskFailedById RespondActivityTaskCanceled RespondActivityTaskCanceledById'],
      [4, 'PollWorkflowTaskQueue PollActivityTaskQueue PollWorkflowExecutionUpdate ResetStickyTaskQueue ShutdownWorker'],
      [4, 'GetWorkflowExecutionHistoryReverse RecordWorkerHeartbeat'],
    ] as const
  ).flatMap(([priority, names]) => names.split(' ').map((name): readonly [string, Priority] => [name, priority])),
);

export function classOf(method: string): CallClass {
  return visibility.has(method) ? 'visibility' : 'execution';
}

export function priorityOf(method: string): Priority {
  return prioritiesByMethod.get(method) ?? 2;
}

/** What operators ask, and health, are always let in: a namespace that floods the server must be deletable. */
export function isLimited(service: string): boolean {
  return service.startsWith('temporal.api.workflowservice.');
}
