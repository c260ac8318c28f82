/**
 * A server whose journals are on Kafka and whose state is in PostgreSQL: it goes on from there when it was killed, topics are trimmed behind its
 * checkpoints, a PostgreSQL that is away is waited for, and one that will never do is refused.
 */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { Child } from '../cli/child.ts';
import { workflowTasksFail } from '../cli/commands-over-letters.ts';
import { perdureAt, registerNamespace } from '../cli/perdure-process.ts';
import { canStartPostgres, startPostgres } from '../postgres/postgres.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { healthPageOf } from '../support/health-page.ts';
import { idsOf, rowsOf } from '../support/listed-workflows.ts';
import { kafkaServer, withFolder, type KafkaServerSettings } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';
import { oneGoesOn } from './one-of-two.ts';
import { deleteTopic, kafkaClient, setTopic, withAdmin } from './kafka-admin.ts';
import type { ServerProcess } from '../support/server-process.ts';
import type { LocalPostgres } from '../postgres/local-postgres.ts';

const kafka = inject('kafka');
const missing = 'missing' in kafka ? kafka.missing : await canStartPostgres();
if ('missing' in kafka || missing !== undefined) skipAloud('Kafka with PostgreSQL', missing ?? '');
else onKafkaAndPostgres(kafka.brokers);

const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));
const workflows = 40;
const wait = { timeout: 60_000, interval: 100 };

