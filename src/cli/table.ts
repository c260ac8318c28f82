/** A table with titles and two blanks between columns; an empty text if there are no rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) => tableLine(row, widths)).join('\n');
}

export function tableLine(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd();
}

const halfAtEnd = /[\ud800-\udbff]$/;

/** Cuts a text to `charsMax` characters, with `…` at the end. Surrogate pairs are not split. */
export function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, Math.max(0, charsMax - 1)).replace(halfAtEnd, '')}…`;
}
