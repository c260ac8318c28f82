/**
 * Rows for List and Count. Whatever a client has stored, they stop no checkpoint: texts are made storable, values that fit no column are left
 * out, and should the database refuse a row all the same (its id is longer than an index holds), that row alone is left out, and said.
 *
 * Most runs have no attributes: their statement does without the JSON in which those of a row travel.
 */
import { errorMessage } from '../../kernel/error-text.ts';
import { int64Max } from '../../kernel/int64.ts';
import { isUuid } from '../../kernel/uuid.ts';
import { OPEN_SORT_MS, type SlotValue, type VisibilityRow } from '../../visibility/row.ts';
import { storable, wordsOf } from '../../visibility/text.ts';
import { isAboutData } from './postgres-failure.ts';
import { arrayOf, uuidOf } from './pack.ts';
import { splitInstant } from '../../kernel/instant.ts';
import { partColumn } from '../instant-sql.ts';
import { quoted } from './schema-name.ts';
import { Upsert, type ColumnOf, type StatementParts, type Step } from './upsert.ts';
import { attributeDefinitions, attributeKinds, partDefinitions } from './visibility-table.ts';
import type { Session, Statement } from './connections.ts';
import type { ColumnKind } from '../../filter/condition.ts';
import type { Logger } from '../../observability/logger.ts';

/** An entry of an index takes 2,704 bytes, and has 60 of its own. */
const indexedBytesMax = 2_600;

const unlessEmpty = (text: string): string | undefined => (text === '' ? undefined : storable(text));

const runColumns: readonly ColumnOf<VisibilityRow>[] = [
  { name: 'namespace_id', type: 'uuid', of: ({ namespaceId }) => namespaceId },
  { name: 'run_id', type: 'uuid', of: ({ runId }) => runId },
  { name: 'shard', type: 'integer', of: ({ shard }) => shard },
  { name: 'status', type: 'integer', of: ({ status }) => status },
  { name: 'version', type: 'bigint', of: ({ version }) => version },
  { name: 'start_ms', type: 'bigint', of: ({ startTimeMs }) => startTimeMs },
  { name: 'execution_ms', type: 'bigint', of: ({ executionTimeMs }) => executionTimeMs },
  { name: 'close_ms', type: 'bigint', of: ({ closeTimeMs }) => closeTimeMs },
  { name: 'execution_duration_ms', type: 'bigint', of: ({ executionDurationMs }) => executionDurationMs },
  { name: 'history_length', type: 'bigint', of: ({ historyLength }) => historyLength },
  { name: 'history_size_bytes', type: 'bigint', of: ({ historySizeBytes }) => historySizeBytes },
  { name: 'state_transition_count', type: 'bigint', of: ({ stateTransitionCount }) => stateTransitionCount },
  { name: 'workflow_id', type: 'text', of: ({ workflowId }) => storable(workflowId) },
  { name: 'workflow_type', type: 'text', of: ({ workflowType }) => storable(workflowType) },
  { name: 'task_queue', type: 'text', of: ({ taskQueue }) => storable(taskQueue) },
  { name: 'parent_workflow_id', type: 'text', of: ({ parentWorkflowId }) => unlessEmpty(parentWorkflowId) },
  { name: 'parent_run_id', type: 'text', of: ({ parentRunId }) => unlessEmpty(parentRunId) },
  { name: 'root_workflow_id', type: 'text', of: ({ rootWorkflowId }) => unlessEmpty(rootWorkflowId) },
  { name: 'root_run_id', type: 'text', of: ({ rootRunId }) => unlessEmpty(rootRunId) },
  { name: 'memo', type: 'bytea', of: ({ memo }) => memo },
  { name: 'search_attributes', type: 'bytea', of: ({ searchAttributes }) => searchAttributes },
];

const keyOf = ({ namespaceId, runId }: VisibilityRow): string => `${namespaceId} ${runId}`;
const table = { name: 'visibility', key: ['namespace_id', 'run_id'], keyOf, columns: runColumns };
const tableWithSlots = {
  ...table,
  name: 'visibility with slots',
  columns: [...runColumns, { name: 'slots', type: 'jsonb', of: ({ slots }: VisibilityRow) => slotsJson(slots) }] as const,
};

type VisibilityStep = ReturnType<Upsert<VisibilityRow>['encode']>[number] & { readonly upsert: Upsert<VisibilityRow> };

