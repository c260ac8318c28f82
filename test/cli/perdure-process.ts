import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { run } from './capture.ts';
import { Child } from './child.ts';

export const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));

export type Ran = { readonly code: number; readonly out: string; readonly err: string };

/** Words as in a shell, with double quotes only. */
export function wordsOf(line: string): readonly string[] {
  return line.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [];
}

/** One command, to its end, in this process: a process of its own would take longer to start than most commands take. */
export async function perdureAt(address: string, line: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const { code, out, err } = await run(wordsOf(line), { ...process.env, TEMPORAL_ADDRESS: address, ...env });
  return { code, out, err };
}

/** Of a server that was only started: as soon as it serves. */
export async function registerNamespace(address: string, name: string): Promise<void> {
  const register = async (): Promise<string> => {
    const { code, err } = await perdureAt(address, `namespace register ${name}`);
    return code === 0 || err.includes('already') ? 'registered' : err;
  };
  await expect.poll(register, { timeout: 60_000, interval: 100 }).toBe('registered');
}

/** The same as a process, on a terminal, on which these lines are typed; output and errors come together. */
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
