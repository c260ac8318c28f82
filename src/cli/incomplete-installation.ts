import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCode } from '../kernel/error-text.ts';
import { home } from '../kernel/home.ts';
import { failure, type CliError } from './cli-error.ts';

const missing: ReadonlySet<unknown> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/** The error for a missing module or package: in a clone these are not installed or generated yet, which is not a bug. */
export function incompleteInstallation(error: unknown): CliError | undefined {
  if (!(error instanceof Error) || !missing.has(errorCode(error))) return undefined;
  const folder = dirname(fileURLToPath(new URL('package.json', home)));
  return failure('this installation is not complete', {
    why: error.message.split('\n')[0],
    next: existsSync(new URL('src', home))
      ? `Run 'npm ci' in ${folder}; it fetches the packages and generates the codecs.`
      : `Install the package in ${folder} again.`,
  });
}