function onKafkaAndPostgres(brokers: readonly string[]): void {
  describe('Kafka with PostgreSQL', () => {
    let postgres: LocalPostgres;
    beforeAll(async () => {
      postgres = await startPostgres();
    });
    afterAll(() => postgres?.stop());

    const settings = (topicPrefix: string, more: Partial<KafkaServerSettings> = {}, database = 'postgres'): KafkaServerSettings => ({
      brokers,
      topicPrefix,
      perdure: [`postgres: { url: "postgres://perdure@127.0.0.1:${postgres.port}/${database}" }`, 'journalRetention: 0s'],
      ...more,
    });

    test('of two that start at the same moment one goes on, and the other exits with 3', async () => {
      await withFolder(async (folder) => {
        const settingsOfBoth = settings(`both-${randomUUID()}`);
        await oneGoesOn([await kafkaServer(folder, settingsOfBoth), await kafkaServer(folder, settingsOfBoth)], [0, 0, 300]);
      });
    });

    test('a server that is killed goes on from its checkpoints, and the topics that it trims are whole', async () => {
      const prefix = `state-${randomUUID()}`;
      const client = kafkaClient(brokers);
      await withFolder(async (folder) => {
        const server = await kafkaServer(folder, settings(prefix, { hidden: { topicWatchIntervalMs: 300 } }));
        try {
          await server.start();
          const before = await withClient(server.address, async ({ workflow }) => {
            const ids = Array.from({ length: workflows }, (_, nth) => `wf-${nth}`);
            const handles = await Promise.all(ids.map((workflowId) => workflow.start('Order', { workflowId, taskQueue: 'q' })));
            await Promise.all(handles.map((handle, nth) => (nth % 2 === 0 ? handle.terminate() : handle.signal('paid'))));
          }).then(() => withClient(server.address, rowsOf));
          const written = `SELECT count(*)::int AS runs FROM "${prefix}".runs WHERE status = 5`;
          await expect.poll(async () => (await postgres.run(written))[0]?.['runs'], wait).toBe(workflows / 2);
          await server.kill9();
          await server.start();
          expect(await withClient(server.address, rowsOf)).toEqual(before);
          await withClient(server.address, async ({ workflow }) => {
            await workflow.getHandle('wf-1').signal('paid');
            const { events } = await workflow.getHandle('wf-1').fetchHistory();
            expect(events?.map(({ eventId }) => Number(eventId))).toEqual([1, 2, 3, 4]);
          });
          await withAdmin(client, async (admin) => {
            const trimmed = async (): Promise<number> => {
              const offsets = await admin.fetchTopicOffsets(`${prefix}.history`);
              return offsets.reduce((sum, { low }) => sum + Number(low), 0);
            };
            await expect.poll(trimmed, wait).toBeGreaterThan(workflows);
            // A look that sees this has seen the beginnings, too.
            await setTopic(admin, `${prefix}.matching`, new Map([['retention.bytes', '1000000']]));
          });
          await expect.poll(async () => (await healthPageOf(server.address))[1].concerns?.length, wait).toBe(1);
          const [status, page] = await healthPageOf(server.address);
          expect([status, page.concerns?.[0]?.severity]).toEqual([200, 'warning']);
        } finally {
          await server.stop();
        }
      });
    });

    test('a cluster that ran without PostgreSQL is given one: its journals are checkpointed and trimmed, and then need it', async () => {
      const prefix = `older-${randomUUID()}`;
      await withFolder(async (folder) => {
        const without = await kafkaServer(folder, { brokers, topicPrefix: prefix });
        await without.start();
        const before = await withClient(without.address, async (client) => {
          const ids = Array.from({ length: workflows }, (_, nth) => `wf-${nth}`);
          const handles = await Promise.all(ids.map((workflowId) => client.workflow.start('Order', { workflowId, taskQueue: 'q' })));
          await Promise.all(handles.map((handle, nth) => (nth % 2 === 0 ? handle.terminate() : handle.signal('paid'))));
          return await rowsOf(client);
        });
        expect(before).toHaveLength(workflows);
        await without.kill9();

        const server = await kafkaServer(folder, settings(prefix));
        try {
          await server.start();
          expect(await withClient(server.address, rowsOf)).toEqual(before);
          const written = `SELECT count(*)::int AS runs FROM "${prefix}".runs`;
          await expect.poll(async () => (await postgres.run(written))[0]?.['runs'], wait).toBe(workflows);
          await withAdmin(kafkaClient(brokers), async (admin) => {
            const start = async (): Promise<number> => {
              const offsets = await admin.fetchTopicOffsets(`${prefix}.history`);
              return offsets.reduce((sum, { low }) => sum + Number(low), 0);
            };
            await expect.poll(start, wait).toBeGreaterThan(workflows);
          });
          await server.kill9();
          await server.start();
          await withClient(server.address, async (client) => {
            expect(await rowsOf(client)).toEqual(before);
            await client.workflow.getHandle('wf-1').signal('paid');
            const { events } = await client.workflow.getHandle('wf-1').fetchHistory();
            expect(events?.map(({ eventId }) => Number(eventId))).toEqual([1, 2, 3, 4]);
          });
        } finally {
          await server.stop();
        }
        try {
          await without.start();
          await expect.poll(async () => (await healthPageOf(without.address))[0], wait).toBe(503);
          const [, { partitions }] = await healthPageOf(without.address);
          const reason = 'the database that has them must be named again (perdure.postgres)';
          expect(partitions?.[0]).toMatchObject({ state: 'failed', reason: expect.stringContaining(reason) });
        } finally {
          await without.stop();
        }
      });
    });

    test('PostgreSQL is away at a start: health says so, and its workflows are served once it is back', async () => {
      const prefix = `away-${randomUUID()}`;
      await withFolder(async (folder) => {
        const server = await kafkaServer(folder, settings(prefix, { maxJoinDuration: '10s' }));
        try {
          await server.start();
          await withClient(server.address, ({ workflow }) => workflow.start('Order', { workflowId: 'wf', taskQueue: 'q' }));
          await server.stop();
          await postgres.shutDown();
          await server.start();
          await expect.poll(async () => (await healthPageOf(server.address))[1].partitionsNotServed, wait).toBeGreaterThanOrEqual(4);
          const [status, { partitions }] = await healthPageOf(server.address);
          expect(status).toBe(503);
          expect(partitions?.[0]).toMatchObject({
            state: 'restoring',
            reason: expect.stringContaining(`postgres 127.0.0.1:${postgres.port}`),
          });
          await postgres.restart();
          await expect.poll(async () => (await healthPageOf(server.address))[0], wait).toBe(200);
          expect(await withClient(server.address, (client) => idsOf(client, ''))).toEqual(['wf']);
        } finally {
          await server.stop();
        }
      });
    });

    describe('dead letters', () => {
      const letters = 'admin queue dlq';
      const faulty = { hidden: { devFaults: [workflowTasksFail] } };

      async function makeLetters(server: ServerProcess, from: number, count: number): Promise<void> {
        const ids = Array.from({ length: count }, (_, nth) => `order-${from + nth}`);
        await withClient(
          server.address,
          async ({ workflow }) => {
            for (const workflowId of ids) await workflow.start('Order', { workflowId, taskQueue: 'orders' });
          },
          workflowTasksFail.namespace,
        );
        await expect.poll(() => outOf(server, `${letters} count --category transfer`), wait).toBe(`${from + count}\n`);
      }

      const outOf = async ({ address }: ServerProcess, line: string): Promise<string> => (await perdureAt(address, line)).out;

      test('come while PostgreSQL is away; who looks at them is informed, nothing is changed blindly, and then all are there', async () => {
        await withFolder(async (folder) => {
          const server = await kafkaServer(folder, settings(`letters-${randomUUID()}`, faulty));
          try {
            await server.start();
            await registerNamespace(server.address, workflowTasksFail.namespace);
            await makeLetters(server, 0, 3);
            await postgres.shutDown();
            await makeLetters(server, 3, 20);
            const looked = await perdureAt(server.address, `${letters} read --category transfer`);
            expect([looked.code, looked.err]).toEqual([4, expect.stringContaining('does not serve this right now')]);
            const purged = await perdureAt(server.address, `${letters} purge --category transfer`);
            expect([purged.code, purged.out]).toEqual([4, '']);
            expect(await outOf(server, `${letters} count --category transfer`)).toBe('23\n');
            await postgres.restart();
            const read = async (): Promise<number> => {
              const { code, out } = await perdureAt(server.address, `${letters} read --category transfer`);
              return code === 0 ? (JSON.parse(out) as readonly object[]).length : -1;
            };
            await expect.poll(read, wait).toBe(23);
            expect(await outOf(server, `${letters} groups --category transfer --by disposition -o json`)).toContain('"count":23');
            await server.kill9();
            await server.start();
            await expect.poll(() => outOf(server, `${letters} count --category transfer`), wait).toBe('23\n');
            expect(await outOf(server, `${letters} purge --category transfer`)).toBe('purged 23\n');
          } finally {
            await server.stop();
          }
        });
      });

      test('whose topic is deleted while their rows stand are reported, and the repair that health names lets the queue continue', async () => {
        const prefix = `lost-${randomUUID()}`;
        await withFolder(async (folder) => {
          const server = await kafkaServer(folder, settings(prefix, faulty));
          try {
            await server.start();
            await registerNamespace(server.address, workflowTasksFail.namespace);
            await makeLetters(server, 0, 3);
            await server.stop();
            await withAdmin(kafkaClient(brokers), (admin) => deleteTopic(admin, `dlq.${prefix}.transfer.active`));
            await server.start();
            const concern = async () => (await healthPageOf(server.address))[1].concerns?.find(({ subject }) => subject.startsWith('dlq.'));
            await expect.poll(async () => (await concern())?.repair, wait).toContain('DELETE FROM dead_letters');
            const { repair = '' } = (await concern()) ?? {};
            expect((await perdureAt(server.address, `${letters} count --category transfer`)).code).toBe(4);
            await server.stop();
            // They came at the same time, so in any order.
            const lost = `SELECT convert_from(workflow_id, 'UTF8') AS workflow_id FROM "${prefix}".dead_letters ORDER BY 1`;
            expect(await postgres.run(lost)).toEqual([0, 1, 2].map((nth) => ({ workflow_id: `order-${nth}` })));
            await postgres.run(`SET search_path = "${prefix}"; ${repair}`);
            await server.start();
            await expect.poll(() => outOf(server, `${letters} count --category transfer`), wait).toBe('0\n');
            await withClient(
              server.address,
              ({ workflow }) => workflow.start('Order', { workflowId: 'next', taskQueue: 'orders' }),
              workflowTasksFail.namespace,
            );
            await expect.poll(() => outOf(server, `${letters} read --category transfer`), wait).toContain('"workflowId":"next"');
          } finally {
            await server.stop();
          }
        });
      });
    });

    test('config validate --connect tries it, and changes nothing there', async () => {
      const prefix = `tried-${randomUUID()}`;
      await withFolder(async (folder) => {
        const validate = async (database: string) => {
          const file = join(folder, 'server.yaml');
          const postgresKeys = `{host: 127.0.0.1, port: ${postgres.port}, user: perdure, database: ${database}}`;
          await writeFile(
            file,
            `perdure: {kafka: {brokers: ${JSON.stringify(brokers)}, topicPrefix: ${prefix}}, postgres: ${postgresKeys}}\n`,
          );
          const child = new Child(bin, ['config', 'validate', '--connect', file]);
          return { ...(await child.exit), out: child.out, err: child.err };
        };
        const address = `postgres 127.0.0.1:${postgres.port}`;
        expect(await validate('postgres')).toMatchObject({
          code: 0,
          err: '',
          out: expect.stringContaining(`${address}/postgres: ok, it holds no state yet\n`),
        });
        expect(await postgres.run(`SELECT 1 FROM pg_namespace WHERE nspname = '${prefix}'`)).toEqual([]);
        expect(await validate('nowhere')).toMatchObject({
          code: 1,
          err: expect.stringContaining(`${address}/nowhere has no such database`),
        });
      });
    });

    test('a database that is not there, and tables that it may not make, are refused with what to do', async () => {
      const prefix = `refused-${randomUUID()}`;
      await withFolder(async (folder) => {
        const nowhere = await kafkaServer(folder, settings(prefix, {}, 'nowhere'));
        await expect(nowhere.start()).rejects.toThrow('CREATE DATABASE \\"nowhere\\"');
        const { perdure = [] } = settings(prefix);
        const [url = '', ...others] = perdure;
        const mayNot = await kafkaServer(folder, settings(prefix, { perdure: [url.replace(' }', ', migrate: false }'), ...others] }));
        await expect(mayNot.start()).rejects.toThrow(`CREATE TABLE \\"${prefix}\\".perdure`);
        expect(await topicsOf(prefix)).toEqual([]);
      });
    });

    test('the state of another cluster is refused before a topic is made, and no table is made before Kafka lets us make topics', async () => {
      const prefix = `bound-${randomUUID()}`;
      await withFolder(async (folder) => {
        const tooMany = await kafkaServer(folder, settings(prefix, { replicationFactor: 3 }));
        await expect(tooMany.start()).rejects.toThrow('perdure.kafka.replicationFactor is 3');
        expect(await postgres.run(`SELECT 1 FROM pg_namespace WHERE nspname = '${prefix}'`)).toEqual([]);
        const server = await kafkaServer(folder, settings(prefix));
        await server.start();
        // No start waits for those of dead letters, and what Kafka was asked for comes after a stop as well.
        const late = ['dlq-jobs', 'dlq-redrive', 'audit'].map((name) => `${prefix}.${name}`);
        await expect.poll(() => topicsOf(prefix), wait).toEqual(expect.arrayContaining(late));
        await server.stop();
        await withAdmin(kafkaClient(brokers), async (admin) => {
          for (const topic of await topicsOf(prefix)) await deleteTopic(admin, topic);
        });
        const without = await kafkaServer(folder, settings(prefix));
        await expect(without.start()).rejects.toThrow(/holds the state of cluster .*, but kafka .* holds no cluster yet/);
        expect(await topicsOf(prefix)).toEqual([]);
      });
    });

    const topicsOf = (prefix: string): Promise<readonly string[]> =>
      withAdmin(kafkaClient(brokers), async (admin) => (await admin.listTopics()).filter((topic) => topic.startsWith(`${prefix}.`)));
  });
}
