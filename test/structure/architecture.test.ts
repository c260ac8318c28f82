import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importsOf, repository, sourceFiles } from './imports.ts';

const page = join(repository, 'ARCHITECTURE.md');
const text = readFileSync(page, 'utf8');

/** A newcomer reads it in a quarter of an hour. What a room needs beyond it stands in the room. */
const pageBytesMax = 16_384;

/** `| `src/history/` | holds | imports | imports types of |` */
const rows = [...text.matchAll(/^\| `src\/([\w-]+)\/` \| (.*) \| (.*) \| (.*) \|$/gm)].map(
  ([, folder = '', holds = '', values = '', types = '']) => ({
    folder,
    holds,
    values: namesIn(values),
    types: namesIn(types),
  }),
);
const folders = readdirSync(join(repository, 'src')).filter((name) => statSync(join(repository, 'src', name)).isDirectory());
const imports = sourceFiles('src')
  .flatMap(importsOf)
  .flatMap(({ file, target, typeOnly }) => {
    const [from, to] = [folderOf(file), folderOf(target)];
    return from === undefined || to === undefined || from === to ? [] : [{ from, to, typeOnly }];
  });

describe('ARCHITECTURE.md', () => {
  test('is short', () => {
    expect(statSync(page).size).toBeLessThanOrEqual(pageBytesMax);
  });

  test('its map has every folder of src once', () => {
    expect(rows.map(({ folder }) => folder).toSorted()).toEqual(folders.toSorted());
  });

  test.each(rows)('$folder imports what the map says', ({ folder, values, types }) => {
    const ours = imports.filter(({ from }) => from === folder);
    const imported = sorted(ours.flatMap(({ to, typeOnly }) => (typeOnly ? [] : [to])));
    const asTypes = sorted(ours.map(({ to }) => to).filter((to) => !imported.includes(to)));
    expect({ values, types }).toEqual({ values: imported, types: asTypes });
  });

  test('its map links the page of each folder that has one', () => {
    const linked = rows.filter(({ folder, holds }) => holds.includes(`(src/${folder}/README.md)`)).map(({ folder }) => folder);
    const written = folders.filter((folder) => existsSync(join(repository, 'src', folder, 'README.md')));
    expect(linked.toSorted()).toEqual(written.toSorted());
  });
});

function namesIn(cell: string): string[] {
  return cell === '–' ? [] : cell.split(', ');
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].toSorted();
}

/** undefined: a file beside the folders, or none of ours. */
function folderOf(path: string): string | undefined {
  return /^src\/([\w-]+)\//.exec(path)?.[1];
}
