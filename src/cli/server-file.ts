import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { inFileOrder, renderProblems, type Problem } from '../config/problem.ts';
import { readConfigFile } from '../config/read-file.ts';
import { settingsOf, type FileSettings } from '../config/settings.ts';
import { usageError } from './cli-error.ts';
import { errorMessage } from '../kernel/error-text.ts';
import type { Io } from './io.ts';

export type ServerFile = { readonly settings: FileSettings | undefined; readonly problems: readonly Problem[] };

/** Reads and checks a server file for whichever command wants it. */
export function readServerFile(
  file: string,
  io: Io,
  options: { readonly strict: boolean; readonly autoCreateTopics: boolean },
): ServerFile {
  const read = readConfigFile(readText(file), { env: io.env, strict: options.strict });
  if (read.config === undefined) return { settings: undefined, problems: read.problems };
  const { settings, problems } = settingsOf(read.config, {
    autoCreateTopics: options.autoCreateTopics,
    locate: read.locate,
    folder: dirname(resolve(file)),
  });
  return { settings, problems: inFileOrder([...read.problems, ...problems]) };
}

/** Prints what is wrong, errors and warnings alike. */
export function printProblems(file: string, { problems }: ServerFile, io: Io): void {
  io.err(renderProblems(file, problems));
}

export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EISDIR')
      throw usageError(`${file} is a folder`, { next: `Name the file in it, such as ${file.replace(/\/$/, '')}/server.yaml.` });
    throw usageError(`can't read ${file}`, {
      why: errorMessage(error),
      next: 'Check the name and the permissions.',
    });
  }
}
