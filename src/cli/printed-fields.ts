import type { ExitCode, Invocation } from './command.ts';
import { jsonText, plainText } from './plain-text.ts';
import { printOne } from './printed-list.ts';

type Field = string | number | boolean | readonly string[] | object;

/** Names in a column, and their values; '' is left out. */
export function fieldLines(fields: object, indent = ''): readonly string[] {
  const rows = Object.entries(fields)
    .map(([name, value]) => [name, typeof value === 'object' ? jsonText(value) : plainText(String(value))] as const)
    .filter(([, value]) => value !== '');
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${indent}${name.padEnd(width)}  ${value}`);
}

export function printFields(invocation: Invocation, fields: Readonly<Record<string, Field>>): ExitCode {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  const textOf = (value: Field): string =>
    Array.isArray(value) ? value.join(', ') : typeof value === 'object' ? JSON.stringify(value) : String(value);
  return printOne(invocation, fields, () =>
    Object.entries(fields)
      .map(([name, value]) => `${name.padEnd(width)}  ${plainText(textOf(value))}`.trimEnd())
      .map((text) => `${text}\n`)
      .join(''),
  );
}
