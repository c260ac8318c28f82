/** `temporal.api.enums.v1.IndexedValueType`, as people write its types. */
export const indexedValueTypes = { Text: 1, Keyword: 2, Int: 3, Double: 4, Bool: 5, Datetime: 6, KeywordList: 7 } as const;

const typeNames = ['Unspecified', ...Object.keys(indexedValueTypes)];

export function searchAttributeTypeName(type: number): string {
  return typeNames[type] ?? `IndexedValueType(${type})`;
}

const { Keyword, Int, Datetime } = indexedValueTypes;

/** `names`: with spaces between them. */
export function allOfType(type: number, names: string): readonly (readonly [name: string, type: number])[] {
  return names.split(' ').map((name) => [name, type]);
}

/** Types, by name, of attributes that only the server sets. Those that SDKs and features set are system attributes too, but not among these. */
export const unsettableSearchAttributes: ReadonlyMap<string, number> = new Map([
  ...allOfType(Keyword, 'WorkflowType WorkflowId RunId ExecutionStatus TaskQueue ParentWorkflowId ParentRunId RootWorkflowId RootRunId'),
  ...allOfType(Datetime, 'StartTime ExecutionTime CloseTime'),
  ...allOfType(Int, 'HistoryLength ExecutionDuration StateTransitionCount HistorySizeBytes'),
]);
