/** The rows of `rows.ts` on real brokers. As a table: `npm run kafka-faults`. */
import { afterAll, describe, expect, test } from 'vitest';
import { canStartLocalKafka } from '../../kafka/broker.ts';
import { seed } from '../../support/seed.ts';
import { Sites } from './row.ts';
import { chosenRows } from './rows.ts';
import { canMount } from './sites.ts';
import { tableOf } from './table.ts';
import type { RowReport } from './row.ts';

/** Other versions are fetched through Maven, 43 MB each. */
const versions = (process.env['KAFKA_VERSIONS'] ?? '').split(',').filter((version) => version !== '');
const withDisk = await canMount();
if (!withDisk) console.warn('\n*** SKIPPED: the disk is full. This user may not mount a file system in memory ***\n');

describe.skipIf(!(await canStartLocalKafka('what people do to Kafka')))('what people, machines and networks do to Kafka', () => {
  const sites = new Sites();
  const reports: RowReport[] = [];
  afterAll(async () => {
    await sites.stop();
    console.log(`seed ${seed}\n${tableOf(reports)}`);
  });

  test.each(chosenRows({ withDisk, versions }))('$name: $did', { timeout: 120_000 }, async (row) => {
    const report = await row.run(sites, seed);
    expect(report.violations).toEqual([]);
    reports.push(report);
  });
});
