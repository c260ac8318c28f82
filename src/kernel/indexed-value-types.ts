/** `temporal.api.enums.v1.IndexedValueType`, as people write its types. */
export const indexedValueTypes = { Text: 1, Keyword: 2, Int: 3, Double: 4, Bool: 5, Datetime: 6, KeywordList: 7 } as const;

const typeNames = ['Unspecified', ...Object.keys(indexedValueTypes)];

export function searchAttributeTypeName(type: number): string {
  return typeNames[type] ?? `IndexedValueType(${type})`;
}

const { Keyword, Int, Datetime } = indexedValueTypes;

/** Types, by name, of attributes that only the server sets. Those that SDKs and features set are system attributes too, but not among these. */
export const unsettableSearchAttributes: ReadonlyMap<string, number> = new Map([
  ['WorkflowType', Keyword],
  ['WorkflowId', Keyword],
  ['RunId', Keyword],
  ['StartTime', Datetime],
  ['ExecutionTime', Datetime],
  ['CloseTime', Datetime],
  ['ExecutionStatus', Keyword],
  ['TaskQueue', Keyword],
  ['HistoryLength', Int],
  ['ExecutionDuration', Int],
  ['StateTransitionCount', Int],
  ['HistorySizeBytes', Int],
  ['ParentWorkflowId', Keyword],
  ['ParentRunId', Keyword],
  ['RootWorkflowId', Keyword],
  ['RootRunId', Keyword],
]);
