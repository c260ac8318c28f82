import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { failure, type CliError } from './cli-error.ts';

const home = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** What to tell when a module of ours or a package is not there: packages and generated code are missing in a clone, not through a bug. */
export function incompleteInstallation(error: unknown): CliError | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') return undefined;
  return failure('this installation is not complete', {
    why: error.message,
    next: `Run 'npm ci' in ${home}; it fetches the packages and generates the codecs.`,
  });
}
