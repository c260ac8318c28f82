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

test('a server on a file: each partition, with what is written of it', async () => {
  await withFolder(async (folder) => {
    const server = await memoryServer({ log: { kind: 'embedded', filename: join(folder, 'x.db'), sqlitePragmas: [] } });
    const { address } = server;
    const start = { taskQueue: 'q', workflowId: 'wf' };
    await withClient(address, ({ workflow }) => workflow.start('Order', start));
    const page = async () => JSON.parse((await state(address, '-o', 'json')).out);
    const shard = async () => (await page()).shards[0];
    // One claim, the start, and the note that its task is stored where it waits for a worker.
    await expect.poll(shard, { timeout: 60_000 }).toMatchObject({
      shard: 1,
      state: 'active',
      reason: '',
      offset: 3,
      checkpoint: { offset: 2, tailRecords: 0 },
      executions: { hot: 1, hotBytes: expect.any(Number), cold: 0 },
    });
    // Its workflow task waits for a worker: one claim, and the task.
    const queue = async () => (await page()).matching;
    const written = { partition: 0, state: 'active', reason: '', offset: 2, storedTasks: 1, checkpoint: { offset: 1, tailRecords: 0 } };
    await expect.poll(queue, { timeout: 60_000 }).toMatchObject([written]);
    const { code, out } = await state(address);
    expect(code).toBe(0);
    const [status, memory = '', shards = '', matching = ''] = out.split('\n\n');
    expect(status).toBe('SERVING');
    expect(memory).toMatch(/^MEMORY +HOT UP TO +HISTORIES UP TO +UNWRITTEN UP TO\n\d+ MiB +\d+ MiB +\d+ MiB +\d+ MiB$/);
    const { stateBytes, limits } = (await page()).memory;
    const { hotStateBytesMax, historyCacheBytesMax, unwrittenStateBytesMax } = limits;
    expect(hotStateBytesMax + historyCacheBytesMax + unwrittenStateBytesMax).toBeLessThanOrEqual(stateBytes);
    expect(shards).toMatch(
      /^SHARD +STATE +OFFSET +CHECKPOINT +AGE +TAIL +UNWRITTEN +HOT +COLD\n1 +active +3 +2 +\d+ s +0 \(0 B\) +\d+ (B|KiB) +1 \(\d+ KiB\) +0$/,
    );
    expect(matching).toMatch(
      /^MATCHING +STATE +OFFSET +CHECKPOINT +AGE +TAIL +UNWRITTEN +TASKS\n0 +active +2 +1 +\d+ s +0 \(0 B\) +\d+ B +1\n$/,
    );
    await server.stop();
  });
});

test('limits that do not fit into memory stand in GET /health as long as it runs, and what is in force in its state', async () => {
  await withFolder(async (folder) => {
    const log = { kind: 'embedded', filename: join(folder, 'x.db'), sqlitePragmas: [] } as const;
    const stateLimits = { hotStateBytesMax: 2 ** 40, unwrittenStateBytesMax: 2 ** 40 };
    const server = await memoryServer({ log, stateLimits });
    const { status, concerns } = JSON.parse(await (await fetch(`http://${server.address}/health`)).text());
    expect([status, concerns]).toEqual([
      'SERVING',
      [{ subject: 'memory', severity: 'warning', message: expect.stringMatching(/^hotStateBytesMax \(1048576 MiB\) \+ .* do not fit/) }],
    ]);
    expect(JSON.parse((await state(server.address, '-o', 'json')).out).memory.limits).toMatchObject(stateLimits);
    await server.stop();
  });
});

test('what has left memory is counted: also after a restart, and less what is deleted', async () => {
  await withFolder(async (folder) => {
    const log = { kind: 'embedded', filename: join(folder, 'x.db'), sqlitePragmas: [] } as const;
    const everythingLeaves = { log, stateLimits: { hotStateBytesMax: 0, checkpointRecordsMax: 1 } };
    const executions = async (address: string) => JSON.parse((await state(address, '-o', 'json')).out).shards[0].executions;
    const before = await memoryServer(everythingLeaves);
    await withClient(before.address, async ({ workflow }) => {
      for (let nth = 0; nth < 5; nth++) await workflow.start('Order', { taskQueue: 'q', workflowId: `wf-${nth}` });
    });
    await expect.poll(() => executions(before.address), { timeout: 60_000 }).toEqual({ hot: 0, hotBytes: 0, cold: 5 });
    await before.stop();

    // What a signal brings back stays, where there is room.
    const after = await memoryServer({ log });
    expect(await executions(after.address)).toEqual({ hot: 0, hotBytes: 0, cold: 5 });
    await withClient(after.address, async ({ workflow }) => {
      await workflow.getHandle('wf-1').signal('go');
      expect(await executions(after.address)).toMatchObject({ hot: 1, cold: 4 });
      const execution = { workflowId: 'wf-2' };
      await workflow.workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution: execution });
    });
    expect(await executions(after.address)).toMatchObject({ hot: 1, cold: 3 });
    expect((await state(after.address)).out).toMatch(/ 1 \(\d+ KiB\) +3\n/);
    await after.stop();
  });
});

