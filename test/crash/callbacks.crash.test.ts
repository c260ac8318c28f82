/** Completion callbacks whose server is killed with -9 while they are on their way: each is delivered in the end, and none that was answered is tried for ever. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { expect, inject, test } from 'vitest';
import { HttpTarget } from '../outbound/http-target.ts';
import { enums } from '../sdk/fields.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { Prng } from '../simulation/prng.ts';
import { seed } from '../support/seed.ts';
import { embeddedServer, kafkaServer, withFolder } from '../support/servers.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { withClient } from '../support/with-client.ts';

const kills = 3;
/** Before each of them: more callbacks than are waited for, however slow the machine is. */
const workflowsPerKill = 20;
const workflows = kills * workflowsPerKill;
const patience = { timeout: 90_000, interval: 100 };
const succeeded = (enums as unknown as { readonly CallbackState: Readonly<Record<string, number>> }).CallbackState[
  'CALLBACK_STATE_SUCCEEDED'
];

const kafka = inject('kafka');
test(`callbacks are killed ${kills} times, on a file (seed ${seed})`, () => delivered(undefined));
if ('missing' in kafka) skipAloud('callbacks that are killed, on Kafka', kafka.missing);
else test(`callbacks are killed ${kills} times, on Kafka (seed ${seed})`, () => delivered(kafka.brokers));

async function delivered(brokers: readonly string[] | undefined): Promise<void> {
  const prng = new Prng(seed);
  // Half of all answers come late, and every fifth is a refusal for now.
  const target = await HttpTarget.open((response, _received, number) => {
    response.statusCode = number % 5 === 0 ? 500 : 200;
    setTimeout(() => response.end(), number % 2 === 0 ? 300 : 0);
  });
  await withFolder(async (folder) => {
    const server = await callingServer(folder, brokers);
    try {
      await server.start();
      for (let kill = 0; kill < kills; kill++) {
        const before = target.received.length;
        await withClient(server.address, async (client) => await startAndEnd(client, target, kill * workflowsPerKill));
        await target.requests(before + prng.int(1, 10));
        await delay(prng.int(0, 100));
        await server.kill9();
        await server.start();
      }
      await withClient(server.address, async (client) => await expect.poll(() => unsettled(client), patience).toEqual([]));
      const heard = new Set(target.received.map(({ path }) => path));
      expect(heard.size).toBe(workflows);
      // Nothing more comes of what has succeeded.
      const { length } = target.received;
      await server.stop();
      await server.start();
      await withClient(server.address, async (client) => expect(await unsettled(client)).toEqual([]));
      expect(target.received).toHaveLength(length);
    } finally {
      await server.stop();
      await target.close();
    }
  });
}

async function callingServer(folder: string, brokers: readonly string[] | undefined): Promise<ServerProcess> {
  const anywhere = JSON.stringify([{ Pattern: '127.0.0.1:*', AllowInsecure: true, AllowPrivate: true }]);
  const settings = [
    ['callback.allowedAddresses', anywhere],
    ['callback.retryPolicy.initialInterval', '"50ms"'],
    ['callback.retryPolicy.maximumInterval', '"500ms"'],
    ['history.outboundQueue.circuitBreakerSettings', JSON.stringify({ Timeout: '200ms' })],
  ] as const;
  if (brokers === undefined) {
    const flags = settings.flatMap(([name, value]) => ['--dynamic-config-value', `${name}=${value}`]);
    return await embeddedServer(join(folder, 'perdure.db'), flags);
  }
  const dynamic = settings.map(([name, value]) => `${name}: [{ value: ${value}, constraints: {} }]`);
  return await kafkaServer(folder, { brokers, topicPrefix: `callbacks-${randomUUID()}`, dynamic });
}

async function startAndEnd({ workflow, workflowService }: Client, target: HttpTarget, first: number): Promise<void> {
  for (let nth = first; nth < first + workflowsPerKill; nth++) {
    const workflowId = `order-${nth}`;
    await workflowService.startWorkflowExecution({
      namespace: 'default',
      workflowId,
      workflowType: { name: 'Order' },
      taskQueue: { name: 'orders' },
      requestId: workflowId,
      completionCallbacks: [{ nexus: { url: target.url(`/${workflowId}`) } }],
    });
    await workflow.getHandle(workflowId).terminate('enough');
  }
}

async function unsettled({ workflowService }: Client): Promise<readonly string[]> {
  const all = await Promise.all(
    Array.from({ length: workflows }, async (_, nth) => {
      const execution = { workflowId: `order-${nth}` };
      const { callbacks } = await workflowService.describeWorkflowExecution({ namespace: 'default', execution });
      return callbacks.length === 1 && callbacks[0]?.state === succeeded ? [] : [`order-${nth}: ${callbacks[0]?.state}`];
    }),
  );
  return all.flat();
}
