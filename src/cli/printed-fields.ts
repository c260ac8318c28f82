import type { Invocation } from './command.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { listFormat } from './output.ts';
import { plainText } from './plain-text.ts';
import { printOne } from './printed-list.ts';

type Field = string | number | boolean | readonly string[] | object;

/** Fields a line each, or as one object. */
export function printFields({ flags, io }: Invocation, fields: Readonly<Record<string, Field>>): ExitCode {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  const textOf = (value: Field): string =>
    Array.isArray(value) ? value.join(', ') : typeof value === 'object' ? JSON.stringify(value) : String(value);
  printOne(
    io,
    listFormat(flags.one('output'), 'text'),
    () => fields,
    () =>
      Object.entries(fields)
        .map(([name, value]) => `${name.padEnd(width)}  ${plainText(textOf(value))}`.trimEnd())
        .map((text) => `${text}\n`)
        .join(''),
  );
  return exitCodes.done;
}
