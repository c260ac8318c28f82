/** `npm exec -- node test/simulation/plant-seeds.ts`: writes down what catches each planted bug now, in planted-seeds.json. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runPlanted } from './planted.ts';
import { plants } from './plants.ts';

const cache = mkdtempSync(join(tmpdir(), 'perdure-planted-'));
const caught: Record<string, string> = {};
try {
  for (const { name } of plants) {
    const finding = await runPlanted(name, cache);
    if (finding === undefined) throw new Error(`nothing catches "${name}"`);
    caught[name] = finding.by;
    console.log(`${finding.by.padEnd(40)} after ${finding.tries}: ${name}`);
  }
  writeFileSync(new URL('./planted-seeds.json', import.meta.url), `${JSON.stringify(caught, undefined, 2)}\n`);
} finally {
  rmSync(cache, { recursive: true });
}
