/** What of a checkpoint goes into which column. The partition is the first parameter of every statement. */
import { letterColumns, type LetterColumn } from '../letter-columns.ts';
import { nameBytes } from '../name-bytes.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { ChildStartRow, HistoryRow, MatchingTaskRow, RunRow, TimerRow, TransferTaskRow } from '../../actors/database.ts';
import type { LetterRow } from '../../deadletters/letter-row.ts';
import type { ColumnOf, TableOf } from './upsert.ts';

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
    { name: 'forget_ms', type: 'bigint', of: ({ forgetMs }) => forgetMs },
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

function letterColumn(column: LetterColumn): ColumnOf<LetterRow> {
  const { name } = column;
  switch (column.type) {
    case 'text':
      return { name, type: 'bytea', of: (row) => bytesUnlessEmpty(column.of(row)) };
    case 'number':
    case 'whole':
      return { name, type: 'bigint', of: column.of };
    case 'boolean':
      return { name, type: 'boolean', of: column.of };
  }
}

function bytesUnlessEmpty(text: string): Uint8Array | undefined {
  return text === '' ? undefined : nameBytes(text);
}
