/**
 * Purges and restores under kill -9, as many as you like:
 *
 *     node test/crash/undo.ts [--letters 300] [--kills 10] [--changes 50] [--window 1h] [--seed N] [--on file|kafka]
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startKafka } from '../kafka/broker.ts';
import { Prng } from '../simulation/prng.ts';
import { withFolder } from '../support/servers.ts';
import { undoUnderFire } from './undo-campaign.ts';
import { undoServer } from './undo-server.ts';

const { values } = parseArgs({
  options: {
    letters: { type: 'string', default: '300' },
    kills: { type: 'string', default: '10' },
    changes: { type: 'string', default: '50' },
    window: { type: 'string', default: '1h' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    on: { type: 'string', default: 'file' },
  },
});

const kafka = values.on === 'file' ? undefined : await startKafka();
try {
  await withFolder(async (folder) => {
    const server = await undoServer({ folder, database: join(folder, 'perdure.db'), brokers: kafka?.brokers }, values.window);
    const [letters, kills, changes] = [Number(values.letters), Number(values.kills), Number(values.changes)];
    try {
      const prng = new Prng(Number(values.seed));
      const report = await undoUnderFire({ server, letters, kills, changes, prng, say: (line) => console.error(line) });
      console.log(JSON.stringify({ on: values.on, seed: Number(values.seed), kills, ...report }));
      if (report.wrong.length > 0) process.exitCode = 1;
    } finally {
      await server.stop();
    }
  });
} finally {
  if (kafka !== undefined && 'stop' in kafka) await kafka.stop();
}
