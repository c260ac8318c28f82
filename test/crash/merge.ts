/**
 * A merge under kill -9, as large as you like:
 *
 *     node test/crash/merge.ts [--letters 10000] [--kills 3] [--seed N] [--on file|kafka|postgres]
 */
import { parseArgs } from 'node:util';
import { join } from 'node:path';
import { startKafka } from '../kafka/broker.ts';
import { startPostgres } from '../postgres/postgres.ts';
import { Prng } from '../simulation/prng.ts';
import { withFolder } from '../support/servers.ts';
import { mergeUnderFire } from './merge-campaign.ts';
import { faultyAndMended, type Site } from './merge-servers.ts';

const { values } = parseArgs({
  options: {
    letters: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    on: { type: 'string', default: 'file' },
  },
});

const kafka = values.on === 'file' ? undefined : await startKafka();
const postgres = values.on === 'postgres' ? await startPostgres() : undefined;
try {
  await withFolder(async (folder) => {
    const site: Site = { folder, database: join(folder, 'perdure.db'), brokers: kafka?.brokers, postgresPort: postgres?.port };
    const servers = await faultyAndMended(site);
    const [letters, kills] = [Number(values.letters), Number(values.kills)];
    const startedMs = performance.now();
    const say = (line: string): void => console.error(`${((performance.now() - startedMs) / 1_000).toFixed(1)} s: ${line}`);
    try {
      const report = await mergeUnderFire({ ...servers, letters, kills, prng: new Prng(Number(values.seed)), say });
      console.log(JSON.stringify({ on: values.on, seed: Number(values.seed), kills, ...report }));
      const { merged, remaining } = report.job.counts;
      if (report.wrong.length > 0 || report.open > 0 || remaining > 0 || merged !== letters) process.exitCode = 1;
    } finally {
      await servers.mended.stop();
      await servers.faulty.stop();
    }
  });
} finally {
  await postgres?.stop();
  if (kafka !== undefined && 'stop' in kafka) await kafka.stop();
}
