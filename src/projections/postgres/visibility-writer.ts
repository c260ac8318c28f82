/**
 * Rows for List and Count. Whatever a client has stored, they stop no checkpoint: texts are made storable, values that fit no column are left
 * out, and should the database refuse a row all the same (its id is longer than an index holds), that row alone is left out, and said.
 *
 * Most runs have no attributes: their statement does without the JSON in which those of a row travel.
 */
import { errorMessage } from '../../kernel/error-text.ts';
import { isUuid } from '../../kernel/uuid.ts';
import { OPEN_SORT_MS, type VisibilityRow } from '../visibility/row.ts';
import { isAboutData } from './postgres-failure.ts';
import { arrayOf, uuidOf } from './pack.ts';
import { partColumn } from '../tables/instant-sql.ts';
import { type Stored, storedPart, storedSlot } from '../tables/slot-values.ts';
import { fitsTable, visibilityColumns } from '../tables/visibility-row-columns.ts';
import { quoted } from './names.ts';
import { type StatementParts, type Step, type Upsert, upsertFor, upsertSteps } from './upsert.ts';
import { attributeKinds } from '../tables/attribute-columns.ts';
import { attributeDefinitions, partDefinitions } from './visibility-table.ts';
import type { Session, Statement } from './connections.ts';
import type { Logger } from '../../observability/logger.ts';

/** An entry of an index takes 2,704 bytes, and has 60 of its own. */
const indexedBytesMax = 2_600;

const keyOf = ({ namespaceId, runId }: VisibilityRow): string => `${namespaceId} ${runId}`;
const table = { name: 'visibility', key: ['namespace_id', 'run_id'], keyOf, columns: visibilityColumns };
const tableWithSlots = {
  ...table,
  name: 'visibility with slots',
  columns: [...visibilityColumns, { name: 'slots', type: 'jsonb', of: ({ slots }: VisibilityRow) => slotsJson(slots) }] as const,
};

type VisibilityStep = Step & { readonly rows: readonly VisibilityRow[]; readonly upsert: Upsert<VisibilityRow> };

export class VisibilityWriter {
  readonly #plain: Upsert<VisibilityRow>;
  readonly #withSlots: Upsert<VisibilityRow>;
  readonly #lower: Statement;
  readonly #logger: Logger;

  constructor(schema: string, logger: Logger) {
    this.#plain = upsertFor(schema, table, plainText);
    this.#withSlots = upsertFor(schema, tableWithSlots, withSlotsText);
    this.#lower = { text: lowerText(quoted(schema)) };
    this.#logger = logger;
  }

  encode(rows: readonly VisibilityRow[]): readonly VisibilityStep[] {
    const fitting = rows.filter((row) => fits(row) || this.#leaveOut(row, 'an id that is no UUID, or a number that is no whole one'));
    const { plain = [], withSlots = [] } = Object.groupBy(newestOfEach(fitting), ({ slots }) => (slots.size === 0 ? 'plain' : 'withSlots'));
    return [...stepsOf(this.#plain, plain), ...stepsOf(this.#withSlots, withSlots)];
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

  /** In a checkpoint what is refused is left out. A flush ends with it (runSteps): its caller goes row by row and makes letters of it. */
  async write(session: Session, steps: readonly VisibilityStep[]): Promise<void> {
    for (const { upsert, statement, values, rows } of steps) {
      const refusal = await attempt(session, async () => await session.query(statement, values));
      if (refusal === undefined) continue;
      const [first] = rows;
      if (first !== undefined && rows.length === 1) this.#leaveOut(first, errorMessage(refusal));
      if (rows.length < 2) continue;
      // Half by half: of thousands one is refused, and found in a dozen statements.
      const middle = Math.ceil(rows.length / 2);
      for (const half of [rows.slice(0, middle), rows.slice(middle)]) await this.write(session, stepsOf(upsert, half));
    }
  }

  #leaveOut({ namespaceId, runId }: VisibilityRow, error: string): false {
    const told = { 'namespace-id': namespaceId, runID: runId, error };
    this.#logger.error('a workflow is not listed: the database refused its row', told);
    return false;
  }
}

function stepsOf(upsert: Upsert<VisibilityRow>, rows: readonly VisibilityRow[]): readonly VisibilityStep[] {
  return upsertSteps(upsert, OPEN_SORT_MS, rows).map((step) => ({ ...step, upsert }));
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

const fits = (row: VisibilityRow): boolean => fitsTable(row, isUuid);

/** Keeps the newer of two rows of a run, and the later one where both have the same version. */
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
    const json = kind && slotJson(storedSlot(kind, value));
    if (kind === undefined || json === undefined) continue;
    members.push(`${JSON.stringify(name.toLowerCase())}:${json}`);
    const part = storedPart(kind, value);
    if (part !== undefined) members.push(`${JSON.stringify(partColumn(name.toLowerCase()))}:${part}`);
  }
  return `{${members.join(',')}}`;
}

/** A value in JSON; undefined: there is none, or it is longer than an index takes. */
function slotJson(stored: Stored): string | undefined {
  switch (typeof stored) {
    case 'string':
      return isIndexable(stored) ? JSON.stringify(stored) : undefined;
    case 'object':
      return JSON.stringify(stored.filter(isIndexable));
    default:
      return stored === undefined ? undefined : String(stored);
  }
}

function isIndexable(text: string): boolean {
  return text.length * 3 <= indexedBytesMax || Buffer.byteLength(text) <= indexedBytesMax;
}
