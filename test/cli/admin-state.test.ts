/** `perdure admin state` beside whole servers, and beside what is none. */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { memoryServer } from '../support/memory-server.ts';
import { freePort } from '../support/server-process.ts';
import { withFolder } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';
import { run } from './capture.ts';

const state = (address: string, ...flags: readonly string[]) => run(['admin', 'state', '--address', address, ...flags]);

test('a server on a file: each shard, with what is written of it', async () => {
  await withFolder(async (folder) => {
    const server = await memoryServer({ log: { kind: 'embedded', filename: join(folder, 'x.db'), sqlitePragmas: [] } });
    const { address } = server;
    const start = { taskQueue: 'q', workflowId: 'wf' };
    await withClient(address, ({ workflow }) => workflow.start('Order', start));
    const shard = async () => JSON.parse((await state(address, '-o', 'json')).out).shards[0];
    // One claim, and the start.
    expect(await shard()).toMatchObject({ shard: 1, state: 'active', reason: '', offset: 2, executions: { hot: 1, cold: 0 } });
    await expect.poll(async () => (await shard()).checkpoint, { timeout: 20_000 }).toMatchObject({ offset: 1, tailRecords: 0 });
    const { code, out } = await state(address);
    expect(code).toBe(0);
    expect(out).toMatch(/^SERVING\n\nSHARD +STATE +OFFSET +CHECKPOINT +AGE +TAIL +UNWRITTEN +HOT +COLD\n1 +active +2 +1 +\d+ s +0 \(0 B\)/);
    await server.stop();
  });
});

test('a server in memory has none, and says so', async () => {
  const server = await memoryServer();
  const { out } = await state(server.address);
  expect(out).toMatch(/\n1 +active +1 +- +- +- +- +0 +0\n\nThere is no database: state lives in memory and in the journals\.\n$/);
  await server.stop();
});

test('nobody there, somebody else, and no address', async () => {
  const nobody = `127.0.0.1:${await freePort()}`;
  expect(await state(nobody)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(`no server answers at ${nobody}`) });
  const other = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { readonly port: number };
  expect((await state(`127.0.0.1:${port}`)).err).toContain(`what answers at 127.0.0.1:${port} is no Perdure server`);
  other.close();
  expect(await state('here')).toMatchObject({ code: 2, err: expect.stringContaining('--address: expected host:port') });
});
