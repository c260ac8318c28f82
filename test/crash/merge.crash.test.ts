/** Hundreds here, as many as you like with `node test/crash/merge.ts`. */
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { Prng } from '../simulation/prng.ts';
import { seed } from '../support/seed.ts';
import { withFolder } from '../support/servers.ts';
import { mergeUnderFire } from './merge-campaign.ts';
import { faultyAndMended } from './merge-servers.ts';

const letters = 100;
const kills = 2;
/** Four seconds, without the time that its servers are dead. */
const rps = letters / 4;

const kafka = inject('kafka');
test(`a merge of ${letters} dead letters is killed ${kills} times, on a file (seed ${seed})`, () => merged(undefined));
if ('missing' in kafka) skipAloud('a merge that is killed, on Kafka', kafka.missing);
else test(`a merge of ${letters} dead letters is killed ${kills} times, on Kafka (seed ${seed})`, () => merged(kafka.brokers));

async function merged(brokers: readonly string[] | undefined): Promise<void> {
  await withFolder(async (folder) => {
    const servers = await faultyAndMended({ folder, database: join(folder, 'perdure.db'), brokers });
    try {
      const { job, open, wrong, openAtKills } = await mergeUnderFire({ ...servers, letters, kills, rps, prng: new Prng(seed) });
      expect(wrong).toEqual([]);
      expect(open).toBe(0);
      // Each kill came in the middle.
      expect(openAtKills.every((left) => left > 0 && left < letters)).toBe(true);
      // A letter that was merged while the answer was lost is merged for the job, too.
      expect(job).toMatchObject({
        state: 'completed',
        counts: { selected: letters, merged: letters, failed: 0, skipped: 0, gone: 0, notTried: 0, remaining: 0 },
      });
    } finally {
      await servers.mended.stop();
      await servers.faulty.stop();
    }
  });
}
