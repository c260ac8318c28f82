/** Histories whose events are in rows alone: the journal is trimmed behind them, and nothing of them is in memory. */
import { Client, Connection } from '@temporalio/client';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { memoryServer } from '../support/memory-server.ts';

const signals = 30;

test('are read in pages, forwards and backwards', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-rows-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const options = {
    log: { kind: 'embedded', filename: join(folder, 'x.db'), sqlitePragmas: [] },
    stateLimits: { historyCacheBytesMax: 0, hotStateBytesMax: 0 },
  } as const;
  const first = await memoryServer(options);
  const before = await Connection.connect({ address: first.address });
  const handle = await new Client({ connection: before }).workflow.start('Order', { workflowId: 'order', taskQueue: 'q' });
  for (let nth = 0; nth < signals; nth++) await handle.signal('paid');
  await before.close();
  await first.stop();

  const server = await memoryServer(options);
  onTestFinished(() => server.stop());
  const connection = await Connection.connect({ address: server.address });
  onTestFinished(() => connection.close());
  const { workflowService } = connection;
  const request = { namespace: 'default', execution: { workflowId: 'order' }, maximumPageSize: 7 };
  const read = async (backwards: boolean): Promise<readonly number[]> => {
    const ids: number[] = [];
    for (let nextPageToken = new Uint8Array(); ;) {
      const page = backwards
        ? await workflowService.getWorkflowExecutionHistoryReverse({ ...request, nextPageToken })
        : await workflowService.getWorkflowExecutionHistory({ ...request, nextPageToken });
      ids.push(...(page.history?.events ?? []).map(({ eventId }) => Number(eventId)));
      nextPageToken = new Uint8Array(page.nextPageToken);
      if (nextPageToken.length === 0) return ids;
    }
  };
  const all = Array.from({ length: signals + 2 }, (_, index) => index + 1);
  expect(await read(false)).toEqual(all);
  expect(await read(true)).toEqual(all.toReversed());
});
