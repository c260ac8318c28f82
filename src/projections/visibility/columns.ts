/**
 * The columns of a visibility row, by the names that queries use: those of every run, and those of predefined attributes. The attributes of
 * a namespace stand in slots.
 *
 * What is one text in a query may be another thing in a row: ExecutionStatus is a Keyword there and a number here, ExecutionDuration
 * nanoseconds there and milliseconds here.
 */
import type { Column, ColumnKind } from '../../filter/condition.ts';
import { assert } from '../../kernel/assert.ts';

/** Kinds of columns by `temporal.api.enums.v1.IndexedValueType`. */
const kinds = ['text', 'keyword', 'int', 'double', 'bool', 'instant', 'keywordList'] as const;
export const columnKinds: ReadonlyMap<number, ColumnKind> = new Map(kinds.map((kind, index) => [index + 1, kind]));

const column = (name: string, kind: ColumnKind): readonly [string, Column] => [name, { name, kind }];

/** Every run has them; nobody can set them. */
export const systemColumns: ReadonlyMap<string, Column> = new Map([
  column('WorkflowId', 'keyword'),
  column('RunId', 'keyword'),
  column('WorkflowType', 'keyword'),
  column('TaskQueue', 'keyword'),
  column('StartTime', 'datetime'),
  column('ExecutionTime', 'datetime'),
  column('CloseTime', 'datetime'),
  /** `temporal.api.enums.v1.WorkflowExecutionStatus` */
  column('ExecutionStatus', 'int'),
  /** Milliseconds. */
  column('ExecutionDuration', 'int'),
  column('HistoryLength', 'int'),
  column('HistorySizeBytes', 'int'),
  column('StateTransitionCount', 'int'),
  column('ParentWorkflowId', 'keyword'),
  column('ParentRunId', 'keyword'),
  column('RootWorkflowId', 'keyword'),
  column('RootRunId', 'keyword'),
]);

/** Attributes that are there without being added; SDKs and features set them. */
export const predefinedColumns: ReadonlyMap<string, Column> = new Map([
  column('TemporalChangeVersion', 'keywordList'),
  column('BinaryChecksums', 'keywordList'),
  column('BuildIds', 'keywordList'),
  column('BatcherNamespace', 'keyword'),
  column('BatcherUser', 'keyword'),
  column('TemporalScheduledStartTime', 'instant'),
  column('TemporalScheduledById', 'keyword'),
  column('TemporalSchedulePaused', 'bool'),
  column('TemporalNamespaceDivision', 'keyword'),
  column('TemporalPauseInfo', 'keywordList'),
  column('TemporalReportedProblems', 'keywordList'),
  column('TemporalWorkerDeployment', 'keyword'),
  column('TemporalWorkerDeploymentVersion', 'keyword'),
  column('TemporalWorkflowVersioningBehavior', 'keyword'),
  column('TemporalUsedWorkerDeploymentVersions', 'keywordList'),
  column('TemporalExternalPayloadCount', 'int'),
  column('TemporalExternalPayloadSizeBytes', 'int'),
]);

/** A column that every row has, by a name that is written here. */
export function columnNamed(name: string): Column {
  const found = builtInColumn(name);
  assert(found !== undefined, `${name} is a column of every row`);
  return found;
}

export function builtInColumn(name: string): Column | undefined {
  return systemColumns.get(name) ?? predefinedColumns.get(name);
}

/** The attributes that a namespace has defined: `IndexedValueType` and slot of each name. */
export type CustomAttributes = {
  readonly types: ReadonlyMap<string, number>;
  readonly slots: ReadonlyMap<string, string>;
};

/** Where rows keep what is set by that very name: queries find it there. */
export function attributeColumn(custom: CustomAttributes, name: string): Column | undefined {
  return predefinedColumns.get(name) ?? customColumn(custom, name);
}

/** The column of a namespace's attribute; one that has no slot is in no column. */
function customColumn({ types, slots }: CustomAttributes, name: string): Column | undefined {
  const kind = columnKinds.get(types.get(name) ?? 0);
  const slot = slots.get(name);
  return kind === undefined || slot === undefined ? undefined : { name: slot, kind };
}

/** What a name in a query means; undefined: nothing. */
export type QueryAttributes = (name: string) => { readonly column: Column } | undefined;

const prefix = 'Temporal';

/** Names as Temporal reads them: as written, else of the namespace, else with `Temporal` added or left out. ScheduleId is a WorkflowId. */
export function queryAttributes(custom: CustomAttributes): QueryAttributes {
  return (name) => {
    const column = builtInColumn(name) ?? customColumn(custom, name) ?? builtInColumn(otherName(name));
    return column === undefined ? undefined : { column };
  };
}

function otherName(name: string): string {
  const bare = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  if (bare === 'ScheduleId') return 'WorkflowId';
  return bare === name ? prefix + name : bare;
}
