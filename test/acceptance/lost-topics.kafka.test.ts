/**
 * What people do to topics while the server is stopped, and what its next start says. Workflows that are gone are never answered with an
 * empty cluster, and a start that is refused has claimed nothing: a server that runs on the prefix goes on.
 */
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { describe, expect, inject, test } from 'vitest';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { deleteTopic, kafkaClient, topicLength, withAdmin } from './kafka-admin.ts';
import { obeyAll, refusedStart, startsAndStops, whileServing, type StartSettings } from './kafka-start.ts';
import type { Admin } from 'kafkajs';

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('topics that people deleted or changed', kafka.missing);
else lostTopics(kafka.brokers);

async function startWorkflow(address: string): Promise<string> {
  return await withClient(address, async (client) => {
    const { firstExecutionRunId } = await client.workflow.start('nobody-runs-it', { taskQueue: 'nobody', workflowId: 'kept' });
    return firstExecutionRunId;
  });
}

async function runIdOf(address: string): Promise<string> {
  return await withClient(address, async (client) => (await client.workflow.getHandle('kept').describe()).runId);
}

async function withClient<T>(address: string, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

function lostTopics(brokers: readonly string[]): void {
  const client = kafkaClient(brokers);
  const fresh = (): StartSettings => ({ brokers, prefix: `lost-${randomUUID()}` });
  const inAdmin = <T>(use: (admin: Admin) => Promise<T>): Promise<T> => withAdmin(client, use);

  async function createEmpty(admin: Admin, topic: string, numPartitions: number): Promise<void> {
    const settings = { 'retention.ms': '-1', 'max.message.bytes': '8388608', 'message.timestamp.after.max.ms': '9223372036854775807' };
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    await admin.createTopics({ topics: [{ topic, numPartitions, replicationFactor: 1, configEntries }], waitForLeaders: false });
    await expect.poll(() => topicLength(admin, topic).catch(() => -1), { timeout: 60_000 }).toBe(0);
  }

  describe('after the first start', () => {
    test.each([
      ['history', 'workflow histories', ['matching', 'cluster']],
      ['cluster', 'namespaces and search attributes', ['history', 'matching']],
    ] as const)('a deleted .%s is not created again; the printed commands start afresh', async (lost, what, others) => {
      const settings = fresh();
      const { prefix } = settings;
      await startsAndStops(settings);
      await inAdmin(async (admin) => {
        await deleteTopic(admin, `${prefix}.${lost}`);
        const output = await refusedStart(settings);
        expect(output).toContain(
          `${prefix}.${lost} is missing, but ${others.map((name) => `${prefix}.${name}`).join(' and ')} hold records`,
        );
        expect(output).toContain(what);
        expect(await admin.listTopics()).not.toContain(`${prefix}.${lost}`);
        await obeyAll(admin, output, 2);
      });
      await startsAndStops(settings);
    });

    test.each([
      ['history', 4, /history\/0, .*history\/3 are empty, though the cluster "active" has served from there/],
      ['matching', 16, /matching\/0, .*matching\/15 are empty, though the cluster "active" has served from there/],
    ] as const)('.%s deleted and created again by hand is distinguished from a young cluster', async (lost, partitions, words) => {
      const settings = fresh();
      await startsAndStops(settings);
      await inAdmin(async (admin) => {
        await deleteTopic(admin, `${settings.prefix}.${lost}`);
        await createEmpty(admin, `${settings.prefix}.${lost}`, partitions);
        expect(await refusedStart(settings)).toMatch(words);
        expect(await topicLength(admin, `${settings.prefix}.${lost}`), 'nothing was claimed').toBe(0);
      });
    });

    test('.cluster created again by hand beside a history with workflows', async () => {
      const settings = fresh();
      await whileServing(settings, ({ address }) => startWorkflow(address));
      await inAdmin(async (admin) => {
        await deleteTopic(admin, `${settings.prefix}.cluster`);
        await createEmpty(admin, `${settings.prefix}.cluster`, 1);
        const output = await refusedStart(settings);
        expect(output).toMatch(
          /\.history\/\d holds records \(WorkflowExecutionStarted at offset 1\), but \S+\.cluster knows of no cluster/,
        );
        expect(await topicLength(admin, `${settings.prefix}.cluster`), 'nothing was claimed').toBe(0);
      });
    });
  });

  test('a first start that was interrupted between two topics is completed', async () => {
    const settings = fresh();
    await inAdmin((admin) => createEmpty(admin, `${settings.prefix}.history`, 4));
    await startsAndStops(settings);
    await startsAndStops(settings);
  });

  test('a partition added to .history is ignored, and no advice about it harms the server that runs', async () => {
    const settings = fresh();
    const topic = `${settings.prefix}.history`;
    const runId = await whileServing(settings, async (server) => {
      const started = await startWorkflow(server.address);
      await inAdmin(async (admin) => {
        await admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] });
        // A second later its shard notes that matching has the task which no worker takes.
        const whenIdle = 4 + 2;
        await expect.poll(() => topicLength(admin, topic), { timeout: 60_000 }).toBeGreaterThanOrEqual(whenIdle);
        const before = await topicLength(admin, topic);
        expect(await refusedStart({ ...settings, shards: 5 })).toContain('was made with 4 history shards');
        expect(await refusedStart({ ...settings, clusterName: 'another' })).toContain('is called "active"');
        expect(await topicLength(admin, topic), 'nothing was claimed').toBe(before);
      });
      expect(await runIdOf(server.address)).toBe(started);
      return started;
    });
    await whileServing(settings, async (server) => {
      expect(await runIdOf(server.address)).toBe(runId);
      expect(server.output).toMatch(/"level":"warn","msg":"partitions that were added to a topic are ignored[^}]*"found":5,"served":4/);
    });
  });
}
