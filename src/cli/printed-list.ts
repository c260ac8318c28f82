/**
 * Prints a list while it is read, without keeping what was printed.
 *
 *     json    [ {…},         one valid document, even if reading fails
 *               {…} ]
 *     jsonl   {…}            one object per line
 *     text    A    B         a table, with columns as wide as the first page needs
 */
import { CliError } from './cli-error.ts';
import { exitCodes, type ExitCode, type ListFormat } from './command.ts';
import type { Io } from './io.ts';
import { jsonText } from './plain-text.ts';
import { cut, tableLine } from './table.ts';

export type ListForms<Row> = {
  readonly json: (row: Row) => object;
  readonly titles: readonly string[];
  readonly cells: (row: Row) => readonly string[];
  /** The column that is cut if the terminal is too narrow. */
  readonly elastic?: number;
  /** A sentence on stderr for an empty list, so that people know that the command worked. */
  readonly none?: string;
};

const ELASTIC_CHARS_MIN = 12;

export type Printing = { readonly io: Io; readonly format: ListFormat };

export class PrintedList<Row> {
  readonly #io: Io;
  readonly #format: ListFormat;
  readonly #forms: ListForms<Row>;
  #isBegun = false;
  #widths: readonly number[] = [];

  constructor({ io, format }: Printing, forms: ListForms<Row>) {
    this.#io = io;
    this.#format = format;
    this.#forms = forms;
  }

  /** Returns false if there is no reader any more. */
  async add(rows: readonly Row[]): Promise<boolean> {
    if (rows.length > 0) this.#io.out(this.#text(rows));
    return this.#io.outTaken();
  }

  /** Prints whatever `fill` adds. After a failure the printed part stays and is completed to a valid document. */
  async whole(fill: () => Promise<void>): Promise<ExitCode> {
    try {
      await fill();
    } catch (error) {
      if (!this.#isBegun || !(error instanceof CliError)) throw error;
      this.end();
      this.#io.err(error.render());
      return error.exitCode === exitCodes.interrupted ? exitCodes.interrupted : exitCodes.failed;
    }
    this.end();
    return exitCodes.done;
  }

  end(): void {
    if (this.#format === 'json') this.#io.out(this.#isBegun ? '\n]\n' : '[]\n');
    if (this.#format === 'text' && !this.#isBegun && this.#forms.none !== undefined) this.#io.err(`${this.#forms.none}\n`);
  }

  get isBegun(): boolean {
    return this.#isBegun;
  }

  #text(rows: readonly Row[]): string {
    const isFirst = !this.#isBegun;
    this.#isBegun = true;
    switch (this.#format) {
      case 'json':
        return (isFirst ? '[\n' : ',\n') + rows.map((row) => `  ${jsonText(this.#forms.json(row))}`).join(',\n');
      case 'jsonl':
        return rows.map((row) => `${jsonText(this.#forms.json(row))}\n`).join('');
      case 'text':
        return this.#tableText(rows.map(this.#forms.cells), isFirst);
      case 'none':
        return '';
    }
  }

  #tableText(rows: readonly (readonly string[])[], isFirst: boolean): string {
    const { titles, elastic } = this.#forms;
    const all = isFirst ? [titles, ...rows] : rows;
    const room = elastic === undefined ? undefined : this.#room(all, elastic);
    const lines = room === undefined ? all : all.map((row) => row.map((cell, column) => (column === elastic ? cut(cell, room) : cell)));
    this.#widths = this.#widthsWith(lines);
    return lines.map((row) => `${tableLine(row, this.#widths)}\n`).join('');
  }

  #widthsWith(lines: readonly (readonly string[])[]): number[] {
    return this.#forms.titles.map((_, column) => Math.max(this.#widths[column] ?? 0, ...lines.map((row) => row[column]?.length ?? 0)));
  }

  /** The width that the other columns leave; undefined if the output is not a terminal. */
  #room(lines: readonly (readonly string[])[], elastic: number): number | undefined {
    const { columns } = this.#io.terminal;
    if (columns === undefined) return undefined;
    const others = this.#widthsWith(lines).filter((_, column) => column !== elastic);
    return Math.max(ELASTIC_CHARS_MIN, columns - others.reduce((sum, width) => sum + width + 2, 0));
  }
}

export async function printList<Row>(to: Printing, forms: ListForms<Row>, rows: readonly Row[]): Promise<ExitCode> {
  const list = new PrintedList(to, forms);
  await list.add(rows);
  list.end();
  return exitCodes.done;
}

export function printOne({ io, format }: Printing, json: object, text: () => string): ExitCode {
  if (format === 'json' || format === 'jsonl') io.out(`${jsonText(json)}\n`);
  else if (format === 'text') io.out(text());
  return exitCodes.done;
}
