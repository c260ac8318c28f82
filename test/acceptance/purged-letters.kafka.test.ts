/**
 * Dead letters whose merge could not say what came of it, on a real broker that refuses what matching writes: what is reported as purged is never
 * executed, what may be executed stays and is reported as that, and so many of them hold up no other namespace. Killed with -9 in between.
 */
import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { expect, inject, test } from 'vitest';
import { workflowTasksFail } from '../cli/commands-over-letters.ts';
import { perdureAt, registerNamespace } from '../cli/perdure-process.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { kafkaServer, withFolder } from '../support/servers.ts';
import { idsOfShard } from './ids-of-shard.ts';
import { kafkaClient, setTopic, withAdmin } from './kafka-admin.ts';

const patience = { timeout: 90_000, interval: 200 };
const { namespace } = workflowTasksFail;
const other = 'beside';
const taskQueue = { name: 'nobody' };
const inUse = 8_388_608;
const tooSmall = 60;

type Counts = {
  readonly selected: number;
  readonly merged: number;
  readonly purged: number;
  readonly failed: number;
  readonly skipped: number;
  readonly skips: readonly { readonly reason: string }[];
};
type Beside = {
  readonly faulty: ServerProcess;
  readonly mended: ServerProcess;
  readonly ofMatching: (maxMessageBytes: number) => Promise<void>;
};

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('purges of letters that may be executed', kafka.missing);
else {
  const { brokers } = kafka;

  async function withServers(use: (beside: Beside) => Promise<void>): Promise<void> {
    await withFolder(async (folder) => {
      const topicPrefix = `purged-${randomUUID()}`;
      const settings = { brokers, topicPrefix, logLevel: 'error' } as const;
      // Of either namespace.
      const faults = [workflowTasksFail, { ...workflowTasksFail, namespace: other }];
      const faulty = await kafkaServer(folder, { ...settings, hidden: { devFaults: faults } });
      const mended = await kafkaServer(folder, settings, Number(faulty.address.split(':')[1]));
      const ofMatching = (bytes: number): Promise<void> =>
        withAdmin(kafkaClient(brokers), (admin) =>
          setTopic(admin, `${topicPrefix}.matching`, new Map([['max.message.bytes', String(bytes)]])),
        );
      try {
        await faulty.start();
        for (const name of [namespace, other]) await registerNamespace(faulty.address, name);
        await use({ faulty, mended, ofMatching });
      } finally {
        for (const server of [faulty, mended]) await server.stop();
      }
    });
  }

  test.each([
    { isKilled: false, how: 'goes on' },
    { isKilled: true, how: 'is killed in between' },
  ])('what was purged is never executed, and what may be stays, while the server $how', { timeout: 240_000 }, ({ isKilled }) =>
    withServers(async ({ faulty, mended, ofMatching }) => {
      const tried = 36;
      const letters = Array.from({ length: tried + 4 }, (_, nth) => `order-${nth}`);
      await start(faulty, namespace, letters);
      await expect.poll(() => countAt(faulty), patience).toBe(letters.length);
      await faulty.stop();
      await mended.start();
      await ofMatching(tooSmall);
      const merge = `merge --max-message-id ${tried - 1} --task-timeout 2s --rps 0 --concurrency 40 --reason try`;
      expect(await jobAt(mended, merge)).toMatchObject([3, { selected: tried, merged: 0, failed: tried }]);
      const [code, purge] = await jobAt(mended, 'purge --reason "nobody needs them"');
      expect([code, purge.purged + purge.skipped]).toEqual([3, letters.length]);
      // Nobody has asked for the last ones.
      expect(purge.purged).toBeGreaterThanOrEqual(letters.length - tried);
      expect(new Set(purge.skips.map(({ reason }) => reason.split(':')[0]))).toEqual(new Set(['being-executed']));
      const left = await workflowsAt(mended);
      expect(left).toHaveLength(purge.skipped);
      if (isKilled) await mended.kill9();
      await ofMatching(inUse);
      if (isKilled) await mended.start();

      // What comes of them is written, though nobody merges or purges them once more.
      await expect.poll(() => countAt(mended), patience).toBe(0);
      const tasks = await tasksAt(mended, namespace, left.length);
      expect([...tasks].toSorted()).toEqual([...left].toSorted());
      // Who has one of those may get it again, for nobody completes it here.
      const more = await tasksAt(mended, namespace, 4, 3_000);
      expect([...more].filter((workflowId) => !left.includes(workflowId))).toEqual([]);
    }),
  );

  test('more outcomes of one namespace than a shard keeps hold up no merge of another', { timeout: 240_000 }, () =>
    withServers(async ({ faulty, mended, ofMatching }) => {
      const [many, few] = [1_050, 20];
      await start(faulty, namespace, await idsOfShard(faulty, namespace, 'order', many));
      await start(faulty, other, await idsOfShard(faulty, other, 'beside', few));
      await expect.poll(() => countAt(faulty), patience).toBe(many + few);
      await faulty.stop();
      await mended.start();
      await ofMatching(tooSmall);
      const paceless = '--rps 0 --concurrency 64 --reason try';
      expect(await jobAt(mended, `merge --namespace ${namespace} --task-timeout 1s ${paceless}`)).toMatchObject([3, { failed: many }]);
      await ofMatching(inUse);
      const merged = { merged: few, failed: 0, skipped: 0 };
      expect(await jobAt(mended, `merge --namespace ${other} --task-timeout 60s ${paceless}`)).toMatchObject([0, merged]);
      expect((await tasksAt(mended, other, few)).size).toBe(few);
      // All of the others for which there was room come by themselves, and the rest when it is asked for.
      await expect.poll(() => countAt(mended), patience).toBeLessThanOrEqual(many - 900);
      const [code] = await jobAt(mended, `merge --namespace ${namespace} --task-timeout 60s ${paceless}`);
      expect([code, await countAt(mended)]).toEqual([0, 0]);
    }),
  );
}

