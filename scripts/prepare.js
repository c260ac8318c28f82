/**
 * What npm runs after an install: generates the codecs, if it can. JavaScript, because without the pinned Node it runs on whatever Node the
 * machine has, and that may not know TypeScript.
 */
import { existsSync } from 'node:fs';
import { spawnSync } from 'node:child_process';

const needed = ['node', '@temporalio/core-bridge'];
const missing = needed.filter((name) => !existsSync(new URL(`../node_modules/${name}/package.json`, import.meta.url)));
if (missing.length > 0) {
  console.error(
    `perdure: the codecs are generated with the development packages, of which ${missing.join(', ')} is not installed: run 'npm ci', then 'npm prune --omit=dev --ignore-scripts'.`,
  );
  process.exit(1);
}
const { status } = spawnSync('node', ['scripts/generate.ts'], { stdio: 'inherit' });
process.exit(status ?? 1);
