/**
 * Somebody deletes records of the topics of dead letters and of the audit, beside a server and between two: dead letters whose records are gone are
 * damaged, all others are read, purged and merged, and the server is healthy. Where rows of them are in PostgreSQL they are known after a restart,
 * too.
 */
import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { afterAll, expect, inject, test } from 'vitest';
import { workflowTasksFail } from '../cli/commands-over-letters.ts';
import { perdureAt, registerNamespace } from '../cli/perdure-process.ts';
import { canStartPostgres, startPostgres } from '../postgres/postgres.ts';
import type { LocalPostgres } from '../postgres/local-postgres.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { healthPageOf } from '../support/health-page.ts';
import { kafkaServer, withFolder } from '../support/servers.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { consumeAll, deleteRecordsBefore, kafkaClient, withAdmin } from './kafka-admin.ts';

const kafka = inject('kafka');
const patience = { timeout: 60_000, interval: 100 };
const letters = 12;
const { namespace } = workflowTasksFail;

if ('missing' in kafka) skipAloud('records of dead letters that somebody deletes', kafka.missing);
else {
  const { brokers } = kafka;
  let postgres: LocalPostgres | undefined;
  afterAll(() => postgres?.stop());
  const noPostgres = await canStartPostgres();
  if (noPostgres !== undefined) skipAloud('records of dead letters that somebody deletes, with PostgreSQL', noPostgres);

  test.each([
    { beside: 'no database', keepsRows: false },
    ...(noPostgres === undefined ? [{ beside: 'PostgreSQL', keepsRows: true }] : []),
  ])('records of dead letters that somebody deletes, with $beside', { timeout: 240_000 }, ({ keepsRows }) =>
    withFolder(async (folder) => {
      if (keepsRows) postgres = await startPostgres();
      const prefix = `lost-${randomUUID()}`;
      const topic = `dlq.${prefix}.transfer.active`;
      const client = kafkaClient(brokers);
      const url = `postgres://perdure@127.0.0.1:${postgres?.port}/postgres`;
      const perdure = keepsRows ? [`postgres: { url: "${url}" }`] : [];
      const settings = { brokers, topicPrefix: prefix, logLevel: 'error', perdure } as const;
      const faulty = await kafkaServer(folder, { ...settings, hidden: { devFaults: [workflowTasksFail] } });
      const mended = await kafkaServer(folder, settings, Number(faulty.address.split(':')[1]));
      const queue = (words: string) => perdureAt(faulty.address, `admin queue dlq ${words}`);
      const damages = async (): Promise<readonly string[]> => {
        const { out } = await queue('read --category transfer --payload -o jsonl');
        const read = out
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { readonly messageId: number; readonly damage?: string });
        return read.map(({ messageId, damage = '' }) => `${messageId} ${damage}`.trim());
      };
      const whole = (from: number): readonly string[] => Array.from({ length: letters - from }, (_, nth) => String(from + nth));
      const isHealthy = (): Promise<void> =>
        expect.poll(async () => (await healthPageOf(faulty.address))[1].status, patience).toBe('SERVING');
      try {
        await faulty.start();
        await registerNamespace(faulty.address, namespace);
        await makeLetters(faulty);
        await expect.poll(async () => (await queue('count --category transfer')).out, patience).toBe(`${letters}\n`);

        const fourth = (await consumeAll(client, topic)).find(({ message: { key } }) => String(key) === '3')?.message.offset ?? '';
        await withAdmin(client, (admin) => deleteRecordsBefore(admin, topic, [0], fourth));
        expect(await damages()).toEqual(['0 its record is gone', '1 its record is gone', '2 its record is gone', ...whole(3)]);
        expect(await queue('show --category transfer --message-id 1')).toMatchObject({
          code: 0,
          out: expect.stringContaining('its record is gone'),
        });
        const purge = 'purge --category transfer --reason gone';
        expect(await queue(`${purge} --message-id 0`)).toMatchObject({ code: 0, out: 'purged 1\n' });
        expect(await queue(`${purge} --max-message-id 1`)).toMatchObject({ code: 0, out: 'purged 1\n' });
        // Its faults are there still: one is tried, and fails; the damaged one is named.
        const merged = await queue('merge --category transfer --max-message-id 3 --reason try');
        expect(merged.code).toBe(3);
        expect(merged.out + merged.err).toMatch(/failed 1, skipped 1/);
        expect(merged.out + merged.err).toMatch(/message 2 .*its record is gone/);
        await isHealthy();
        await faulty.stop();

        await withAdmin(client, (admin) => deleteRecordsBefore(admin, `${prefix}.audit`, [0], '-1'));
        await withAdmin(client, (admin) => deleteRecordsBefore(admin, `${prefix}.dlq-jobs`, [0], '-1'));
        const gone = keepsRows ? ['2 its record is gone'] : [];
        const left = letters - 3 + gone.length;
        await mended.start();
        await expect.poll(async () => (await queue('count --category transfer')).out, patience).toBe(`${left}\n`);
        await isHealthy();
        await expect.poll(() => mended.output, patience).toMatch(/records of a dead letter queue are gone from its topic/);
        await expect.poll(() => mended.output, patience).toMatch(/entries of the audit of dead letters are gone/);
        // Jobs and the audit are served a moment after the queues.
        await expect.poll(async () => (await queue('job list')).code, patience).toBe(0);
        await expect.poll(async () => (await queue('audit --limit 1')).code, patience).toBe(0);
        expect(await damages()).toEqual([...gone, ...whole(3)]);
        if (keepsRows) expect(await queue(`${purge} --message-id 2`)).toMatchObject({ code: 0, out: 'purged 1\n' });
        expect(await queue('merge --category transfer --reason mended')).toMatchObject({
          code: 0,
          out: `merged ${letters - 3}, failed 0, skipped 0\n`,
        });
        expect((await queue('audit --limit 100 -o jsonl')).out).toContain('merge-outcome');
        expect((await queue('count --category transfer')).out).toBe('0\n');
        await isHealthy();
      } finally {
        for (const server of [faulty, mended]) await server.stop();
      }
    }),
  );
}

async function makeLetters({ address }: ServerProcess): Promise<void> {
  const connection = await Connection.connect({ address });
  const common = { namespace, workflowType: { name: 'Order' }, taskQueue: { name: 'nobody' } };
  for (let nth = 0; nth < letters; nth++) {
    const workflowId = `order-${nth}`;
    await connection.workflowService.startWorkflowExecution({ ...common, workflowId, requestId: workflowId });
  }
  await connection.close();
}