async function countAt({ address }: ServerProcess, of = ''): Promise<number> {
  const { out } = await perdureAt(address, `admin queue dlq count --category transfer ${of}`);
  return out === '' ? Number.NaN : Number(out);
}

async function jobAt({ address }: ServerProcess, words: string): Promise<readonly [number | null, Counts]> {
  const { code, out, err } = await perdureAt(address, `admin queue dlq ${words} --category transfer --yes --quiet -o json`);
  expect(err).not.toContain('perdure:');
  return [code, JSON.parse(out) as Counts];
}

async function workflowsAt({ address }: ServerProcess): Promise<readonly string[]> {
  const { out } = await perdureAt(address, 'admin queue dlq read --category transfer --limit 5000');
  return (JSON.parse(out) as readonly { readonly workflowId: string }[]).map(({ workflowId }) => workflowId);
}

async function start({ address }: ServerProcess, name: string, ids: readonly string[]): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    const common = { namespace: name, workflowType: { name: 'Order' }, taskQueue };
    for (let first = 0; first < ids.length; first += 100) {
      const some = ids.slice(first, first + 100);
      await Promise.all(
        some.map((workflowId) => connection.workflowService.startWorkflowExecution({ ...common, workflowId, requestId: workflowId })),
      );
    }
  } finally {
    await connection.close();
  }
}

/** Of which workflows so many polls get a workflow task in time. */
async function tasksAt({ address }: ServerProcess, name: string, polls: number, waitMs = 60_000): Promise<ReadonlySet<string>> {
  const connection = await Connection.connect({ address });
  try {
    const poll = () => connection.workflowService.pollWorkflowTaskQueue({ namespace: name, taskQueue, identity: 'test' });
    const answers = await connection.withDeadline(Date.now() + waitMs, () => Promise.allSettled(Array.from({ length: polls }, poll)));
    const ids = answers.map((each) => (each.status === 'fulfilled' ? (each.value.workflowExecution?.workflowId ?? '') : ''));
    return new Set(ids.filter((workflowId) => workflowId !== ''));
  } finally {
    await connection.close();
  }
}
