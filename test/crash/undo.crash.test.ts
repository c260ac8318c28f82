/** A few here, as many as you like with `node test/crash/undo.ts`. */
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { Prng } from '../simulation/prng.ts';
import { seed } from '../support/seed.ts';
import { withFolder } from '../support/servers.ts';
import { undoUnderFire } from './undo-campaign.ts';
import { undoServer } from './undo-server.ts';

const campaign = { letters: 100, kills: 2, changes: 12 } as const;

const kafka = inject('kafka');
test(`purges and restores are killed ${campaign.kills} times, on a file (seed ${seed})`, () => undone(undefined, '1h'));
if ('missing' in kafka) skipAloud('purges and restores that are killed, on Kafka', kafka.missing);
else
  test(`purges and restores are killed ${campaign.kills} times while topics are cut, on Kafka (seed ${seed})`, () =>
    undone(kafka.brokers, '1s'));

async function undone(brokers: readonly string[] | undefined, undoWindow: string): Promise<void> {
  await withFolder(async (folder) => {
    const server = await undoServer({ folder, database: join(folder, 'perdure.db'), brokers }, undoWindow);
    try {
      const { wrong, purged } = await undoUnderFire({ ...campaign, server, prng: new Prng(seed) });
      expect(wrong).toEqual([]);
      expect(purged).toBeGreaterThan(0);
    } finally {
      await server.stop();
    }
  });
}
