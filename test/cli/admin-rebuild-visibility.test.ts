/** `perdure admin visibility rebuild` beside whole servers. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { memoryServer } from '../support/memory-server.ts';
import { withFolder } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';
import { run } from './capture.ts';

const admin = (address: string, ...words: readonly string[]) => run(['admin', ...words, '--address', address]);

async function types(address: string): Promise<readonly string[]> {
  const found: string[] = [];
  await withClient(address, async ({ workflow }) => {
    for await (const { workflowId, type, status } of workflow.list()) found.push(`${workflowId} ${type} ${status.name}`);
  });
  return found.toSorted();
}

async function isDone(address: string): Promise<void> {
  const state = async () => JSON.parse((await admin(address, 'state', '-o', 'json')).out).shards[0].listRebuild;
  await expect.poll(state, { timeout: 60_000 }).toMatchObject({ state: 'done', unreadRuns: 0 });
}

test('a List that is wrong is right again, while the server serves; one that lost its rows is built by the next start', async () => {
  await withFolder(async (folder) => {
    const filename = join(folder, 'x.db');
    const log = { kind: 'embedded', filename, sqlitePragmas: [] } as const;
    let server = await memoryServer({ log });
    await withClient(server.address, async ({ workflow }) => {
      for (const workflowId of ['one', 'two', 'three'])
        await workflow.start('Order', { taskQueue: 'q', workflowId, memo: { note: workflowId } });
      await workflow.getHandle('two').terminate();
    });
    const right = ['one Order RUNNING', 'three Order RUNNING', 'two Order TERMINATED'];
    expect(await types(server.address)).toEqual(right);
    const rows = new DatabaseSync(`${filename}-state`, { timeout: 20_000 });
    rows.exec("UPDATE visibility SET workflow_type = 'Wrong', version = version + 100 WHERE workflow_id = 'one'");
    rows.exec("DELETE FROM visibility WHERE workflow_id = 'two'");
    rows.exec("UPDATE visibility SET run_id = '99999999-9999-4999-8999-999999999999' WHERE workflow_id = 'three'");
    expect(await types(server.address)).toEqual(['one Wrong RUNNING', 'three Order RUNNING']);

    const { code, out } = await admin(server.address, 'visibility', 'rebuild');
    expect([code, out]).toEqual([
      0,
      'Rebuilding the rows of List from the workflows of 1 shard. To see the progress: perdure admin state\n',
    ]);
    await isDone(server.address);
    expect(await types(server.address)).toEqual(right);
    expect((await admin(server.address, 'state')).out).toMatch(
      /\n\nSHARD +LIST REBUILD +RUNS +UNREAD +ROWS REMOVED +TIME\n1 +done +3 +0 +1 +\d+ s\n$/,
    );

    await server.stop();
    rows.exec('DELETE FROM visibility; DELETE FROM visibility_words');
    rows.close();
    server = await memoryServer({ log });
    await isDone(server.address);
    expect(await types(server.address)).toEqual(right);
    await server.stop();
  });
});

test('where there is no database it is refused in words, as text and as JSON', async () => {
  const server = await memoryServer();
  const refused = 'there is no database: rows of List are in memory, and a restart rebuilds them';
  expect(await admin(server.address, 'visibility', 'rebuild')).toMatchObject({ code: 1, out: `shard 1: ${refused}\n`, err: '' });
  const { out } = await admin(server.address, 'visibility', 'rebuild', '-o', 'json');
  expect(JSON.parse(out)).toEqual({ shards: [{ shard: 1, refused }] });
  await server.stop();
});
