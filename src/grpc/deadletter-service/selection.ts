/**
 * Which letters a request is about: all that is set holds together, and nothing set is all letters.
 *
 *     message_ids, min, max ─▶ ids: ranges that rise ─┐
 *     task_id, workflow_id, run_id, namespace,        ├─▶ one condition, for whoever walks over the rows
 *     shard_id, query ─▶ condition ───────────────────┘
 */
import { letterFields, parseLetterFilter } from '../../deadletters/filter/parse-letter-filter.ts';
import { idsOf, rangesOfIds } from '../../deadletters/bounds/id-ranges.ts';
import type { IdRange } from '../../deadletters/letter-commands.ts';
import type { LetterSelection } from '../../deadletters/jobs/job.ts';
import type { Column, Condition, Operand } from '../../filter/condition.ts';
import { assert } from '../../kernel/assert.ts';
import { int64Max } from '../../kernel/int64.ts';
import { emptySelection, type Selection } from '../../wire/generated/api/deadletter/service.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { allOf } from '../conditions.ts';
import { letterLimits } from './letter-pages.ts';

export function chosenLetters(selection: Selection = emptySelection()): LetterSelection {
  if (selection.shardId < 0) throw invalidArgument(`Invalid ShardID: ${selection.shardId}`);
  return { ids: chosenIds(selection), condition: chosenByRow(selection) };
}

/** What `ids` say too, for an index. */
export function asCondition({ ids, condition }: LetterSelection): Condition | undefined {
  return allOf(ids && isAmong(ids), condition);
}

/** Undefined: all. */
function chosenIds({ messageIds, minMessageId: min, maxMessageId: max }: Selection): readonly IdRange[] | undefined {
  const { messageIdsMax } = letterLimits;
  if (messageIds.length > messageIdsMax) {
    throw invalidArgument(`message_ids has ${messageIds.length} values, and may have ${messageIdsMax}`);
  }
  for (const id of [...messageIds, min ?? 0, max ?? 0]) if (id < 0) throw invalidArgument(`Invalid message id: ${id}`);
  if (min !== undefined && max !== undefined && min > max) throw invalidArgument(`Invalid range of message ids: ${min} to ${max}`);
  const from = min ?? 0;
  const to = max ?? Number.MAX_SAFE_INTEGER;
  if (messageIds.length > 0) return rangesOfIds(messageIds.filter((id) => id >= from && id <= to));
  return min === undefined && max === undefined ? undefined : [{ from, to }];
}

function chosenByRow({ taskId, workflowId, runId, namespace, shardId, query }: Selection): Condition | undefined {
  return allOf(
    taskId === '' ? undefined : equals('TaskId', idOfTask(taskId)),
    workflowId === '' ? undefined : equals('WorkflowId', workflowId),
    runId === '' ? undefined : equals('RunId', runId),
    namespace === '' ? undefined : equals('Namespace', namespace),
    shardId === 0 ? undefined : equals('ShardId', shardId),
    conditionOf(query),
  );
}

function idOfTask(digits: string): Operand {
  const id = /^\d{1,19}$/.test(digits) ? BigInt(digits) : undefined;
  if (id === undefined || id > int64Max) throw invalidArgument('Invalid task id: a whole number from 0 to 2^63 - 1 is expected');
  return id <= Number.MAX_SAFE_INTEGER ? Number(id) : id;
}

function conditionOf(query: string): Condition | undefined {
  const parsed = parseLetterFilter(query);
  if (parsed.kind === 'invalid') throw invalidArgument(parsed.message);
  return parsed.condition;
}

/** Many ranges come of single ids, as many as a request may name: one list of them, for databases bound how deep a condition may be. */
function isAmong(ranges: readonly IdRange[]): Condition {
  const column = letterColumn('MessageId');
  const [first, ...others] = ranges;
  // No letter has this one.
  if (first === undefined) return equals('MessageId', -1);
  if (others.length === 0) return { kind: 'between', column, not: false, low: first.from, high: first.to };
  return { kind: 'in', column, not: false, operands: [...idsOf(ranges)] };
}

export function equals(name: string, operand: Operand): Condition {
  return { kind: 'compare', column: letterColumn(name), operator: '=', operand };
}

export function letterColumn(name: string): Column {
  const column = letterFields.get(name);
  assert(column !== undefined, `letters have ${name}`);
  return column;
}
