/**
 * Prints a list while it is read: what was printed is not kept.
 *
 *     json    [ {…},         one valid document, whatever befalls the rest
 *               {…} ]
 *     jsonl   {…}            one object a line
 *     text    A    B         a table, whose columns are as wide as the first page wants them
 */
import { CliError } from './cli-error.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import type { Io } from './io.ts';
import type { ListFormat } from './output.ts';
import { jsonText } from './plain-text.ts';
import { cut, tableLine } from './table.ts';

export type ListForms<Row> = {
  readonly json: (row: Row) => object;
  readonly titles: readonly string[];
  readonly cells: (row: Row) => readonly string[];
  /** Column that is cut where the terminal is too narrow. */
  readonly elastic?: number;
  /** A sentence for people where the list is empty, beside the output: they would wonder whether anything was done. */
  readonly none?: string;
};

const ELASTIC_CHARS_MIN = 12;

export class PrintedList<Row> {
  readonly #io: Io;
  readonly #format: ListFormat;
  readonly #forms: ListForms<Row>;
  #isBegun = false;
  #widths: readonly number[] = [];

  constructor(io: Io, format: ListFormat, forms: ListForms<Row>) {
    this.#io = io;
    this.#format = format;
    this.#forms = forms;
  }

  /** False: nobody reads any more. */
  async add(rows: readonly Row[]): Promise<boolean> {
    if (rows.length > 0) this.#io.out(this.#text(rows));
    return this.#io.outTaken();
  }

  /** Also after a failure, when something was printed: then the document is whole. */
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

  /** What the other columns leave; undefined: nobody sees how wide it is. */
  #room(lines: readonly (readonly string[])[], elastic: number): number | undefined {
    const { columns } = this.#io.terminal;
    if (columns === undefined) return undefined;
    const others = this.#widthsWith(lines).filter((_, column) => column !== elastic);
    return Math.max(ELASTIC_CHARS_MIN, columns - others.reduce((sum, width) => sum + width + 2, 0));
  }
}

/** While it is read: what was printed before a failure stays, and ends as a whole document. */
export async function printWhole<Row>(io: Io, list: PrintedList<Row>, fill: () => Promise<void>): Promise<ExitCode> {
  try {
    await fill();
  } catch (error) {
    if (!list.isBegun || !(error instanceof CliError)) throw error;
    list.end();
    io.err(error.render());
    return error.exitCode === exitCodes.interrupted ? exitCodes.interrupted : exitCodes.failed;
  }
  list.end();
  return exitCodes.done;
}

/** All of a short list. */
export async function printList<Row>(io: Io, format: ListFormat, forms: ListForms<Row>, rows: readonly Row[]): Promise<void> {
  const list = new PrintedList(io, format, forms);
  await list.add(rows);
  list.end();
}

/** One thing: as JSON, or in the words of `text`. */
export function printOne(io: Io, format: ListFormat, json: () => object, text: () => string): void {
  switch (format) {
    case 'json':
    case 'jsonl':
      io.out(`${jsonText(json())}\n`);
      return;
    case 'text':
      io.out(text());
      return;
    case 'none':
      return;
  }
}
