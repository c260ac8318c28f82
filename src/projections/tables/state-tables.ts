/** What of a checkpoint goes into which column, of both databases. Each table has a column `partition` before these. */
import { unreachable } from '../../kernel/assert.ts';
import { letterColumns, type LetterColumn } from './letter-columns.ts';
import { nameBytes } from './name-bytes.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { CheckpointRows, ChildStartRow, HistoryRow, MatchingTaskRow, RunRow, TimerRow, TransferTaskRow } from '../database-port.ts';
import type { LetterRow } from '../../deadletters/letter-records.ts';

/** How a column's value is had of a row. `optional`: it may be NULL, for which the value is undefined. */
export type ColumnOf<Row> = { readonly name: string; readonly optional?: true } & (
  | { readonly type: 'uuid'; readonly of: (row: Row) => string }
  | { readonly type: 'integer' | 'bigint'; readonly of: (row: Row) => number | bigint | undefined }
  | { readonly type: 'boolean'; readonly of: (row: Row) => boolean }
  | { readonly type: 'bytea'; readonly of: (row: Row) => Uint8Array | string | undefined }
  /** A text has neither NUL nor halves of surrogate pairs. */
  | { readonly type: 'text' | 'jsonb'; readonly of: (row: Row) => string | undefined }
);

export type TableOf<Row> = {
  readonly name: string;
  /** Columns of the primary key, without the partition. */
  readonly key: readonly string[];
  /** The primary key of a row, as one text. */
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly ColumnOf<Row>[];
};

export const executionsTable: TableOf<RunKey> = {
  name: 'executions',
  key: ['namespace_id', 'workflow_id'],
  keyOf: ({ namespaceId, workflowId }) => `${namespaceId} ${workflowId}`,
  columns: [
    { name: 'namespace_id', type: 'uuid', of: ({ namespaceId }) => namespaceId },
    { name: 'run_id', type: 'uuid', of: ({ runId }) => runId },
    { name: 'workflow_id', type: 'bytea', of: ({ workflowId }) => workflowId },
  ],
};

export const runsTable: TableOf<RunRow> = {
  name: 'runs',
  key: ['run_id'],
  keyOf: ({ runId }) => runId,
  columns: [
    { name: 'run_id', type: 'uuid', of: ({ runId }) => runId },
    { name: 'namespace_id', type: 'uuid', of: ({ namespaceId }) => namespaceId },
    { name: 'status', type: 'integer', of: ({ status }) => status },
    { name: 'forget_ms', type: 'bigint', optional: true, of: ({ forgetMs }) => forgetMs },
    { name: 'workflow_id', type: 'bytea', of: ({ workflowId }) => workflowId },
    { name: 'state', type: 'bytea', of: ({ state }) => state },
  ],
};

export const childStartsTable: TableOf<ChildStartRow> = {
  name: 'child_starts',
  key: ['parent_run_id', 'initiated_event_id'],
  keyOf: ({ parentRunId, initiatedEventId }) => `${parentRunId} ${initiatedEventId}`,
  columns: [
    { name: 'parent_run_id', type: 'uuid', of: ({ parentRunId }) => parentRunId },
    { name: 'initiated_event_id', type: 'bigint', of: ({ initiatedEventId }) => initiatedEventId },
    { name: 'run_id', type: 'uuid', of: ({ runId }) => runId },
  ],
};

export const historyTable: TableOf<HistoryRow> = {
  name: 'history',
  key: ['run_id', 'branch', 'first_event_id'],
  keyOf: ({ runId, branch, firstEventId }) => `${runId} ${branch} ${firstEventId}`,
  columns: [
    { name: 'run_id', type: 'uuid', of: ({ runId }) => runId },
    { name: 'branch', type: 'integer', of: ({ branch }) => branch },
    { name: 'first_event_id', type: 'bigint', of: ({ firstEventId }) => firstEventId },
    { name: 'last_event_id', type: 'bigint', of: ({ lastEventId }) => lastEventId },
    { name: 'events', type: 'bytea', of: ({ events }) => events },
  ],
};

