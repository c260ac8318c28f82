/** Rows into a table, new ones and those that replace older ones: one statement for each table, one parameter for each column. */
import { arrayOf, int64, Pack, uuidOf } from './pack.ts';
import { quoted } from './schema-name.ts';
import type { Parameter, Session, Statement } from './connections.ts';

const chunkBytes = 2 ** 20;
const chunkRows = 4_000;

/** How a column's value is had of a row. undefined: NULL. */
export type ColumnOf<Row> = { readonly name: string } & (
  | { readonly type: 'uuid'; readonly of: (row: Row) => string }
  | { readonly type: 'integer' | 'bigint'; readonly of: (row: Row) => number | bigint | undefined }
  | { readonly type: 'boolean'; readonly of: (row: Row) => boolean }
  | { readonly type: 'bytea'; readonly of: (row: Row) => Uint8Array | string | undefined }
  /** Neither NUL nor halves of surrogate pairs. */
  | { readonly type: 'text' | 'jsonb'; readonly of: (row: Row) => string | undefined }
);

export type TableOf<Row> = {
  readonly name: string;
  /** Columns of the primary key, without the partition. */
  readonly key: readonly string[];
  /** The same of a row, as one text. */
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly ColumnOf<Row>[];
};

/** A statement with its values: nothing in it changes any more, whatever becomes of the rows that it was made of. */
export type Step = { readonly statement: Statement; readonly values: readonly Parameter[] };

/** One after the other, within a transaction: what is refused ends it. */
export async function runSteps(session: Session, steps: readonly Step[]): Promise<void> {
  for (const { statement, values } of steps) await session.query(statement, values);
}

type Value = number | bigint | string | boolean | undefined;

export class Upsert<Row> {
  readonly #table: TableOf<Row>;
  readonly #statement: Statement;
  readonly #arrays: number;
  readonly #hasBytes: boolean;

  constructor(schema: string, table: TableOf<Row>, text: (parts: StatementParts) => string = upsertText) {
    this.#table = table;
    this.#statement = { name: `upsert ${table.name}`, text: text(partsOf(schema, table)) };
    this.#arrays = table.columns.flatMap(arraysFor).length;
    this.#hasBytes = hasBytes(table);
  }

  /** `first`: the parameter $1 of all (their partition). Throws DatabaseError for a row that no table takes. */
  encode(first: Parameter, rows: readonly Row[]): readonly (Step & { readonly rows: readonly Row[] })[] {
    const last = lastOfEach(rows, this.#table.keyOf);
    const steps: (Step & { readonly rows: readonly Row[] })[] = [];
    for (let from = 0; from < last.length;) {
      const pack = new Pack();
      const arrays = Array.from({ length: this.#arrays }, (): Value[] => []);
      let to = from;
      while (to < last.length && to - from < chunkRows && (to === from || pack.length < chunkBytes)) {
        this.#addRow(last[to++] as Row, arrays, pack);
      }
      const values = [first, ...(this.#hasBytes ? [pack.bytes()] : []), ...arrays.map(arrayOf)];
      steps.push({ statement: this.#statement, values, rows: last.slice(from, to) });
      from = to;
    }
    return steps;
  }

  #addRow(row: Row, arrays: readonly Value[][], pack: Pack): void {
    let at = 0;
    const put = (value: Value): void => {
      arrays[at++]?.push(value);
    };
    for (const column of this.#table.columns) {
      switch (column.type) {
        case 'uuid':
          put(uuidOf(column.of(row)));
          break;
        case 'integer':
        case 'bigint': {
          const value = column.of(row);
          put(value === undefined ? undefined : int64(value));
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
