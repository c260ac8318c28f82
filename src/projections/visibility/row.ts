/**
 * What List and Count know of a run: a row for each, open or closed, and the questions that are asked of rows.
 *
 * System columns have names of their own; search attributes that a namespace has defined stand in slots, which the cluster assigns
 * (`Keyword07`): a slot has one type for ever, and an index.
 */
import type { Condition } from '../../filter/condition.ts';

export type SlotValue = string | number | bigint | boolean | readonly string[];

export type VisibilityRow = {
  readonly namespaceId: string;
  readonly runId: string;
  /** Shards count from 1. */
  readonly shard: number;
  readonly workflowId: string;
  readonly workflowType: string;
  readonly taskQueue: string;
  /** `temporal.api.enums.v1.WorkflowExecutionStatus` */
  readonly status: number;
  readonly startTimeMs: number;
  readonly executionTimeMs: number;
  /** The next four of a closed run; undefined: it is open. */
  readonly closeTimeMs: number | undefined;
  readonly executionDurationMs: number | undefined;
  readonly historyLength: number | undefined;
  readonly historySizeBytes: number | undefined;
  readonly stateTransitionCount: number | undefined;
  /** '' = none: NULL to a condition. */
  readonly parentWorkflowId: string;
  readonly parentRunId: string;
  readonly rootWorkflowId: string;
  readonly rootRunId: string;
  /** `temporal.api.common.v1.Memo` and `SearchAttributes`, as they are served. */
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
  /**
   * Predefined and custom attributes by column or slot; instants in ns (bigint), no empty lists. What fits no column is changed (NUL, halves of
   * surrogate pairs: `storable`) or left out (NaN, beyond int64, another type than the slot's, more bytes than an index takes): the rest of
   * the row stays. A row that does not fit at all (a run id that is no UUID, a start time that is no whole number) is left out alone.
   */
  readonly slots: ReadonlyMap<string, SlotValue>;
  /** Grows with each change of the run: an older row never replaces a newer one; one of the same version does. */
  readonly version: number;
};

/** Newest first: (close time, open runs before all; start time; run id), all descending. */
export type VisibilityKeyset = { readonly sortMs: number; readonly startTimeMs: number; readonly runId: string };

/** `sortMs` of open runs: after every date that a row can have. */
export const OPEN_SORT_MS = 253_402_300_799_999;

export type VisibilityList = {
  readonly namespaceId: string;
  /** What rows must meet; undefined: all are listed. */
  readonly condition: Condition | undefined;
  /** Rows behind this one; undefined: from the newest. */
  readonly after: VisibilityKeyset | undefined;
  readonly max: number;
  /** Room for rows by `servedBytes`: the row with which a page reaches it is its last. undefined: there is room for all. */
  readonly bytesMax?: number | undefined;
  /** The number by which the caller may give the list up (`Database.giveUp`); undefined: nobody does. */
  readonly asked?: number | undefined;
};

/** What is served of a row: attributes as bytes, no slots. */
export type ListedRow = Omit<VisibilityRow, 'slots' | 'version'>;

/** Fewer than asked for, and no `bytesMax` reached: there are no more. */
export type VisibilityPage = { readonly rows: readonly ListedRow[] };

/** Bytes of what a client may have made large; all else of a row is bounded. */
export function servedBytes({ memo, searchAttributes }: Pick<ListedRow, 'memo' | 'searchAttributes'>): number {
  return (memo?.length ?? 0) + (searchAttributes?.length ?? 0);
}

export type VisibilityCount = Pick<VisibilityList, 'namespaceId' | 'condition' | 'asked'> & {
  /** Whether each status that a row has is counted, in any order; else there is one count for all, perhaps 0. */
  readonly byStatus: boolean;
};
