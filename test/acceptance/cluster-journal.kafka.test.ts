/**
 * Namespaces are changed over and over, and the server is killed with -9 again and again: the journal of the cluster begins later each time, and
 * what was acknowledged is there, in a file and on Kafka.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { expect, inject, test } from 'vitest';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { Prng } from '../simulation/prng.ts';
import { healthPageOf } from '../support/health-page.ts';
import { seed } from '../support/seed.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer, kafkaServer, withFolder } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';
import { kafkaClient, withAdmin } from './kafka-admin.ts';

const kills = 3;
const names = ['orders', 'stock', 'billing', 'returns'];
/** Of all together: several times what is cut at once. */
const updatesOfEach = 200;

type Bounds = { readonly start: number; readonly end: number };

test(`in a file (seed ${seed})`, () =>
  withFolder(async (folder) => {
    const database = join(folder, 'perdure.db');
    const server = await embeddedServer(database);
    await killedWhileChanged(server);
    await server.stop();
    const { start, end } = boundsIn(database);
    expect(start, 'the journal was never cut').toBeGreaterThan(0);
    expect(end).toBeGreaterThan(names.length * updatesOfEach);
    expect(end - start).toBeLessThan(400);
  }));

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('the journal of the cluster on Kafka', kafka.missing);
else {
  const { brokers } = kafka;
  test(`on Kafka (seed ${seed})`, () =>
    withFolder(async (folder) => {
      const topicPrefix = `cluster-${randomUUID()}`;
      const server = await kafkaServer(folder, { brokers, topicPrefix });
      await killedWhileChanged(server);
      const [, { concerns = [] }] = await healthPageOf(server.address);
      expect(concerns).toEqual([]);
      await server.stop();
      const { start, end } = await withAdmin(kafkaClient(brokers), async (admin) => {
        const [offsets] = await admin.fetchTopicOffsets(`${topicPrefix}.cluster`);
        return { start: Number(offsets?.low), end: Number(offsets?.high) };
      });
      expect(start, 'the topic was never cut').toBeGreaterThan(0);
      expect(end - start).toBeLessThan(400);
    }));
}

async function killedWhileChanged(server: ServerProcess): Promise<void> {
  const prng = new Prng(seed);
  const sent = new Map<string, number>();
  const acknowledged = new Map<string, number>();
  await server.start();
  await withClient(server.address, async ({ workflowService, connection }) => {
    for (const namespace of names) {
      await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 as never } });
      await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: { [`Of${namespace}`]: 2 } });
    }
    await connection.operatorService.deleteNamespace({ namespace: 'returns' });
    await workflowService.registerNamespace({ namespace: 'returns', workflowExecutionRetentionPeriod: { seconds: 86_400 as never } });
  });
  for (let kill = 1; kill <= kills + 1; kill++) {
    const upTo = Math.floor((updatesOfEach * kill) / (kills + 1));
    const changes = withClient(server.address, async (client) => {
      // Those whose server is gone for too long end, and go on in the next round.
      await Promise.allSettled(names.map((namespace) => change(client, namespace, upTo, sent, acknowledged)));
    });
    if (kill <= kills) {
      // Somewhere in the middle, or when nothing goes on but the cut.
      await Promise.race([changes, delay(prng.int(300, 2_500))]);
      await server.kill9();
      await server.start();
    }
    await changes;
    await withClient(server.address, async ({ workflowService, connection }) => {
      for (const namespace of names) {
        const { namespaceInfo } = await workflowService.describeNamespace({ namespace });
        const shown = Number.parseInt(namespaceInfo?.description || '0', 10);
        expect(shown, `${namespace} after kill ${kill}`).toBeGreaterThanOrEqual(acknowledged.get(namespace) ?? 0);
        expect(shown).toBeLessThanOrEqual(sent.get(namespace) ?? 0);
        const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
        expect(Object.keys(customAttributes).includes(`Of${namespace}`)).toBe(namespace !== 'returns');
      }
    });
  }
  expect(names.map((namespace) => acknowledged.get(namespace))).toEqual(names.map(() => updatesOfEach));
}

/** Each says which it is. One whose answer is lost is sent again by the next round. */
async function change(
  { workflowService }: Client,
  namespace: string,
  upTo: number,
  sent: Map<string, number>,
  acknowledged: Map<string, number>,
): Promise<void> {
  for (let number = (acknowledged.get(namespace) ?? 0) + 1; number <= upTo; number++) {
    sent.set(namespace, Math.max(number, sent.get(namespace) ?? 0));
    await workflowService.updateNamespace({ namespace, updateInfo: { description: `${number} `.padEnd(50_000, 'd') } });
    acknowledged.set(namespace, number);
  }
}

function boundsIn(database: string): Bounds {
  const db = new DatabaseSync(database, { readOnly: true });
  try {
    const { id, start } = db.prepare("SELECT id, start FROM partitions WHERE topic LIKE '%.cluster'").get() ?? {};
    const last = db.prepare(`SELECT base + count AS "end" FROM journal_${Number(id)} ORDER BY base DESC LIMIT 1`).get();
    return { start: Number(start), end: Number(last?.['end']) };
  } finally {
    db.close();
  }
}