export class VisibilityWriter {
  readonly #plain: Upsert<VisibilityRow>;
  readonly #withSlots: Upsert<VisibilityRow>;
  readonly #lower: Statement;
  readonly #logger: Logger;

  constructor(schema: string, logger: Logger) {
    this.#plain = new Upsert(schema, table, plainText);
    this.#withSlots = new Upsert(schema, tableWithSlots, withSlotsText);
    this.#lower = { text: lowerText(quoted(schema)) };
    this.#logger = logger;
  }

  encode(rows: readonly VisibilityRow[]): readonly VisibilityStep[] {
    const newest = newestOfEach(
      rows.filter((row) => fits(row) || this.#leaveOut(row, 'an id that is no UUID, or a number that is no whole one')),
    );
    const steps = (upsert: Upsert<VisibilityRow>, those: readonly VisibilityRow[]): readonly VisibilityStep[] =>
      upsert.encode(OPEN_SORT_MS, those).map((step) => ({ ...step, upsert }));
    return [
      ...steps(
        this.#plain,
        newest.filter(({ slots }) => slots.size === 0),
      ),
      ...steps(
        this.#withSlots,
        newest.filter(({ slots }) => slots.size > 0),
      ),
    ];
  }

  /** Where what stands there says that it is newer than one of these rows, it is not: they may be written then. */
  lowering(rows: readonly VisibilityRow[]): Step {
    const fitting = rows.filter(fits);
    const values = [
      arrayOf(fitting.map(({ namespaceId }) => uuidOf(namespaceId))),
      arrayOf(fitting.map(({ runId }) => uuidOf(runId))),
      arrayOf(fitting.map(({ version }) => version)),
    ];
    return { statement: this.#lower, values };
  }

  /**
   * Within a transaction, of a checkpoint: what is refused is left out. A flush ends with it (runSteps), for whoever flushes goes on row by row and
   * makes a letter of what is refused.
   */
  async write(session: Session, steps: readonly VisibilityStep[]): Promise<void> {
    for (const { upsert, statement, values, rows } of steps) {
      const refusal = await attempt(session, async () => await session.query(statement, values));
      if (refusal === undefined) continue;
      const [only] = rows;
      if (only === undefined || rows.length === 1) {
        if (only !== undefined) this.#leaveOut(only, errorMessage(refusal));
        continue;
      }
      // Half by half: of thousands one is refused, and found in a dozen statements.
      const middle = Math.ceil(rows.length / 2);
      for (const half of [rows.slice(0, middle), rows.slice(middle)]) {
        await this.write(
          session,
          upsert.encode(OPEN_SORT_MS, half).map((step) => ({ ...step, upsert })),
        );
      }
    }
  }

  #leaveOut({ namespaceId, runId }: VisibilityRow, error: string): false {
    this.#logger.error('a workflow is not listed: the database refuses its visibility row', {
      'namespace-id': namespaceId,
      runID: runId,
      error,
    });
    return false;
  }
}

/** What the server refuses of the rows; undefined: it took them. The transaction goes on either way. */
async function attempt(session: Session, work: () => Promise<unknown>): Promise<unknown> {
  await session.run('SAVEPOINT visibility');
  try {
    await work();
  } catch (error) {
    if (!isAboutData(error)) throw error;
    await session.run('ROLLBACK TO SAVEPOINT visibility; RELEASE SAVEPOINT visibility');
    return error;
  }
  await session.run('RELEASE SAVEPOINT visibility');
  return undefined;
}

function fits(row: VisibilityRow): boolean {
  const { shard, status, version, startTimeMs, executionTimeMs, closeTimeMs, executionDurationMs } = row;
  const { historyLength, historySizeBytes, stateTransitionCount } = row;
  const ofClosed = [closeTimeMs, executionDurationMs, historyLength, historySizeBytes, stateTransitionCount];
  return (
    isUuid(row.namespaceId) &&
    isUuid(row.runId) &&
    [shard, status, version, startTimeMs, executionTimeMs].every(Number.isSafeInteger) &&
    ofClosed.every((value) => value === undefined || Number.isSafeInteger(value))
  );
}

