import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { home } from '../kernel/home.ts';
import { failure, type CliError } from './cli-error.ts';

/** What `import` says, and what `require` says. */
const missing: ReadonlySet<unknown> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/** What to tell when a module of ours or a package is not there: packages and generated code are missing in a clone, not through a bug. */
export function incompleteInstallation(error: unknown): CliError | undefined {
  if (!(error instanceof Error) || !('code' in error) || !missing.has(error.code)) return undefined;
  return failure('this installation is not complete', {
    why: error.message.split('\n')[0],
    next: `Run 'npm ci' in ${dirname(fileURLToPath(new URL('package.json', home)))}; it fetches the packages and generates the codecs.`,
  });
}
