/**
 * Topics that are deleted by hand, on a real broker: those of a cluster beside the dead letters that it had, and those of dead letters beside the
 * cluster. No letter is taken for another, and whatever names letters of before does nothing to those of now.
 */
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workflowTasksFail } from '../cli/commands-over-letters.ts';
import { perdureAt } from '../cli/perdure-process.ts';
import { canStartLocalKafka, startLocalKafka } from '../kafka/broker.ts';
import type { LocalBroker } from '../kafka/local-broker.ts';
import { kafkaServer, withFolder } from '../support/servers.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { deleteTopic, kafkaClient, withAdmin } from './kafka-admin.ts';

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
      expect(await countAt(faulty), 'what was there stays').toBe(letters);
      await makeLetters(faulty, 'after', letters, 2 * letters);
      expect(faulty.output).toContain('a dead letter queue was there before this cluster');
      await faulty.stop();
      // So many take their time, and their ids have told already.
      if (letters > 100) return;
      await mended.start();
      const merged = await perdureAt(mended.address, `${queue} merge --category transfer --rps 0 --reason mended`);
      expect([merged.code, merged.out]).toEqual([0, expect.stringContaining(`merged ${2 * letters}`)]);
      expect((await tasksAt(mended, letters)).size).toBe(letters);
    }),
  );

  test('of dead letters alone: a plan of before is refused, and touches no letter that has its ids now', () =>
    withServers('anew', async ({ faulty, mended }) => {
      await faulty.start();
      await makeLetters(faulty, 'test', 10, 10);
      const dryRun = await perdureAt(faulty.address, `${queue} plan purge --category transfer -o json`);
      const [planId] = (JSON.parse(dryRun.out) as { readonly planIds: readonly string[] }).planIds;
      await faulty.kill9();
      await deleteTopics(broker, (topic) => topic === 'dlq.anew.transfer.active');
      await faulty.start();
      await makeLetters(faulty, 'precious', 10, 10);
      const applied = await perdureAt(faulty.address, `${queue} apply ${planId}`);
      expect(applied.code).not.toBe(0);
      expect(applied.err).toContain('began anew');
      expect(await countAt(faulty)).toBe(10);
      await faulty.stop();
      await mended.start();
      const merged = await perdureAt(mended.address, `${queue} merge --category transfer --rps 0 --reason mended`);
      expect(merged.out).toContain('merged 10');
      expect(await tasksAt(mended, 10)).toEqual(new Set(Array.from({ length: 10 }, (_, nth) => `precious-${nth}`)));
    }));
});

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
  const isThere = async (): Promise<boolean> => {
    const { code, err } = await perdureAt(server.address, `namespace register ${namespace}`);
    return code === 0 || err.includes('already');
  };
  await expect.poll(isThere, patience).toBe(true);
  const connection = await Connection.connect({ address: server.address });
  try {
    const common = { namespace, workflowType: { name: 'Order' }, taskQueue };
    for (let first = 0; first < count; first += 100) {
      const ids = Array.from({ length: Math.min(100, count - first) }, (_, nth) => `${name}-${first + nth}`);
      await Promise.all(
        ids.map((workflowId) => connection.workflowService.startWorkflowExecution({ ...common, workflowId, requestId: workflowId })),
      );
    }
  } finally {
    await connection.close();
  }
  await expect.poll(() => countAt(server), patience).toBe(expected);
}

/** Of which workflows so many polls get a workflow task. */
async function tasksAt({ address }: ServerProcess, polls: number): Promise<ReadonlySet<string>> {
  const connection = await Connection.connect({ address });
  try {
    const poll = () => connection.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue, identity: 'test' });
    const tasks = await connection.withDeadline(Date.now() + 30_000, () => Promise.all(Array.from({ length: polls }, poll)));
    return new Set(tasks.map(({ workflowExecution }) => workflowExecution?.workflowId ?? ''));
  } finally {
    await connection.close();
  }
}
