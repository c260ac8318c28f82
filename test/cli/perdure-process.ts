import { fileURLToPath } from 'node:url';
import { Child } from './child.ts';

export const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));

export type Ran = { readonly code: number | null; readonly out: string; readonly err: string };

/** Words as in a shell, with double quotes only. */
export function wordsOf(line: string): readonly string[] {
  return line.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [];
}

/** One command, to its end. */
export async function perdureAt(address: string, line: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const child = new Child(bin, wordsOf(line), { TEMPORAL_ADDRESS: address, ...env });
  const { code } = await child.exit;
  return { code, out: child.out, err: child.err };
}

/** The same on a terminal, on which these lines are typed; output and errors come together. */
export async function perdureOnTerminal(
  address: string,
  line: string,
  typed: string,
): Promise<{ readonly code: number | null; readonly screen: string }> {
  const command = [bin, ...wordsOf(line)].map((word) => `'${word}'`).join(' ');
  const child = new Child('/bin/sh', ['-c', `printf '${typed}' | script -qefc "${command}" /dev/null`], { TEMPORAL_ADDRESS: address });
  const { code } = await child.exit;
  return { code, screen: child.out.replaceAll('\r\n', '\n') };
}
