/**
 * One page of a list, and the token for the next.
 *
 *     page size, or 4 MiB … │ rows behind the last one of this page … │ … fewer than asked for: the end
 *
 * A token holds for a condition, not for words: whoever changes the query between two pages would get rows that belong to neither.
 */
import { createHash } from 'node:crypto';
import { utf8Bytes } from '../../kernel/utf8.ts';
import type { Condition } from '../../filter/condition.ts';
import { OPEN_SORT_MS, servedBytes, type ListedRow, type VisibilityKeyset } from '../../projections/visibility/row.ts';
import { emptyWorkflowExecutionInfo, type WorkflowExecutionInfo } from '../../wire/generated/lean/workflow.ts';
import type { ListWorkflowExecutionsResponse } from '../../wire/generated/lean/visibility_service.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { Tokens } from '../tokens/tokens.ts';
import { checkOpaque } from '../validation/opaque.ts';

/** The size of an answer: clients receive no more by default. One row is given, however large. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024;
/** Tags, lengths, times and numbers around one execution's texts and bytes, and its token if it is the last. */
const FRAME_BYTES_MAX = 512;
const CONDITION_HASH_BYTES = 16;

const nothing = new Uint8Array(0);

/** Where a page begins. Throws INVALID_ARGUMENT for a token of another namespace or condition. */
export function rowsAfter(
  tokens: Tokens,
  nextPageToken: Uint8Array,
  namespaceId: string,
  condition: Condition | undefined,
): VisibilityKeyset | undefined {
  if (nextPageToken.length === 0) return undefined;
  const { sortMs, startTimeMs, runId, ...token } = tokens.visibilityPage.read(nextPageToken);
  if (token.namespaceId !== namespaceId) throw invalidArgument('Operation requested with a token from a different namespace.');
  if (!hashOf(condition).equals(token.conditionHash)) throw invalidArgument('NextPageToken was given for another query.');
  return { sortMs, startTimeMs, runId };
}

/** What of a row cannot be read, and is left out: clients would take no page with it. */
export type LeftOut = (row: ListedRow, part: 'memo' | 'searchAttributes', error: unknown) => void;

/** `rows`: at most `max`, and fewer only at the end, or when they reach `PAGE_BYTES_MAX`. */
export function listedPage(
  tokens: Tokens,
  rows: readonly ListedRow[],
  max: number,
  namespaceId: string,
  condition: Condition | undefined,
  leftOut: LeftOut,
): ListWorkflowExecutionsResponse {
  const executions: WorkflowExecutionInfo[] = [];
  let [bytes, stored] = [0, 0];
  for (const row of rows) {
    stored += servedBytes(row);
    bytes += bytesOf(row);
    if (bytes > PAGE_BYTES_MAX && executions.length > 0) break;
    executions.push(executionInfo(row, leftOut));
  }
  const last = rows[executions.length - 1];
  const isEnd = executions.length === rows.length && rows.length < max && stored < PAGE_BYTES_MAX;
  if (last === undefined || isEnd) return { executions, nextPageToken: nothing };
  const { startTimeMs, runId, closeTimeMs: sortMs = OPEN_SORT_MS } = last;
  return {
    executions,
    nextPageToken: tokens.visibilityPage.sign({ namespaceId, conditionHash: hashOf(condition), sortMs, startTimeMs, runId }),
  };
}

function hashOf(condition: Condition | undefined): Buffer {
  const text = JSON.stringify(condition ?? null, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
  return createHash('sha256').update(text).digest().subarray(0, CONDITION_HASH_BYTES);
}

function bytesOf(row: ListedRow): number {
  let bytes = FRAME_BYTES_MAX + servedBytes(row);
  for (const text of [row.workflowId, row.workflowType, row.taskQueue, row.parentWorkflowId, row.rootWorkflowId]) bytes += utf8Bytes(text);
  return bytes;
}

/** Lengths and sizes are those of closed runs alone, as on Temporal: they would be old as soon as a workflow goes on. */
function executionInfo(row: ListedRow, leftOut: LeftOut): WorkflowExecutionInfo {
  return {
    ...emptyWorkflowExecutionInfo(),
    execution: { workflowId: row.workflowId, runId: row.runId },
    type: { name: row.workflowType },
    startTimeMs: row.startTimeMs,
    closeTimeMs: row.closeTimeMs ?? 0,
    status: row.status,
    historyLength: row.historyLength ?? 0,
    parentExecution: row.parentWorkflowId === '' ? undefined : { workflowId: row.parentWorkflowId, runId: row.parentRunId },
    executionTimeMs: row.executionTimeMs,
    memo: servable(row, 'memo', leftOut),
    searchAttributes: servable(row, 'searchAttributes', leftOut),
    taskQueue: row.taskQueue,
    stateTransitionCount: row.stateTransitionCount ?? 0,
    historySizeBytes: row.historySizeBytes ?? 0,
    executionDurationMs: row.executionDurationMs ?? 0,
    rootExecution: { workflowId: row.rootWorkflowId, runId: row.rootRunId },
  };
}

/** They were whole when they came; a row may be damaged since, and nothing else looks into them on their way. */
function servable(row: ListedRow, part: 'memo' | 'searchAttributes', leftOut: LeftOut): Uint8Array {
  const bytes = row[part];
  if (bytes === undefined) return nothing;
  try {
    // Both have one and the same form.
    checkOpaque(bytes, 'fields');
    return bytes;
  } catch (error) {
    leftOut(row, part, error);
    return nothing;
  }
}
