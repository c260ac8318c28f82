/** The search attributes that every namespace has, by `temporal.api.enums.v1.IndexedValueType`. */
import { allOfType, indexedValueTypes, unsettableSearchAttributes } from '../kernel/indexed-value-types.ts';

const { Keyword, Int, Bool, Datetime, KeywordList } = indexedValueTypes;

/** There without being added; SDKs and features set them. */
const predefinedSearchAttributes: ReadonlyMap<string, number> = new Map([
  ...allOfType(KeywordList, 'TemporalChangeVersion BinaryChecksums BuildIds TemporalPauseInfo TemporalReportedProblems'),
  ...allOfType(KeywordList, 'TemporalUsedWorkerDeploymentVersions'),
  ...allOfType(Keyword, 'BatcherNamespace BatcherUser TemporalScheduledById TemporalNamespaceDivision TemporalWorkerDeployment'),
  ...allOfType(Keyword, 'TemporalWorkerDeploymentVersion TemporalWorkflowVersioningBehavior'),
  ...allOfType(Datetime, 'TemporalScheduledStartTime'),
  ...allOfType(Bool, 'TemporalSchedulePaused'),
  ...allOfType(Int, 'TemporalExternalPayloadCount TemporalExternalPayloadSizeBytes'),
]);

export const systemSearchAttributes: ReadonlyMap<string, number> = new Map([...unsettableSearchAttributes, ...predefinedSearchAttributes]);

/** Columns and fields of visibility stores that look like attributes. */
const reservedNames: ReadonlySet<string> = new Set(['NamespaceId', 'VisibilityTaskKey', 'Memo', 'MemoEncoding', 'Encoding']);
const reservedPrefix = '__temporal_';

export function isReservedSearchAttribute(name: string): boolean {
  return systemSearchAttributes.has(name) || reservedNames.has(name) || name.startsWith(reservedPrefix);
}

export function isIndexedValueType(type: number): boolean {
  return Number.isInteger(type) && type >= indexedValueTypes.Text && type <= KeywordList;
}

/** The type with that name in any case: `Keyword`, `keywordlist`. Undefined = no such type. */
export function indexedValueTypeNamed(name: string): number | undefined {
  const wanted = name.toLowerCase();
  for (const [known, type] of Object.entries(indexedValueTypes)) if (known.toLowerCase() === wanted) return type;
  return undefined;
}
