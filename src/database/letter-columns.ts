/**
 * The columns of a letter's row, for both databases.
 *
 *     text      bytes of UTF-8, which compare as texts do; NULL = ''     any text comes back as it was, NUL and halves of surrogate pairs too
 *     number    a whole number below 2^53
 *     whole     64 bits; read as decimal text
 *     boolean
 */
import type {} from '../actors/database.ts';
import type { LetterGrouping } from '../deadletters/commands.ts';
import type { DeadLetterCause, LetterDisposition, LetterState, Whole } from '../deadletters/letter.ts';
import type { LetterRow } from '../deadletters/letter-row.ts';
import type { FilteredTable } from './condition-sql.ts';

export type LetterColumn = { readonly name: string } & (
  | { readonly type: 'text'; readonly of: (row: LetterRow) => string }
  | { readonly type: 'number'; readonly of: (row: LetterRow) => number | undefined }
  | { readonly type: 'whole'; readonly of: (row: LetterRow) => Whole | undefined }
  | { readonly type: 'boolean'; readonly of: (row: LetterRow) => boolean }
);

export const letterColumns: readonly LetterColumn[] = [
  { name: 'message_id', type: 'number', of: ({ messageId }) => messageId },
  { name: 'log_offset', type: 'number', of: ({ offset }) => offset },
  { name: 'task_id', type: 'whole', of: ({ taskId }) => taskId },
  { name: 'shard_id', type: 'number', of: ({ shardId }) => shardId },
  { name: 'attempts', type: 'number', of: ({ attempts }) => attempts },
  { name: 'generation', type: 'number', of: ({ generation }) => generation },
  { name: 'task_fire_ms', type: 'number', of: ({ taskFireTimeMs }) => taskFireTimeMs },
  { name: 'first_failure_ms', type: 'number', of: ({ firstFailureTimeMs }) => firstFailureTimeMs },
  { name: 'last_failure_ms', type: 'number', of: ({ lastFailureTimeMs }) => lastFailureTimeMs },
  { name: 'dead_letter_ms', type: 'number', of: ({ deadLetterTimeMs }) => deadLetterTimeMs },
  { name: 'first_event_id', type: 'whole', of: ({ firstEventId }) => firstEventId },
  { name: 'next_event_id', type: 'whole', of: ({ nextEventId }) => nextEventId },
  { name: 'version', type: 'whole', of: ({ version }) => version },
  { name: 'is_damaged', type: 'boolean', of: ({ isDamaged }) => isDamaged },
  { name: 'state', type: 'text', of: ({ state }) => state },
  { name: 'cause', type: 'text', of: ({ cause }) => cause },
  { name: 'disposition', type: 'text', of: ({ disposition }) => disposition },
  { name: 'fingerprint', type: 'text', of: ({ fingerprint }) => fingerprint },
  { name: 'task_type', type: 'text', of: ({ taskType }) => taskType },
  { name: 'namespace_id', type: 'text', of: ({ namespaceId }) => namespaceId },
  { name: 'namespace', type: 'text', of: ({ namespace }) => namespace },
  { name: 'workflow_id', type: 'text', of: ({ workflowId }) => workflowId },
  { name: 'run_id', type: 'text', of: ({ runId }) => runId },
  { name: 'workflow_type', type: 'text', of: ({ workflowType }) => workflowType },
  { name: 'source_cluster', type: 'text', of: ({ sourceCluster }) => sourceCluster },
  { name: 'node', type: 'text', of: ({ node }) => node },
  { name: 'build', type: 'text', of: ({ build }) => build },
  { name: 'error_type', type: 'text', of: ({ errorType }) => errorType },
  { name: 'error_message', type: 'text', of: ({ errorMessage }) => errorMessage },
];

/** A stored row by the names of its columns. Each throws for what was never written there. */
export type StoredLetter = {
  readonly text: (name: string) => string;
  readonly number: (name: string) => number;
  readonly optional: (name: string) => number | undefined;
  readonly whole: (name: string) => Whole | undefined;
  readonly boolean: (name: string) => boolean;
};

export function letterOf({ text, number, optional, whole, boolean }: StoredLetter): LetterRow {
  return {
    messageId: number('message_id'),
    offset: number('log_offset'),
    taskId: whole('task_id'),
    taskType: text('task_type'),
    shardId: optional('shard_id'),
    namespaceId: text('namespace_id'),
    namespace: text('namespace'),
    workflowId: text('workflow_id'),
    runId: text('run_id'),
    workflowType: text('workflow_type'),
    cause: text('cause') as DeadLetterCause | '',
    disposition: text('disposition') as LetterDisposition,
    errorType: text('error_type'),
    errorMessage: text('error_message'),
    fingerprint: text('fingerprint'),
    attempts: number('attempts'),
    generation: number('generation'),
    state: text('state') as LetterState,
    taskFireTimeMs: optional('task_fire_ms'),
    firstFailureTimeMs: optional('first_failure_ms'),
    lastFailureTimeMs: optional('last_failure_ms'),
    deadLetterTimeMs: number('dead_letter_ms'),
    firstEventId: whole('first_event_id'),
    nextEventId: whole('next_event_id'),
    version: whole('version'),
    sourceCluster: text('source_cluster'),
    node: text('node'),
    build: text('build'),
    isDamaged: boolean('is_damaged'),
  };
}

export function wholeOfText(text: string): Whole {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

/** As filters name them. */
export const letterTable: FilteredTable = {
  columns: {
    MessageId: 'message_id',
    TaskId: 'task_id',
    TaskType: 'task_type',
    ShardId: 'shard_id',
    Namespace: 'namespace',
    WorkflowId: 'workflow_id',
    WorkflowType: 'workflow_type',
    RunId: 'run_id',
    Cause: 'cause',
    Disposition: 'disposition',
    ErrorType: 'error_type',
    ErrorMessage: 'error_message',
    Fingerprint: 'fingerprint',
    Attempts: 'attempts',
    Generation: 'generation',
    State: 'state',
    DeadLetterTime: 'dead_letter_ms',
    FirstFailureTime: 'first_failure_ms',
    SourceCluster: 'source_cluster',
    Build: 'build',
  },
  texts: 'bytes',
};

export const groupingColumns: Readonly<Record<LetterGrouping, string>> = {
  fingerprint: 'fingerprint',
  cause: 'cause',
  disposition: 'disposition',
  errorType: 'error_type',
  taskType: 'task_type',
  namespace: 'namespace',
  workflowType: 'workflow_type',
  node: 'node',
  build: 'build',
  sourceCluster: 'source_cluster',
};
