/** How the columns of a stored row are read. SQLite's throws DatabaseError (`corrupt`) for what was never written there; PostgreSQL checks types. */
export type RowReader<Row> = {
  /** The id of a run or a namespace. */
  readonly id: (row: Row, column: string) => string;
  readonly text: (row: Row, column: string) => string;
  readonly number: (row: Row, column: string) => number;
  /** A number of 64 bits, which the statement selects as decimal text. */
  readonly whole: (row: Row, column: string) => number | bigint;
  readonly boolean: (row: Row, column: string) => boolean;
  readonly bytes: (row: Row, column: string) => Uint8Array;
  readonly isNull: (row: Row, column: string) => boolean;
};

export function numberOrNone<Row>(row: Row, column: string, of: RowReader<Row>): number | undefined {
  return of.isNull(row, column) ? undefined : of.number(row, column);
}
