import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CliError } from '../../src/cli/cli-error.ts';
import { rootCommand } from '../../src/cli/root-command.ts';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { repository, sourceFiles } from './imports.ts';

const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...['docs', 'docs/operations'].flatMap((folder) => readdirSync(join(repository, folder)).map((name) => `${folder}/${name}`)),
]
  .filter((name) => name.endsWith('.md'))
  .concat(roomPages())
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

  test('files and folders of the program that it names are there', () => {
    expect(missingPlaces(name, text)).toEqual([]);
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

describe('rules that are cited', () => {
  const defined = new Set(rulesOf(documents.find(({ name }) => name === 'docs/protocol.md')?.text ?? ''));
  const citing = [
    ...documents.filter(({ name }) => name !== 'CHANGELOG.md'),
    ...['src', 'test', 'scripts', 'examples']
      .flatMap(sourceFiles)
      .filter((file) => !file.startsWith('test/structure/'))
      .map((name) => ({ name, text: readFileSync(join(repository, name), 'utf8') })),
    ...readdirSync(join(repository, 'proto'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.proto'))
      .map((name) => ({ name: `proto/${name}`, text: readFileSync(join(repository, 'proto', name), 'utf8') })),
  ];

  test('docs/protocol.md defines each rule and invariant that is cited by number', () => {
    const unknown = citing.flatMap(({ name, text }) =>
      citedRules(text).flatMap((rule) => (defined.has(rule) ? [] : [`${name} cites ${rule}`])),
    );
    expect(unknown).toEqual([]);
    expect(citing.flatMap(({ text }) => citedRules(text)).length, 'citations found').toBeGreaterThan(100);
  });

  test('documents that are named stand in the repository', () => {
    expect(citing.flatMap(({ name, text }) => missingDocuments(name, text).map((missing) => `${name} names ${missing}`))).toEqual([]);
  });

  test.each([
    ['rests on it (I18).', ['I18']],
    ['rules R1–R9 and T11', ['R1', 'R9', 'T11']],
    ["violation('I99', x)", ['I99']],
    ['a RT1 or T1x or ITEM2', []],
  ])('%j cites %j', (text, cited) => expect(citedRules(text)).toEqual(cited));

  test.each([
    ['`src/kernel/assert.ts` and `rules.ts`', ['rules.ts']],
    ['`src/kernel/` and `src/nowhere/`, `<prefix>.dlq-jobs`', ['src/nowhere/']],
  ])('places that %j lacks: %j', (text, missing) => expect(missingPlaces('docs/x.md', text)).toEqual(missing));

  test.each([
    ['see design.md, section 4', ['design.md']],
    ['see docs/protocol.md and ../README.md', []],
    ['see reference/nowhere.md', ['reference/nowhere.md']],
  ])('of %j are missing: %j', (text, missing) => expect(missingDocuments('docs/x.md', text)).toEqual(missing));
});

function rulesOf(page: string): string[] {
  return [...page.matchAll(/^\| ([RTI]\d{1,2}) \|/gm)].map((match) => match[1] ?? '');
}

function citedRules(text: string): string[] {
  return [...text.matchAll(/(?<![\w.$-])[RTI]\d{1,2}(?![\w-])/g)].map(([rule]) => rule);
}

/** A document is named by its path from the root or from the naming file; Markdown of a page outside is a link with a scheme. */
function missingDocuments(file: string, text: string): string[] {
  return [...text.matchAll(/(?<![\w./:-])(?:\.{1,2}\/)*[\w-]+(?:\/[\w-]+)*\.md\b/g)]
    .map(([named]) => named)
    .filter((named) => !existsSync(join(repository, named)) && !existsSync(join(repository, dirname(file), named)));
}

/** The page of each room of src that has one. */
function roomPages(): string[] {
  return readdirSync(join(repository, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('README.md'))
    .map((name) => `src/${name}`)
    .toSorted();
}

/** A source file is named by its path from the root or from the page's folder, a folder by its path from the root. */
function missingPlaces(file: string, text: string): string[] {
  return [...text.matchAll(/`((?:[\w-][\w.-]*\/)*[\w-][\w.-]*\.(?:ts|proto)|(?:src|test|proto|scripts|examples)\/(?:[\w.-]+\/)*)`/g)]
    .map(([, named = '']) => named)
    .filter((named) => !existsSync(join(repository, named)) && !existsSync(join(repository, dirname(file), named)));
}

/** Headings, as GitHub makes anchors of them. */
function anchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
