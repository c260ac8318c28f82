/** Rows into a table, new ones and those that replace older ones: one statement for each table, one parameter for each column. */
import { int64 } from '../tables/stored-numbers.ts';
import { arrayOf, Pack, uuidOf } from './pack.ts';
import { quoted } from './names.ts';
import type { ColumnOf, TableOf } from '../tables/state-tables.ts';
import type { Parameter, Session, Statement } from './connections.ts';

const chunkBytes = 2 ** 20;
const chunkRows = 4_000;

/** A statement with its values: nothing in it changes any more, whatever becomes of the rows that it was made of. */
export type Step = { readonly statement: Statement; readonly values: readonly Parameter[] };

/** Runs steps one after the other, within a transaction: what is refused ends it. */
export async function runSteps(session: Session, steps: readonly Step[]): Promise<void> {
  for (const { statement, values } of steps) await session.query(statement, values);
}

type Value = number | bigint | string | boolean | undefined;

export type Upsert<Row> = { readonly table: TableOf<Row>; readonly statement: Statement };

export function upsertFor<Row>(schema: string, table: TableOf<Row>, text: (parts: StatementParts) => string = upsertText): Upsert<Row> {
  return { table, statement: { name: `upsert ${table.name}`, text: text(partsOf(schema, table)) } };
}

/** `first`: the parameter $1 of all (their partition). Throws DatabaseError for a row that no table takes. */
export function upsertSteps<Row>(
  { table, statement }: Upsert<Row>,
  first: Parameter,
  rows: readonly Row[],
): readonly (Step & { readonly rows: readonly Row[] })[] {
  const last = lastOfEach(rows, table.keyOf);
  const steps: (Step & { readonly rows: readonly Row[] })[] = [];
  const names = table.columns.flatMap(arraysFor);
  for (let from = 0; from < last.length;) {
    const pack = new Pack();
    const arrays = names.map((): Value[] => []);
    let to = from;
    while (to < last.length && to - from < chunkRows && (to === from || pack.length < chunkBytes)) {
      addRow(table, last[to++] as Row, arrays, pack);
    }
    const values = [first, ...(hasBytes(table) ? [pack.bytes()] : []), ...arrays.map(arrayOf)];
    steps.push({ statement, values, rows: last.slice(from, to) });
    from = to;
  }
  return steps;
}

function addRow<Row>({ columns }: TableOf<Row>, row: Row, arrays: readonly Value[][], pack: Pack): void {
  let at = 0;
  const put = (value: Value): void => {
    arrays[at++]?.push(value);
  };
  for (const column of columns) {
    switch (column.type) {
      case 'uuid':
        put(uuidOf(column.of(row)));
        break;
      case 'integer':
      case 'bigint': {
        const value = column.of(row);
        put(value === undefined ? undefined : int64(value, column.name));
        break;
      }
      case 'boolean':
        put(column.of(row));
        break;
      default: {
        const value = column.of(row);
        const before = pack.length;
        put(value === undefined ? undefined : typeof value === 'string' ? pack.addText(value) : pack.add(value));
        put(pack.length - before);
      }
    }
  }
}

/** Within one statement a row may be written once. */
function lastOfEach<Row>(rows: readonly Row[], keyOf: (row: Row) => string): readonly Row[] {
  const byKey = new Map<string, Row>();
  for (const row of rows) byKey.set(keyOf(row), row);
  return byKey.size === rows.length ? rows : [...byKey.values()];
}

const inBytes: ReadonlySet<string> = new Set(['bytea', 'text', 'jsonb']);

function hasBytes<Row>({ columns }: TableOf<Row>): boolean {
  return columns.some(({ type }) => inBytes.has(type));
}

/** What stands in the arrays for a column: its value, or where in the bytes it is. */
function arraysFor<Row>({ name, type }: ColumnOf<Row>): readonly { readonly name: string; readonly type: string }[] {
  if (!inBytes.has(type)) return [{ name, type }];
  return [
    { name: `${name}_at`, type: 'integer' },
    { name: `${name}_length`, type: 'integer' },
  ];
}

export type StatementParts = {
  readonly schema: string;
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** For each column, what is selected. */
  readonly values: readonly string[];
  /** `unnest(…) AS r(…)`: the rows. */
  readonly rows: string;
};

function partsOf<Row>(schema: string, table: TableOf<Row>): StatementParts {
  const arrays = table.columns.flatMap(arraysFor);
  const firstArray = hasBytes(table) ? 3 : 2;
  const types = arrays.map(({ type }, index) => `$${index + firstArray}::${type}[]`);
  return {
    schema: quoted(schema),
    table: table.name,
    key: table.key,
    columns: table.columns.map(({ name }) => name),
    values: table.columns.map(valueOf),
    rows: `unnest(${types.join(', ')}) AS r(${arrays.map(({ name }) => name).join(', ')})`,
  };
}

function valueOf<Row>({ name, type }: ColumnOf<Row>): string {
  const bytes = `substring($2::bytea, r.${name}_at, r.${name}_length)`;
  switch (type) {
    case 'bytea':
      return bytes;
    case 'text':
      return `convert_from(${bytes}, 'UTF8')`;
    case 'jsonb':
      return `convert_from(${bytes}, 'UTF8')::jsonb`;
    default:
      return `r.${name}`;
  }
}

function upsertText({ schema, table, key, columns, values, rows }: StatementParts): string {
  const changed = columns.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`);
  return `INSERT INTO ${schema}.${table} (partition, ${columns.join(', ')})
SELECT $1::integer, ${values.join(', ')}
FROM ${rows}
ON CONFLICT (partition, ${key.join(', ')}) DO UPDATE SET ${changed.join(', ')}`;
}
