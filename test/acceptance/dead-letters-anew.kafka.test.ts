/**
 * Topics that are deleted by hand, on a real broker: those of a cluster beside the dead letters that it had, and those of dead letters beside the
 * cluster. No dead letter is taken for another, and whatever names dead letters of before does nothing to those of now.
 */
import { Connection } from '@temporalio/client';
import Long from 'long';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workflowTasksFail } from '../cli/commands-over-letters.ts';
import { perdureAt, registerNamespace } from '../cli/perdure-process.ts';
import { canStartLocalKafka, startLocalKafka } from '../kafka/broker.ts';
import type { LocalBroker } from '../kafka/local-broker.ts';
import { kafkaServer, withFolder } from '../support/servers.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { idsOfShard } from './ids-of-shard.ts';
import { deleteTopic, kafkaClient, setTopic, withAdmin } from './kafka-admin.ts';
import { polledWorkflows } from './polled-workflows.ts';

const queue = 'admin queue dlq';
const patience = { timeout: 60_000, interval: 200 };
const { namespace } = workflowTasksFail;
const taskQueue = { name: 'nobody' };

type Pair = { readonly faulty: ServerProcess; readonly mended: ServerProcess };

describe.skipIf(!(await canStartLocalKafka('topics of dead letters that are made anew')))('topics that were deleted', () => {
  let broker: LocalBroker;
  beforeAll(async () => {
    broker = await startLocalKafka();
  });
  afterAll(() => broker?.stop());

  async function withServers(topicPrefix: string, use: (servers: Pair) => Promise<void>): Promise<void> {
    await withFolder(async (folder) => {
      const settings = { brokers: broker.brokers, topicPrefix, logLevel: 'info' } as const;
      const faulty = await kafkaServer(folder, { ...settings, hidden: { devFaults: [workflowTasksFail] } });
      const mended = await kafkaServer(folder, settings, Number(faulty.address.split(':')[1]));
      try {
        await use({ faulty, mended });
      } finally {
        for (const server of [faulty, mended]) await server.stop();
      }
    });
  }

  test.each([
    { prefix: 'few', letters: 20, of: 'whose numbers the queue knew' },
    { prefix: 'many', letters: 440, of: 'whose numbers it had forgotten' },
  ])('of a cluster, but for its dead letters: $letters more of the next one, $of, are all there', ({ prefix, letters }) =>
    withServers(prefix, async ({ faulty, mended }) => {
      await faulty.start();
      await makeLetters(faulty, 'before', letters, letters);
      await faulty.stop();
      await deleteTopics(broker, (topic) => topic.startsWith(`${prefix}.`));
      await faulty.start();
      // What was there stays.
      await expect.poll(() => countAt(faulty), patience).toBe(letters);
      await makeLetters(faulty, 'after', letters, 2 * letters);
      expect(faulty.output).toContain('a dead letter queue is older than this cluster');
      await faulty.stop();
      // So many take their time, and their ids have told already.
      if (letters > 100) return;
      await mended.start();
      const merged = await perdureAt(mended.address, `${queue} merge --category transfer --rps 0 --reason mended`);
      expect([merged.code, merged.out]).toEqual([0, expect.stringContaining(`merged ${2 * letters}`)]);
      expect((await polledWorkflows(mended.address, { namespace, taskQueue, polls: letters })).size).toBe(letters);
    }),
  );

  test('of dead letters alone, while a merge cannot write its outcomes: nothing of before touches a dead letter that has its id now', () =>
    withServers('anew', async ({ faulty, mended }) => {
      const count = 10;
      const topic = 'dlq.anew.transfer.active';
      await faulty.start();
      await registerNamespace(faulty.address, namespace);
      // In one shard, where each letter meets what the shard knows of the one that had its id before.
      const test = await idsOfShard(faulty, namespace, 'test', count);
      const precious = await idsOfShard(faulty, namespace, 'precious', count);
      await startAll(faulty, test);
      await expect.poll(() => countAt(faulty), patience).toBe(count);
      const { planIds } = (await json(faulty, 'plan purge --category transfer')) as { readonly planIds: readonly string[] };
      await faulty.stop();
      await mended.start();
      await expect.poll(() => countAt(mended), patience).toBe(count);
      await withAdmin(kafkaClient(broker.brokers), (admin) => setTopic(admin, topic, new Map([['max.message.bytes', '60']])));
      const merge = `merge --category transfer --rps 0 --concurrency ${count} --reason try --no-wait`;
      const { jobIds } = (await json(mended, merge)) as { readonly jobIds: readonly string[] };
      expect((await polledWorkflows(mended.address, { namespace, taskQueue, polls: count })).size).toBe(count);
      expect(await json(mended, `job describe ${jobIds[0]}`)).toMatchObject({ state: 'running', counts: { merged: 0 } });
      await mended.kill9();
      // They wait in their shard, and are the first that the topic gets.
      await faulty.start();
      await startAll(faulty, precious);
      await faulty.kill9();
      await deleteTopics(broker, (name) => name === topic);

      await faulty.start();
      await expect.poll(() => countAt(faulty), patience).toBe(count);
      const job = (): Promise<unknown> => json(faulty, `job describe ${jobIds[0]}`);
      await expect.poll(job, patience).toMatchObject({ state: 'failed', counts: { merged: 0 } });
      expect((await perdureAt(faulty.address, `${queue} apply ${planIds[0]}`)).err).toContain('has started again since');
      const untouched = precious.map((workflowId) => ({ workflowId, generation: 0 }));
      const letters = (await json(faulty, 'read --category transfer')) as readonly { readonly workflowId: string }[];
      expect(letters.toSorted((one, other) => precious.indexOf(one.workflowId) - precious.indexOf(other.workflowId))).toMatchObject(
        untouched,
      );
      await faulty.stop();
      await mended.start();
      const merged = await perdureAt(mended.address, `${queue} merge --category transfer --rps 0 --reason mended`);
      expect([merged.code, merged.out]).toEqual([0, `merged ${count}, failed 0, skipped 0\n`]);
      expect(await polledWorkflows(mended.address, { namespace, taskQueue, polls: count })).toEqual(new Set(precious));
    }));
});

