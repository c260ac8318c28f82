/** Two disasters here, and records that are deleted at any time; as many as you like with `node test/crash/anew.ts`. */
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { Prng } from '../simulation/prng.ts';
import { seed } from '../support/seed.ts';
import { withFolder } from '../support/servers.ts';
import { anewUnderFire, type Disaster } from './anew-campaign.ts';
import { faultyAndMended } from './merge-servers.ts';

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('dead letters whose topics are deleted and cut', kafka.missing);
else {
  const { brokers } = kafka;
  test(
    `topics of dead letters are deleted, cut, and kept for another cluster, under merges and purges (seed ${seed})`,
    { timeout: 300_000 },
    () =>
      withFolder(async (folder) => {
        const servers = await faultyAndMended({ folder, database: join(folder, 'unused.db'), brokers }, 'TASK_TYPE_TRANSFER_WORKFLOW_TASK');
        const prng = new Prng(seed);
        const both: readonly Disaster[] = ['topic deleted under waiting letters', 'cluster begun anew'];
        const drawn = prng.chance(0.5) ? both : both.toReversed();
        try {
          const report = await anewUnderFire({ ...servers, brokers, disasters: drawn, letters: 10, changes: 4, prng });
          expect(report.wrong).toEqual([]);
          expect(report.merged).toBeGreaterThan(0);
        } finally {
          await servers.mended.stop();
          await servers.faulty.stop();
        }
      }),
  );
}
