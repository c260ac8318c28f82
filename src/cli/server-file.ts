import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { inFileOrder, renderProblems, type Problem } from '../config/problem.ts';
import { readConfigFile } from '../config/read-file.ts';
import { settingsOf, type FileSettings } from '../config/settings.ts';
import { usageError } from './cli-error.ts';
import { errorCode, errorMessage } from '../kernel/error-text.ts';
import type { Io } from './io.ts';

export type ServerFile = { readonly settings: FileSettings | undefined; readonly problems: readonly Problem[] };

export function readServerFile(
  file: string,
  io: Io,
  options: { readonly strict: boolean; readonly autoCreateTopics: boolean },
): ServerFile {
  const read = readConfigFile(readText(file), { env: io.env, strict: options.strict });
  const config = read.config ?? read.rest?.config;
  if (config === undefined) return { settings: undefined, problems: read.problems };
  const { settings, problems } = settingsOf(config, {
    autoCreateTopics: options.autoCreateTopics,
    locate: read.locate,
    folder: dirname(resolve(file)),
  });
  if (read.config !== undefined) return { settings, problems: inFileOrder([...read.problems, ...problems]) };
  // A problem of a key next to a wrong one may be a consequence of it.
  const groups = read.rest?.removed.map((path) => path.split('.').slice(0, -1).join('.')) ?? [];
  const isOfRest = ({ path }: Problem): boolean => !groups.some((group) => `${group}.`.startsWith(path === '' ? '' : `${path}.`));
  return { settings: undefined, problems: inFileOrder([...read.problems, ...problems.filter(isOfRest)]) };
}

export function printProblems(file: string, { problems }: ServerFile, io: Io): void {
  io.err(renderProblems(file, problems));
}

export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'EISDIR')
      throw usageError(`${file} is a folder`, { next: `Name the file in it, such as ${file.replace(/\/$/, '')}/server.yaml.` });
    throw usageError(`can't read ${file}`, { why: errorMessage(error), next: 'Check the name and the permissions.' });
  }
}
