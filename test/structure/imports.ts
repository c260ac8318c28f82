import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../../', import.meta.url));

export type Import = {
  /** Path of the importing file from the repository's root, with forward slashes. */
  readonly file: string;
  readonly line: number;
  readonly specifier: string;
  /** The same for a file of ours; for a package or a Node module its specifier. */
  readonly target: string;
  readonly typeOnly: boolean;
  readonly lazy: boolean;
};

export function sourceFiles(folder: string): string[] {
  const found = readdirSync(join(repository, folder), { withFileTypes: true, recursive: true });
  return found
    .filter((entry) => entry.isFile() && /\.(ts|js|mjs)$/.test(entry.name))
    .map((entry) => relative(repository, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith('src/wire/generated/'))
    .toSorted();
}

export function importsOf(file: string): Import[] {
  return parseImports(file, readFileSync(join(repository, file), 'utf8'));
}

/**
 * Imports and re-exports as they are written in this repository: one formatter, so a statement begins its line, and TypeScript 7
 * has no compiler API that a test could use. Comments cannot match: their lines begin with a star or slashes.
 */
export function parseImports(file: string, source: string): Import[] {
  const statement = /^(?:import|export)\s+(type\s+)?(?:[^;'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm;
  const dynamic = /^(?!\s*(?:\*|\/\/)).*?\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;
  const found: Import[] = [];
  for (const match of source.matchAll(statement)) {
    const [whole, type, specifier = ''] = match;
    found.push(describe(file, source, match.index, specifier, type !== undefined || onlyTypes(whole), false));
  }
  for (const match of source.matchAll(dynamic)) found.push(describe(file, source, match.index, match[1] ?? '', false, true));
  return found;
}

/** `import { type A, type B } from …` loads nothing that matters either. */
function onlyTypes(statement: string): boolean {
  const names = /\{([^}]*)\}/.exec(statement)?.[1];
  const before = statement
    .slice(0, statement.indexOf('{'))
    .replace(/^(import|export)/, '')
    .trim();
  if (names === undefined || before !== '') return false;
  const parts = names
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return parts.length > 0 && parts.every((part) => part.startsWith('type '));
}

function describe(file: string, source: string, index: number, specifier: string, typeOnly: boolean, lazy: boolean): Import {
  const line = source.slice(0, index).split('\n').length;
  const target = specifier.startsWith('.') ? posix.join(dirname(file), specifier) : specifier;
  return { file, line, specifier, target, typeOnly, lazy };
}
