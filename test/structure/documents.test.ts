import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CliError } from '../../src/cli/cli-error.ts';
import { rootCommand } from '../../src/cli/commands.ts';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { repository } from './imports.ts';

const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(repository, 'docs')).map((name) => `docs/${name}`),
]
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, text: readFileSync(join(repository, name), 'utf8') }));

describe.each(documents)('$name', ({ name, text }) => {
  test('links lead somewhere', () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '').filter((link) => !/^[a-z]+:/.test(link));
    const broken = links.filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? name : join(dirname(name), file);
      if (!existsSync(join(repository, target))) return true;
      return anchor !== undefined && !anchors(readFileSync(join(repository, target), 'utf8')).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test('npm scripts that it names exist', () => {
    const manifest: unknown = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
    const scripts =
      typeof manifest === 'object' && manifest !== null && 'scripts' in manifest ? Object.keys(manifest.scripts as object) : [];
    const named = [...text.matchAll(/\bnpm run ([a-z][a-z:-]*)/g)].map((match) => match[1] ?? '');
    expect(named.filter((script) => !scripts.includes(script))).toEqual([]);
  });

  test('perdure commands that it shows are understood', () => {
    const shown = [...text.matchAll(/^(?:\$ |\| `)?(?:bin\/)?perdure (?!\d)([^`#\n]+)/gm)].map((match) => match[1] ?? '');
    const refused = shown.flatMap((line) => {
      // `config print FILE`, `config schema`: what follows is prose.
      const words = line.split('|')[0]?.trim().split(/\s+/) ?? [];
      try {
        parseCommandLine(rootCommand, words);
        return [];
      } catch (error) {
        return [`${line}: ${error instanceof CliError ? error.message : String(error)}`];
      }
    });
    expect(refused).toEqual([]);
  });
});

/** Headings, as GitHub makes anchors of them. */
function anchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
