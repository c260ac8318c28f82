/**
 * Purges and restores under kill -9, as many as you like:
 *
 *     node test/crash/undo.ts [--letters 300] [--kills 10] [--changes 50] [--window 1h] [--seed N] [--on file|kafka] [--kill server|broker]
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startLocalKafka } from '../kafka/broker.ts';
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
    kill: { type: 'string', default: 'server' },
  },
});

const kafka = values.on === 'file' ? undefined : await startLocalKafka();
try {
  await withFolder(async (folder) => {
    const server = await undoServer({ folder, database: join(folder, 'perdure.db'), brokers: kafka?.brokers }, values.window);
    const prng = new Prng(Number(values.seed));
    const killBroker = async (): Promise<void> => {
      await kafka?.kill9();
      await delay(prng.int(100, 3_000));
      await kafka?.restart();
    };
    const kill = values.kill === 'broker' ? { kill: killBroker } : {};
    const [letters, kills, changes] = [Number(values.letters), Number(values.kills), Number(values.changes)];
    try {
      const report = await undoUnderFire({ server, letters, kills, changes, prng, ...kill, say: (line) => console.error(line) });
      console.log(JSON.stringify({ on: values.on, seed: Number(values.seed), kills, ...report }));
      if (report.wrong.length > 0) process.exitCode = 1;
    } finally {
      await server.stop();
    }
  });
} finally {
  await kafka?.stop();
}
