/**
 * The table of docs/operations/dynamic-configuration.md, from the settings: `node scripts/dynamic-configuration-table.ts` writes it in its place.
 * A test fails when the page has another one.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dynamicSettings } from '../src/config/dynamic-settings.ts';

const page = new URL('../docs/operations/dynamic-configuration.md', import.meta.url);
const begin = '<!-- Made by scripts/dynamic-configuration-table.ts from src/config/dynamic-settings.ts. -->\n\n';

export function dynamicConfigurationTable(): string {
  const rows = dynamicSettings.map(
    ({ key, expected, defaultText, needsRestart, about }) =>
      `| \`${key}\` | ${expected} | \`${defaultText}\` | ${needsRestart ? 'at the next start' : 'at once'} | ${about} |\n`,
  );
  return `${begin}| key | value | default | a change holds | |\n|---|---|---|---|---|\n${rows.join('')}`;
}

if (import.meta.main) {
  const [before = ''] = readFileSync(page, 'utf8').split(begin, 1);
  writeFileSync(page, `${before}${dynamicConfigurationTable()}`);
}
