/**
 * Dead letters whose topics are deleted, cut and kept for other clusters, as often as you like:
 *
 *     node test/crash/anew.ts [--rounds 9] [--letters 40] [--changes 12] [--seed N]
 */
import { parseArgs } from 'node:util';
import { join } from 'node:path';
import { startKafka } from '../kafka/broker.ts';
import { Prng } from '../simulation/prng.ts';
import { withFolder } from '../support/servers.ts';
import { anewUnderFire, disasters } from './anew-campaign.ts';
import { faultyAndMended } from './merge-servers.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    letters: { type: 'string', default: '40' },
    changes: { type: 'string', default: '12' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
  },
});

const kafka = await startKafka();
try {
  if (kafka.brokers === undefined) throw new Error(kafka.reason);
  const { brokers } = kafka;
  await withFolder(async (folder) => {
    const servers = await faultyAndMended({ folder, database: join(folder, 'unused.db'), brokers }, 'TASK_TYPE_TRANSFER_WORKFLOW_TASK');
    const [rounds, letters, changes, seed] = [values.rounds, values.letters, values.changes, values.seed].map(Number);
    const prng = new Prng(seed ?? 0);
    const startedMs = performance.now();
    const say = (line: string): void => console.error(`${((performance.now() - startedMs) / 1_000).toFixed(1)} s: ${line}`);
    const drawn = Array.from({ length: (rounds ?? 1) - 1 }, () => prng.pick(disasters));
    try {
      const report = await anewUnderFire({
        ...servers,
        brokers,
        disasters: drawn,
        letters: letters ?? 0,
        changes: changes ?? 0,
        prng,
        say,
      });
      console.log(JSON.stringify({ seed, rounds, ...report }));
      if (report.wrong.length > 0) process.exitCode = 1;
    } finally {
      await servers.mended.stop();
      await servers.faulty.stop();
    }
  });
} finally {
  if ('stop' in kafka) await kafka.stop();
}
