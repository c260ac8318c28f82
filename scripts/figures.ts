/**
 * Measures the tree: `npm run figures` prints files and lines of each folder of src, and how the rooms of src/history import each other.
 * Comments and blank lines count; generated files, which are not checked in, do not.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFloors } from '../test/structure/directions.ts';
import { importsOf, repository } from '../test/structure/imports.ts';
import { arrowsBetweenRooms, ringsOf, roomOf, wrongArrows } from '../test/structure/rooms.ts';

const tracked = execFileSync('git', ['ls-files', 'src'], { cwd: repository, encoding: 'utf8' });
const files = tracked.split('\n').filter((file) => file.endsWith('.ts'));
const linesOf = (of: readonly string[]): number =>
  of.reduce((sum, file) => sum + readFileSync(join(repository, file), 'utf8').split('\n').length - 1, 0);
const row = (name: string, count: number, lines: number): string =>
  `${name.padEnd(24)} ${String(count).padStart(6)} files ${String(lines).padStart(8)} lines`;

for (const [folder, inside] of Map.groupBy(files, (file) => roomOf('src/', file))) {
  console.log(row(`src/${folder}`, inside.length, linesOf(inside)));
}
console.log(row('src/', files.length, linesOf(files)));

const part = 'src/history/';
const inside = files.filter((file) => file.startsWith(part));
const arrows = arrowsBetweenRooms(part, inside.flatMap(importsOf));
const wrong = wrongArrows(arrows, historyFloors);
const rings = ringsOf(arrows);
console.log(`\nsrc/history: ${new Set(inside.map((file) => roomOf(part, file))).size} rooms, ${arrows.length} arrows between them`);
console.log(`${wrong.length} arrows upward, or from life to life${wrong.map(({ from, to }) => `\n  ${from} → ${to}`).join('')}`);
console.log(`${rings.length} rings of rooms${rings.map((ring) => `\n  ${ring.length} rooms: ${ring.join(' ')}`).join('')}`);
