/**
 * `npm exec -- node test/simulation/plant-seeds.ts`: writes down in planted-seeds.json what catches each planted bug now, of those that have changed with their
 * source or their simulation. One that is cut off goes on where it was.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runPlanted } from './planted.ts';
import { plants } from './plants.ts';
import { isProven, type Proof, proofHash, proofOf } from './proofs.ts';

const cache = mkdtempSync(join(tmpdir(), 'perdure-planted-'));
const proofs = new Map(
  plants.flatMap((plant): (readonly [string, Proof])[] => {
    const proof = proofOf(plant);
    return proof === undefined ? [] : [[plant.name, proof]];
  }),
);
try {
  for (const plant of plants.filter((each) => !isProven(each))) {
    const finding = await runPlanted(plant.name, cache, ['further']);
    if (finding === undefined) throw new Error(`nothing catches "${plant.name}"`);
    proofs.set(plant.name, { by: finding.by, hash: proofHash(plant) });
    console.log(`${finding.by.padEnd(40)} after ${finding.tries}: ${plant.name}`);
    writeFileSync(new URL('./planted-seeds.json', import.meta.url), `${JSON.stringify(Object.fromEntries(proofs), undefined, 2)}\n`);
  }
} finally {
  rmSync(cache, { recursive: true });
}
