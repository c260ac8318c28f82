/**
 * The columns of a dead letter's row, for both databases, in the order of their tables.
 *
 *     text      bytes of UTF-8, which compare as texts do; NULL = ''     any text comes back as it was, NUL and halves of surrogate pairs too
 *     number    a whole number below 2^53
 *     whole     64 bits; read as decimal text
 *     boolean
 */
import { nameText } from './name-bytes.ts';
import type { RowReader } from './row-reader.ts';
import type { LetterGroup, LetterGrouping } from '../../deadletters/letter-commands.ts';
import type { LetterRow } from '../../deadletters/letter-records.ts';
import type { FilteredTable } from './condition-sql.ts';

type TypeOf<Value> = Value extends string ? 'text' : Value extends boolean ? 'boolean' : 'number' | 'whole';

type Described<Value> = { readonly name: string; readonly type: TypeOf<NonNullable<Value>>; readonly optional?: true };

const described: { readonly [Field in keyof LetterRow]: Described<LetterRow[Field]> } = {
  messageId: { name: 'message_id', type: 'number' },
  offset: { name: 'log_offset', type: 'number' },
  taskId: { name: 'task_id', type: 'whole', optional: true },
  shardId: { name: 'shard_id', type: 'number', optional: true },
  attempts: { name: 'attempts', type: 'number' },
  generation: { name: 'generation', type: 'number' },
  taskFireTimeMs: { name: 'task_fire_ms', type: 'number', optional: true },
  firstFailureTimeMs: { name: 'first_failure_ms', type: 'number', optional: true },
  lastFailureTimeMs: { name: 'last_failure_ms', type: 'number', optional: true },
  deadLetterTimeMs: { name: 'dead_letter_ms', type: 'number' },
  firstEventId: { name: 'first_event_id', type: 'whole', optional: true },
  nextEventId: { name: 'next_event_id', type: 'whole', optional: true },
  version: { name: 'version', type: 'whole', optional: true },
  isDamaged: { name: 'is_damaged', type: 'boolean' },
  state: { name: 'state', type: 'text' },
  cause: { name: 'cause', type: 'text', optional: true },
  disposition: { name: 'disposition', type: 'text', optional: true },
  fingerprint: { name: 'fingerprint', type: 'text', optional: true },
  taskType: { name: 'task_type', type: 'text', optional: true },
  namespaceId: { name: 'namespace_id', type: 'text', optional: true },
  namespace: { name: 'namespace', type: 'text', optional: true },
  workflowId: { name: 'workflow_id', type: 'text', optional: true },
  runId: { name: 'run_id', type: 'text', optional: true },
  workflowType: { name: 'workflow_type', type: 'text', optional: true },
  sourceCluster: { name: 'source_cluster', type: 'text', optional: true },
  node: { name: 'node', type: 'text', optional: true },
  build: { name: 'build', type: 'text', optional: true },
  errorType: { name: 'error_type', type: 'text', optional: true },
  errorMessage: { name: 'error_message', type: 'text', optional: true },
};

export type LetterColumn = {
  readonly field: keyof LetterRow;
  readonly name: string;
  readonly type: 'text' | 'number' | 'whole' | 'boolean';
  readonly optional?: true;
};

const fields = Object.keys(described) as readonly (keyof LetterRow)[];
export const letterColumns: readonly LetterColumn[] = fields.map((field) => ({ ...described[field], field }));

/** The columns of texts: their bytes are what a page of letters has room for. */
export const letterTextNames: readonly string[] = letterColumns.flatMap(({ name, type }) => (type === 'text' ? [name] : []));

export function letterOf<Row>(row: Row, of: RowReader<Row>): LetterRow {
  const values = letterColumns.map(({ field, name, type, optional }) => {
    if (type === 'text') return [field, letterText(row, name, of)] as const;
    return [field, optional === true && of.isNull(row, name) ? undefined : of[type](row, name)] as const;
  });
  return Object.fromEntries(values) as LetterRow;
}

export function letterText<Row>(row: Row, name: string, of: RowReader<Row>): string {
  return of.isNull(row, name) ? '' : nameText(of.bytes(row, name));
}

/** Filters name a field with a capital letter, and times without their unit. */
export const letterTable: FilteredTable = {
  columns: Object.fromEntries(
    letterColumns.map(({ field, name }) => [`${field.charAt(0).toUpperCase()}${field.slice(1).replace(/Ms$/, '')}`, name]),
  ),
  texts: 'bytes',
};

export function groupingColumn(by: LetterGrouping): string {
  return described[by].name;
}

export type CountedLetters = Omit<LetterGroup, 'errorType' | 'errorMessage' | 'taskType'>;

/** What is selected of a group, beside its key. */
export const countedLetters =
  'count(*) AS count, min(message_id) AS lowest_id, min(dead_letter_ms) AS oldest_ms, max(dead_letter_ms) AS newest_ms';

export function countedOf<Row>(row: Row, key: string, of: RowReader<Row>): CountedLetters {
  const [count, lowestId] = [of.number(row, 'count'), of.number(row, 'lowest_id')];
  return { key: letterText(row, key, of), count, lowestId, oldestMs: of.number(row, 'oldest_ms'), newestMs: of.number(row, 'newest_ms') };
}

/** What a group shows of its oldest letter; undefined: there is no such letter. */
export function exampleOf<Row>(row: Row | undefined, of: RowReader<Row>): Omit<LetterGroup, keyof CountedLetters> {
  const text = (name: string): string => (row === undefined ? '' : letterText(row, name, of));
  return { errorType: text('error_type'), errorMessage: text('error_message'), taskType: text('task_type') };
}