export const transferTasksTable: TableOf<TransferTaskRow> = {
  name: 'transfer_tasks',
  key: ['task_id'],
  keyOf: ({ taskId }) => String(taskId),
  columns: [
    { name: 'task_id', type: 'bigint', of: ({ taskId }) => taskId },
    { name: 'aside', type: 'boolean', of: ({ aside }) => aside },
    { name: 'at_matching', type: 'boolean', of: ({ atMatching }) => atMatching },
    { name: 'task', type: 'bytea', of: ({ task }) => task },
  ],
};

export const timersTable: TableOf<TimerRow> = {
  name: 'timers',
  key: ['task_id'],
  keyOf: ({ taskId }) => String(taskId),
  columns: [
    { name: 'task_id', type: 'bigint', of: ({ taskId }) => taskId },
    { name: 'fire_ms', type: 'bigint', of: ({ fireTimeMs }) => fireTimeMs },
    { name: 'aside', type: 'boolean', of: ({ aside }) => aside },
    { name: 'task', type: 'bytea', of: ({ task }) => task },
  ],
};

export const matchingTasksTable: TableOf<MatchingTaskRow> = {
  name: 'matching_tasks',
  key: ['task_id'],
  keyOf: ({ taskId }) => String(taskId),
  columns: [
    { name: 'task_id', type: 'bigint', of: ({ taskId }) => taskId },
    { name: 'queue', type: 'bytea', of: ({ queue }) => queue },
    { name: 'task', type: 'bytea', of: ({ task }) => task },
  ],
};

export const lettersTable: TableOf<LetterRow> = {
  name: 'dead_letters',
  key: ['message_id'],
  keyOf: ({ messageId }) => String(messageId),
  columns: letterColumns.map(letterColumn),
};

function letterColumn({ field, type, ...column }: LetterColumn): ColumnOf<LetterRow> {
  switch (type) {
    case 'text':
      return { ...column, type: 'bytea', of: (row) => bytesUnlessEmpty(row[field] as string) };
    case 'number':
    case 'whole':
      return { ...column, type: 'bigint', of: (row) => row[field] as number | bigint | undefined };
    case 'boolean':
      return { ...column, type: 'boolean', of: (row) => row[field] as boolean };
  }
}

function bytesUnlessEmpty(text: string): Uint8Array | undefined {
  return text === '' ? undefined : nameBytes(text);
}

/** Goes through the tables to which a checkpoint adds rows. */
export function putsOf<Result>(
  checkpoint: CheckpointRows,
  put: <Row>(table: TableOf<Row>, rows: readonly Row[]) => Result,
): readonly Result[] {
  switch (checkpoint.kind) {
    case 'history': {
      const { runs, currentRuns, childStarts, history, transferTasks, timers } = checkpoint.delta;
      return [
        put(runsTable, runs),
        put(executionsTable, currentRuns),
        put(childStartsTable, childStarts),
        put(historyTable, history),
        put(transferTasksTable, transferTasks),
        put(timersTable, timers),
      ];
    }
    case 'matching':
      return [put(matchingTasksTable, checkpoint.delta.tasks)];
    case 'deadLetters':
      return [put(lettersTable, checkpoint.delta.letters)];
    default:
      return unreachable(checkpoint);
  }
}

/** Rows that a checkpoint deletes by their ids. */
type Gone = { readonly table: string; readonly key: string; readonly ids: readonly number[] };

export function goneOf(checkpoint: CheckpointRows): readonly Gone[] {
  switch (checkpoint.kind) {
    case 'history':
      return [
        { table: 'transfer_tasks', key: 'task_id', ids: checkpoint.delta.goneTransferTasks },
        { table: 'timers', key: 'task_id', ids: checkpoint.delta.goneTimers },
      ];
    case 'matching':
      return [{ table: 'matching_tasks', key: 'task_id', ids: checkpoint.delta.goneTasks }];
    case 'deadLetters':
      return [{ table: 'dead_letters', key: 'message_id', ids: checkpoint.delta.goneLetters }];
    default:
      return unreachable(checkpoint);
  }
}
