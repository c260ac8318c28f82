/**
 * Two servers on one topic prefix, as a slip at a unit file or a second replica makes them. The one that serves goes on; the other says who
 * is there and exits with 3, so that its supervisor can leave it. A server that crashed or is frozen is taken over as ever.
 */
import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { oneGoesOn, serves } from './one-of-two.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { embeddedServer, kafkaServers, withFolder } from '../support/servers.ts';
import type { ServerProcess } from '../support/server-process.ts';

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('two servers on one prefix', kafka.missing);
else twoServers(kafka.brokers);

function twoServers(brokers: readonly string[]): void {
  const prefix = `two-${randomUUID()}`;
  const words = (owner: ServerProcess): RegExp => {
    const port = owner.address.split(':')[1];
    return new RegExp(`another server \\(\\S+:${port} pid ${owner.pid}\\) serves prefix ${prefix}: stop one of them, or change`);
  };

  test('the second start is refused; a frozen owner is taken over; whoever was fenced does not come back', async () => {
    await withFolder(async (folder) => {
      const [first, second] = (await kafkaServers(folder, brokers, prefix, 2)) as [ServerProcess, ServerProcess];
      try {
        await first.start();
        for (let attempt = 0; attempt < 2; attempt++) await refused(second, words(first));
        await serves(first);

        await first.kill9();
        await first.start();
        await serves(first);

        first.pause();
        await second.start();
        first.resume();
        expect(await first.exitCode(20_000)).toBe(3);
        expect(first.output).toMatch(words(second));
        await refused(first, words(second));
        await serves(second);

        await second.stop();
        expect(await second.exitCode(0)).toBe(0);
        await first.start();
        await serves(first);
      } finally {
        await first.stop();
        await second.stop();
      }
    });
  });

  test('of two that start at the same moment one goes on, and the other exits with 3', async () => {
    const prefix = `both-${randomUUID()}`;
    await withFolder(async (folder) => {
      await oneGoesOn((await kafkaServers(folder, brokers, prefix, 2)) as [ServerProcess, ServerProcess], [0, 150]);
    });
  });
}

test('two servers on one file', async () => {
  await withFolder(async (folder) => {
    const file = `${folder}/perdure.db`;
    const first = await embeddedServer(file);
    const second = await embeddedServer(file);
    try {
      await first.start();
      await refused(second, new RegExp(`${file} is in use by another server or by a tool: stop one of them, or name another file`));
      await serves(first);
    } finally {
      await first.stop();
    }
  });
});

async function refused(server: ServerProcess, words: RegExp): Promise<void> {
  await expect(server.start()).rejects.toThrow(words);
  expect(await server.exitCode(20_000)).toBe(3);
}
