import type { ExitCode, Invocation } from './command.ts';
import { plainText } from './plain-text.ts';
import { printOne } from './printed-list.ts';

type Field = string | number | boolean | readonly string[] | object;

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