/** Of two rows of a run the newer one; of two of the same version the later one. */
function newestOfEach(rows: readonly VisibilityRow[]): readonly VisibilityRow[] {
  const newest = new Map<string, VisibilityRow>();
  for (const row of rows) {
    const key = keyOf(row);
    const known = newest.get(key);
    if (known === undefined || known.version <= row.version) newest.set(key, row);
  }
  return newest.size === rows.length ? rows : [...newest.values()];
}

const slotDefinitions = [...attributeDefinitions, ...partDefinitions];
const slotNames = slotDefinitions.map(({ name }) => name);

function plainText(parts: StatementParts): string {
  return upsertText(parts, parts.columns, parts.values, parts.rows);
}

function withSlotsText(parts: StatementParts): string {
  const { columns, values, rows } = parts;
  const definitions = slotDefinitions.map(({ name, type }) => `${name} ${type}`).join(', ');
  const slots = `LEFT JOIN LATERAL jsonb_to_record(${values.at(-1)}) AS s(${definitions}) ON true`;
  const attributes = slotNames.map((name) => `s.${name}`);
  return upsertText(parts, [...columns.slice(0, -1), ...slotNames], [...values.slice(0, -1), ...attributes], `${rows} ${slots}`);
}

/** A row that has lost its attributes has none: columns that are not given become NULL. */
function upsertText(parts: StatementParts, columns: readonly string[], values: readonly string[], rows: string): string {
  const given = new Set(columns);
  const changed = columns.filter((name) => !parts.key.includes(name)).map((name) => `${name} = excluded.${name}`);
  const emptied = slotNames.filter((name) => !given.has(name)).map((name) => `${name} = NULL`);
  return `INSERT INTO ${parts.schema}.visibility AS v (sort_ms, ${columns.join(', ')})
SELECT coalesce(r.close_ms, $1::bigint), ${values.join(', ')}
FROM ${rows}
ON CONFLICT (run_id, namespace_id) DO UPDATE SET sort_ms = excluded.sort_ms, ${[...changed, ...emptied].join(', ')}
WHERE v.version <= excluded.version`;
}

function lowerText(at: string): string {
  return `UPDATE ${at}.visibility v SET version = r.version
FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS r(namespace_id, run_id, version)
WHERE v.run_id = r.run_id AND v.namespace_id = r.namespace_id AND v.version > r.version`;
}

function slotsJson(slots: VisibilityRow['slots']): string {
  const members: string[] = [];
  for (const [name, value] of slots) {
    const kind = attributeKinds.get(name);
    const json = kind === undefined ? undefined : slotJson(kind, value);
    if (json === undefined) continue;
    members.push(`${JSON.stringify(name.toLowerCase())}:${json}`);
    if (kind !== 'instant' || typeof value !== 'bigint') continue;
    const { part } = splitInstant(value);
    if (part !== 0n) members.push(`${JSON.stringify(partColumn(name.toLowerCase()))}:${part}`);
  }
  return `{${members.join(',')}}`;
}

/** undefined: it fits no column of that kind. */
function slotJson(kind: ColumnKind, value: SlotValue): string | undefined {
  switch (kind) {
    case 'keyword': {
      const text = typeof value === 'string' ? storable(value) : undefined;
      return text !== undefined && isIndexable(text) ? JSON.stringify(text) : undefined;
    }
    case 'text':
      return typeof value === 'string' ? JSON.stringify(wordsOf(storable(value)).filter(isIndexable)) : undefined;
    case 'keywordList': {
      if (typeof value !== 'object' || value.length === 0) return undefined;
      return JSON.stringify(
        value
          .filter((item) => typeof item === 'string')
          .map(storable)
          .filter(isIndexable),
      );
    }
    case 'instant':
      return typeof value === 'bigint' ? slotJson('int', splitInstant(value).ms) : undefined;
    case 'int':
    case 'datetime':
      if (typeof value === 'bigint') return value <= int64Max && value >= -int64Max - 1n ? String(value) : undefined;
      return Number.isSafeInteger(value) ? String(value) : undefined;
    case 'double':
      if (typeof value === 'bigint') return value <= int64Max && value >= -int64Max - 1n ? String(value) : undefined;
      return Number.isFinite(value) ? String(value) : undefined;
    case 'bool':
      return typeof value === 'boolean' ? String(value) : undefined;
  }
}

function isIndexable(text: string): boolean {
  return text.length * 3 <= indexedBytesMax || Buffer.byteLength(text) <= indexedBytesMax;
}