test('a server in memory has none, and says so', async () => {
  const server = await memoryServer();
  const { out } = await state(server.address);
  expect(out).toMatch(
    /\n1 +active +1 +- +- +- +- +0 +0\n\nMATCHING[^\n]+\n0 +active +1 +- +- +- +- +0\n\nThere is no database: state is in memory and in the journals\.\n$/,
  );
  await server.stop();
});

test('a database that is away is said once for all partitions that wait for it', async () => {
  const waiting = (reason: string, seconds: number) => ({
    state: 'active',
    reason: '',
    offset: 9,
    checkpoint: { offset: 1, ageSeconds: 200, tailRecords: 7, tailBytes: 2_048, unwrittenBytes: 4_096, trouble: { reason, seconds } },
  });
  const page = {
    status: 'SERVING',
    shards: [
      ...[1, 2, 3].map((shard) => ({ shard, ...waiting('connection refused', 100 + shard) })),
      ...[4, 5].map((shard) => ({ shard, state: 'restoring', reason: 'its checkpoint cannot be read', offset: 0 })),
    ],
    matching: [{ partition: 4, ...waiting('disk full', 1) }],
  };
  const server = createServer((_, response) => response.end(JSON.stringify(page))).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { readonly port: number };
  const { out } = await state(`127.0.0.1:${port}`);
  expect(out.split('\n\n').at(-1)).toBe(
    'shard 4 and 1 more: its checkpoint cannot be read\n' +
      'shard 1 and 2 more: nothing written for 103 s: connection refused\nmatching partition 4: nothing written for 1 s: disk full\n',
  );
  await new Promise((resolve) => server.close(resolve));
});

test('deleted namespaces: how far they are, and what is in the way', async () => {
  const of = { executions: 12, nextStepTimeMs: 1_700_000_000_000 };
  const trouble = 'task queues of namespace b have tasks left';
  const purges = [
    { namespaceId: 'a', namespace: 'orders-deleted-a', state: 'grace', ...of },
    { namespaceId: 'b', namespace: 'orders-deleted-b', state: 'purging', ...of, trouble },
    { namespaceId: 'c', namespace: 'orders-deleted-c', state: 'purged', ...of },
  ];
  const page = { status: 'SERVING', shards: [], purges };
  const server = createServer((_, response) => response.end(JSON.stringify(page))).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { readonly port: number };
  const { out } = await state(`127.0.0.1:${port}`);
  expect(out.replaceAll(/ +/g, ' ').split('\n\n').slice(-2)).toEqual([
    'DELETED NAMESPACE ID STATE EXECUTIONS DELETED NEXT STEP\n' +
      'orders-deleted-a a is kept 12 2023-11-14T22:13:20.000Z\n' +
      'orders-deleted-b b is purged 12 -\n' +
      'orders-deleted-c c is empty 12 2023-11-14T22:13:20.000Z',
    `namespace orders-deleted-b is not purged: ${trouble}\n`,
  ]);
  await new Promise((resolve) => server.close(resolve));
});

test('nobody there, somebody else, and no address', async () => {
  const nobody = `127.0.0.1:${await freePort()}`;
  expect(await state(nobody)).toMatchObject({ code: 4, out: '', err: expect.stringContaining(`no server answers at ${nobody}`) });
  const other = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { readonly port: number };
  expect((await state(`127.0.0.1:${port}`)).err).toContain(`the server at 127.0.0.1:${port} is not Perdure`);
  other.close();
  expect(await state('here')).toMatchObject({ code: 2, err: expect.stringContaining('--address: expected host:port') });
  const asked = await run(['admin', 'state'], { TEMPORAL_ADDRESS: 'http://db-3:7233' });
  expect(asked).toMatchObject({ code: 2, err: expect.stringContaining('TEMPORAL_ADDRESS: expected host:port') });
});
