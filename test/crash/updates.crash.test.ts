/**
 * A server that is killed with -9 again and again while clients update workflows: each client asks again under the same update id until it is
 * answered, and no update that was answered is lost, and none happens twice. Nor where the workflows are reset meanwhile: each reset brings along
 * what the run before it had accepted.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, WorkflowUpdateFailedError } from '@temporalio/client';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import Long from 'long';
import { beforeAll, expect, test } from 'vitest';
import { add, askAndAnswer } from '../sdk/workflows.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';

const taskQueue = 'updates';
const workflowIds = ['one', 'other', 'third'];
const updatesOfEach = 40;
/** Of one workflow at once: fewer than it takes. */
const callers = 4;
const kills = 4;
/** Every so many are refused by their validator: they leave no trace, however often they are asked for. */
const refusedEvery = 7;

beforeAll(() => {
  const logging = { filter: makeTelemetryFilterString({ core: 'ERROR' }) };
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging } });
});

test.each([
  { name: `updates whose server is killed ${kills} times`, resets: false },
  { name: `updates of workflows that are reset while their server is killed ${kills} times`, resets: true },
])('$name', { timeout: 600_000 }, ({ resets }) =>
  withFolder(async (folder) => {
    const answered = { updates: 0 };
    const server = await embeddedServer(join(folder, 'perdure.db'));
    await server.start();
    const connection = await NativeConnection.connect({ address: server.address });
    const workflowsPath = fileURLToPath(new URL('../sdk/workflows.ts', import.meta.url));
    const worker = await Worker.create({ connection, taskQueue, workflowsPath, shutdownForceTime: '5s' });
    const working = worker.run();
    try {
      await withClient(server.address, (client) =>
        Promise.all(workflowIds.map((workflowId) => client.workflow.start(askAndAnswer, { workflowId, taskQueue, args: [] }))),
      );
      const asked = Promise.all(
        workflowIds.flatMap((id) => Array.from({ length: callers }, (_, caller) => ask(server.address, id, caller, answered))),
      );
      for (let kill = 0; kill < kills; kill++) {
        // In the midst of them.
        const share = ((kill + 1) * workflowIds.length * updatesOfEach) / (kills + 1);
        await expect.poll(() => answered.updates, { timeout: 240_000, interval: 5 }).toBeGreaterThan(share);
        const resetting = resets ? Promise.all(workflowIds.map((id) => resetToFirstTask(server.address, id, `reset-${kill}`))) : undefined;
        await server.kill9();
        await server.start();
        await resetting;
      }
      await asked;
      await withClient(server.address, async (client) => {
        for (const workflowId of workflowIds) expect(await told(client, workflowId)).toEqual(expected(resets));
      });
    } finally {
      worker.shutdown();
      await working.catch(() => undefined);
      await connection.close();
      await server.stop();
    }
  }),
);

/** As often as it takes: asked again, it is the same one. */
async function resetToFirstTask(address: string, workflowId: string, requestId: string): Promise<void> {
  const request = { namespace: 'default', workflowExecution: { workflowId }, workflowTaskFinishEventId: Long.fromNumber(4), requestId };
  for (let isReset = false; !isReset;) {
    isReset = await withClient(address, ({ connection }) =>
      connection.withDeadline(Date.now() + 5_000, () => connection.workflowService.resetWorkflowExecution(request)).then(() => true),
    ).catch(() => false);
  }
}

/** One after the other, each as often as it takes. */
async function ask(address: string, workflowId: string, caller: number, answered: { updates: number }): Promise<void> {
  for (let n = caller; n < updatesOfEach; n += callers) {
    const isRefused = n % refusedEvery === 0;
    for (let isAnswered = false; !isAnswered;) {
      isAnswered = await withClient(address, async ({ connection, workflow }) => {
        const options = { updateId: `u${n}`, args: [isRefused ? -1 : 1] as [number] };
        const handle = workflow.getHandle<typeof askAndAnswer>(workflowId);
        return await connection
          .withDeadline(Date.now() + 5_000, () => handle.executeUpdate(add, options))
          .then(
            () => !isRefused,
            (error: unknown) => isRefused && error instanceof WorkflowUpdateFailedError,
          );
      }).catch(() => false);
    }
    answered.updates++;
  }
}

/** What the workflow has summed, and the ids of the updates in its history. */
async function told(
  { workflow }: Client,
  workflowId: string,
): Promise<{ readonly sum: unknown; readonly accepted: unknown; readonly completed: unknown; readonly isReset: boolean }> {
  const handle = workflow.getHandle(workflowId);
  await handle.signal('finish');
  const sum = await handle.result();
  const { events } = await handle.fetchHistory();
  const ids = (events ?? []).flatMap(({ workflowExecutionUpdateAcceptedEventAttributes: accepted }) => accepted?.protocolInstanceId ?? []);
  const done = (events ?? []).flatMap(({ workflowExecutionUpdateCompletedEventAttributes: completed }) => completed?.meta?.updateId ?? []);
  const isReset = (events ?? []).some((event) => Boolean(event.workflowExecutionUpdateAdmittedEventAttributes));
  return { sum, accepted: ids.toSorted(byName), completed: done.toSorted(byName), isReset };
}

function expected(isReset: boolean) {
  const all = Array.from({ length: updatesOfEach }, (_, n) => n).filter((n) => n % refusedEvery !== 0);
  const ids = all.map((n) => `u${n}`).toSorted(byName);
  return { sum: ids.length, accepted: ids, completed: ids, isReset };
}

function byName(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
