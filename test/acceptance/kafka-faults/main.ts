/**
 * All rows, as a table for people: `npm run kafka-faults -- [--seed N] [--versions 3.9.2,4.3.1] [part of a row's name …]`
 * Exits with 1 when a row failed. CI runs the same rows (`kafka-faults.crash.test.ts`).
 */
import { parseArgs } from 'node:util';
import { Sites } from './row.ts';
import { chosenRows } from './rows.ts';
import { canMount } from './sites.ts';
import { tableOf } from './table.ts';
import type { RowReport } from './row.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string', default: '20261' }, versions: { type: 'string', default: '' } },
});
const versions = values.versions.split(',').filter((version) => version !== '');
const wanted = chosenRows({ withDisk: await canMount(), versions }).filter(
  ({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
);
const sites = new Sites();
const reports: RowReport[] = [];
try {
  for (const row of wanted) {
    try {
      reports.push(await row.run(sites, Number(values.seed)));
      console.error(`ok      ${row.name}`);
    } catch (error) {
      process.exitCode = 1;
      console.error(`FAILED  ${row.name}`, error);
    }
  }
} finally {
  await sites.stop();
}
console.log(tableOf(reports));
