/**
 * A server whose heap is small: with a database workflows leave memory sooner, and without one no more are started. Neither is ended by V8, as it
 * is where limits are for a large heap.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { GrpcConnection, StatusError } from '../bench/grpc-connection.ts';
import { startRequest } from '../bench/messages.ts';
import { freePort, ServerProcess } from '../support/server-process.ts';
import { withFolder } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';

const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));
const heapMiB = 64;
const atOnce = 64;
const resourceExhausted = 8;

/** Long ones fill the heap sooner. */
function idOf(nth: number): string {
  return `wf-${nth}-${'x'.repeat(800)}`;
}

async function withSmallServer(flags: readonly string[], use: (server: ServerProcess) => Promise<void>): Promise<void> {
  const port = await freePort();
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--headless', '--log-level', 'warn', ...flags];
  const server = new ServerProcess(port, args, ['/usr/bin/env', `NODE_OPTIONS=--max-old-space-size=${heapMiB}`, bin]);
  try {
    await server.start();
    await use(server);
  } finally {
    await server.stop();
  }
}

/** Starts so many, which nobody works on, from the `from`th; ends early with what refused one. */
async function opened(
  address: string,
  count: number,
  from = 0,
): Promise<{ readonly started: number; readonly refusal: StatusError | undefined }> {
  const connection = await GrpcConnection.connect(address);
  let [next, started] = [from, 0];
  let refusal: StatusError | undefined;
  const opener = async (): Promise<void> => {
    while (next < from + count && refusal === undefined) {
      const nth = next++;
      try {
        const queues = { namespace: 'default', normal: `queue-${nth % 10}`, sticky: '' };
        await connection.call('StartWorkflowExecution', startRequest(queues, idOf(nth), 'Order'));
        started += 1;
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        refusal ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, opener));
  await connection.close();
  return { started, refusal };
}

type HealthPage = { readonly status: string; readonly concerns?: readonly { readonly subject: string; readonly message: string }[] };

async function health(address: string): Promise<HealthPage> {
  return (await (await fetch(`http://${address}/health`)).json()) as HealthPage;
}

type StatePage = { readonly shards: readonly { readonly executions: { readonly hotBytes: number; readonly cold?: number } }[] };

async function inMemory(address: string): Promise<{ readonly hotMiB: number; readonly cold: number }> {
  const { shards } = (await (await fetch(`http://${address}/health/state`)).json()) as StatePage;
  const hotBytes = shards.reduce((sum, { executions }) => sum + executions.hotBytes, 0);
  return { hotMiB: Math.ceil(hotBytes / 2 ** 20), cold: shards.reduce((sum, { executions }) => sum + (executions.cold ?? 0), 0) };
}

test('on a file: what is not in use leaves memory, though a large heap would have room for it', async () => {
  const count = 3_000;
  await withFolder(async (folder) => {
    await withSmallServer(['--db-filename', join(folder, 'x.db')], async (server) => {
      expect(await opened(server.address, count), server.output).toEqual({ started: count, refusal: undefined });
      // 64 MiB have a share of 1/24, once what was opened last is written.
      await expect.poll(async () => (await inMemory(server.address)).hotMiB, { timeout: 60_000, interval: 100 }).toBeLessThanOrEqual(11);
      expect((await inMemory(server.address)).cold).toBeGreaterThan(1_000);
      expect(await health(server.address)).toEqual({ status: 'SERVING' });
      await withClient(server.address, async ({ workflow }) => {
        expect((await workflow.count()).count).toBe(count);
        await workflow.getHandle(idOf(0)).signal('paid');
        await workflow.getHandle(idOf(0)).terminate();
      });
    });
  });
});

test('in memory: no workflow is started once the heap is nearly full, those that run go on, and operators are informed', async () => {
  await withSmallServer([], async (server) => {
    const { started, refusal } = await opened(server.address, 1_000_000);
    expect(refusal?.code, server.output).toBe(resourceExhausted);
    expect(refusal?.message).toContain('the memory of this server is nearly full: no workflow is started until there is room');
    expect(started).toBeGreaterThan(100);
    // What starts under way took may be collected, and there is room for some more.
    let opener = 0;
    await expect
      .poll(
        async () => {
          await opened(server.address, 1_000_000, ++opener * 1_000_000);
          return health(server.address);
        },
        { timeout: 60_000, interval: 10 },
      )
      .toMatchObject({
        status: 'SERVING',
        concerns: [{ subject: 'memory', message: expect.stringMatching(/^\d+ MiB of the 64 MiB .* no workflow is started/) }],
      });
    expect(server.output).toContain('the heap is nearly full');
    await withClient(server.address, async ({ workflow }) => {
      for (let nth = 0; nth < 20; nth++) {
        await workflow.getHandle(idOf(nth)).signal('paid');
        await workflow.getHandle(idOf(nth)).terminate();
      }
    });
  });
});