async function json({ address }: ServerProcess, words: string): Promise<unknown> {
  const { code, out } = await perdureAt(address, `${queue} ${words} -o json`);
  return code === 0 ? (JSON.parse(out) as unknown) : undefined;
}

async function deleteTopics({ brokers }: LocalBroker, are: (topic: string) => boolean): Promise<void> {
  await withAdmin(kafkaClient(brokers), async (admin) => {
    for (const topic of (await admin.listTopics()).filter(are)) await deleteTopic(admin, topic);
  });
}

async function countAt({ address }: ServerProcess): Promise<number> {
  const { out } = await perdureAt(address, `${queue} count --category transfer`);
  return out === '' ? Number.NaN : Number(out);
}

/** Until the queue has that many. */
async function makeLetters(server: ServerProcess, name: string, count: number, expected: number): Promise<void> {
  await registerNamespace(server.address, namespace);
  const workflowIds = Array.from({ length: count }, (_, nth) => `${name}-${nth}`);
  for (let first = 0; first < count; first += 100) await startAll(server, workflowIds.slice(first, first + 100));
  await expect.poll(() => countAt(server), patience).toBe(expected);
}

async function startAll({ address }: ServerProcess, workflowIds: readonly string[]): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    const { workflowService: service } = connection;
    // Nobody completes these tasks: one that is timed out would be another letter.
    const taskTimeout = { seconds: Long.fromNumber(120) };
    const common = { namespace, workflowType: { name: 'Order' }, taskQueue, workflowTaskTimeout: taskTimeout };
    await Promise.all(workflowIds.map((workflowId) => service.startWorkflowExecution({ ...common, workflowId, requestId: workflowId })));
  } finally {
    await connection.close();
  }
}
