/** The search attributes that every namespace has, by `temporal.api.enums.v1.IndexedValueType`. */
import type { UnsettableSearchAttribute } from '../kernel/unsettable-search-attributes.ts';

const indexedValueType = { text: 1, keyword: 2, int: 3, double: 4, bool: 5, datetime: 6, keywordList: 7 } as const;

const { keyword, int, bool, datetime, keywordList } = indexedValueType;

/** Kept by the server. Which they are, the kernel says: one without a type here does not compile. */
const unsettableTypes: Readonly<Record<UnsettableSearchAttribute, number>> = {
  WorkflowType: keyword,
  WorkflowId: keyword,
  RunId: keyword,
  StartTime: datetime,
  ExecutionTime: datetime,
  CloseTime: datetime,
  ExecutionStatus: keyword,
  TaskQueue: keyword,
  HistoryLength: int,
  ExecutionDuration: int,
  StateTransitionCount: int,
  HistorySizeBytes: int,
  ParentWorkflowId: keyword,
  ParentRunId: keyword,
  RootWorkflowId: keyword,
  RootRunId: keyword,
};

/** There without being added; SDKs and features set them. */
const predefinedSearchAttributes: ReadonlyMap<string, number> = new Map([
  ['TemporalChangeVersion', keywordList],
  ['BinaryChecksums', keywordList],
  ['BuildIds', keywordList],
  ['BatcherNamespace', keyword],
  ['BatcherUser', keyword],
  ['TemporalScheduledStartTime', datetime],
  ['TemporalScheduledById', keyword],
  ['TemporalSchedulePaused', bool],
  ['TemporalNamespaceDivision', keyword],
  ['TemporalPauseInfo', keywordList],
  ['TemporalReportedProblems', keywordList],
  ['TemporalWorkerDeployment', keyword],
  ['TemporalWorkerDeploymentVersion', keyword],
  ['TemporalWorkflowVersioningBehavior', keyword],
  ['TemporalUsedWorkerDeploymentVersions', keywordList],
  ['TemporalExternalPayloadCount', int],
  ['TemporalExternalPayloadSizeBytes', int],
]);

export const systemSearchAttributes: ReadonlyMap<string, number> = new Map([
  ...Object.entries(unsettableTypes),
  ...predefinedSearchAttributes,
]);

/** Columns and fields of visibility stores that look like attributes. */
const reservedNames: ReadonlySet<string> = new Set(['NamespaceId', 'VisibilityTaskKey', 'Memo', 'MemoEncoding', 'Encoding']);
const reservedPrefix = '__temporal_';

export function isReservedSearchAttribute(name: string): boolean {
  return systemSearchAttributes.has(name) || reservedNames.has(name) || name.startsWith(reservedPrefix);
}

export function isIndexedValueType(type: number): boolean {
  return Number.isInteger(type) && type >= indexedValueType.text && type <= indexedValueType.keywordList;
}

/** By its name in any case: `Keyword`, `keywordlist`. Undefined = no such type. */
export function indexedValueTypeNamed(name: string): number | undefined {
  const wanted = name.toLowerCase();
  for (const [known, type] of Object.entries(indexedValueType)) if (known.toLowerCase() === wanted) return type;
  return undefined;
}

/** As people write it: `Keyword`, `KeywordList`. */
export function indexedValueTypeName(type: number): string {
  const [name = `type ${type}`] = Object.entries(indexedValueType).find(([, known]) => known === type) ?? [];
  return name.charAt(0).toUpperCase() + name.slice(1);
}
