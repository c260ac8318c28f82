/** A planted bug in a process of its own, whose source is patched as it is loaded. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Finding } from './run-planted.ts';

const program = fileURLToPath(new URL('./run-planted.ts', import.meta.url));

/**
 * What finds it; undefined: nothing does. `cache`: a folder in which one process leaves for the next ones what it has compiled, which is most of what
 * they would do.
 */
export async function runPlanted(name: string, cache: string, further: readonly 'further'[] = []): Promise<Finding | undefined> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, name, ...further], {
    env: { ...process.env, NODE_COMPILE_CACHE: cache },
  });
  return (JSON.parse(stdout.trim().split('\n').at(-1) ?? 'null') as Finding | null) ?? undefined;
}
