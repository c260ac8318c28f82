/**
 * What npm runs after an install: generates the codecs and bundles the program, if it can. JavaScript, because without the pinned Node it runs on whatever Node the
 * machine has, and that may not know TypeScript.
 */
import { existsSync, readFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';

const { dependencies, devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const needed = Object.keys({ ...dependencies, ...devDependencies });
const missing = needed.filter((name) => !existsSync(new URL(`../node_modules/${name}/package.json`, import.meta.url)));
if (missing.length > 0) {
  console.error(
    `perdure: the codecs and the bundle are made with packages that are not installed: ${missing.join(', ')}; run 'npm ci', then 'npm prune --omit=dev --ignore-scripts'.`,
  );
  process.exit(1);
}
for (const script of ['scripts/generate.ts', 'scripts/bundle.ts']) {
  const { status } = spawnSync('node', [script], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
