/** Search attributes that only the server sets. Those that SDKs and features set are system attributes too, but not among these. */
export const unsettableSearchAttributes: ReadonlySet<string> = new Set([
  'CloseTime',
  'ExecutionDuration',
  'ExecutionStatus',
  'ExecutionTime',
  'HistoryLength',
  'HistorySizeBytes',
  'ParentRunId',
  'ParentWorkflowId',
  'RootRunId',
  'RootWorkflowId',
  'RunId',
  'StartTime',
  'StateTransitionCount',
  'TaskQueue',
  'WorkflowId',
  'WorkflowType',
]);
