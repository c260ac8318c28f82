/** Search attributes that only the server sets. Those that SDKs and features set are system attributes too, but not among these. */
const names = [
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
] as const;

export type UnsettableSearchAttribute = (typeof names)[number];

export const unsettableSearchAttributes: ReadonlySet<string> = new Set(names);
