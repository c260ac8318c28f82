/**
 * The table of docs/operations/metrics.md, from the declarations of the metrics: `node scripts/metrics-table.ts` writes it in its place.
 * A test fails when the page has another one.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { declarations } from '../src/observability/metrics/declarations.ts';

const page = new URL('../docs/operations/metrics.md', import.meta.url);
const begin = '<!-- Made by scripts/metrics-table.ts from src/observability/metrics/declarations.ts. -->\n\n';

export function metricsTable(): string {
  const rows = Object.entries(declarations).map(
    ([name, { kind, tags, help }]) => `| \`${name}\` | ${kind} | ${tags.map((tag) => `\`${tag}\``).join(', ')} | ${help} |\n`,
  );
  return `${begin}| metric | kind | tags | |\n|---|---|---|---|\n${rows.join('')}`;
}

if (import.meta.main) {
  const [before = ''] = readFileSync(page, 'utf8').split(begin, 1);
  writeFileSync(page, `${before}${metricsTable()}`);
}
