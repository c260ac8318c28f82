/**
 * `perdure config validate --connect` against a real broker and a real PostgreSQL: in with the right settings, told whose cluster and whose state is
 * there, and what is wrong with the others.
 */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { loadKafkajs } from '../../src/topics/kafka/load-kafkajs.ts';
import { Child } from '../cli/child.ts';
import { openedPostgres } from '../projections/postgres/support.ts';
import { canStartPostgres, postgresOptions, startPostgres } from '../postgres/postgres.ts';
import { memoryServer } from '../support/memory-server.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { withFolder } from '../support/servers.ts';
import type { KafkaOptions } from '../../src/config/kafka-options.ts';
import type { LocalPostgres } from '../postgres/local-postgres.ts';

const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));

const noPostgres = await canStartPostgres();
if (noPostgres !== undefined) skipAloud('connecting to PostgreSQL', noPostgres);
const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('connecting to Kafka', kafka.missing);
else connecting(kafka.brokers);

function connecting(brokers: readonly string[]): void {
  type Ran = { readonly code: number | null; readonly out: string; readonly err: string };

  type File = { readonly kafka: string; readonly beside?: string; readonly rest?: string };

  async function on({ kafka, beside = '', rest = '' }: File, words: readonly string[], flags: readonly string[] = []): Promise<Ran> {
    return await withFolder(async (folder) => {
      const file = join(folder, 'server.yaml');
      writeFileSync(file, `${rest}perdure: {kafka: {brokers: ${JSON.stringify(brokers)}${kafka}}${beside}}\n`);
      const child = new Child(bin, [...words, file, ...flags]);
      const { code } = await child.exit;
      return { code, out: child.out, err: child.err };
    });
  }
  const validate = (file: File): Promise<Ran> => on(file, ['config', 'validate', '--connect']);
  const newPrefix = (): string => `test.${randomUUID()}`;
  const shards = (count: number): string => `persistence: {numHistoryShards: ${count}}\n`;
  const kafkaOptions = (topicPrefix: string): KafkaOptions => ({
    brokers,
    topicPrefix,
    replicationFactor: 1,
    tls: undefined,
    sasl: undefined,
    autoCreateTopics: true,
  });

  async function topicsOf(prefix: string): Promise<readonly string[]> {
    const { Kafka, logLevel } = loadKafkajs();
    const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const names = (await admin.listTopics()).filter((name) => name.includes(prefix));
    await admin.disconnect();
    return names;
  }

  describe('config validate --connect', () => {
    test('says that a broker lets us in, and where the cluster says that it is', async () => {
      const { code, out, err } = await validate({ kafka: '' });
      expect({ code, err }).toEqual({ code: 0, err: '' });
      for (const broker of brokers) expect(out).toContain(`${broker}: ok, a cluster of `);
    });

    test('says what a start would refuse of the topics that it would make, and makes none', async () => {
      const prefix = newPrefix();
      const { code, out, err } = await validate({ kafka: `, topicPrefix: ${prefix}, replicationFactor: 99` });
      expect(code).toBe(1);
      expect(out).toContain(': ok, a cluster of ');
      expect(err).toMatch(/^topics \S+: perdure\.kafka\.replicationFactor is 99, but the cluster has \d+ brokers? alive: /);
      const fine = await validate({ kafka: `, topicPrefix: ${prefix}` });
      expect(fine).toMatchObject({ code: 0, err: '', out: expect.stringContaining('ok, no cluster is there yet: a start makes one\n') });
      expect(await topicsOf(prefix)).toEqual([]);
    });

    test('says what a start would refuse of the cluster that is there', async () => {
      const prefix = newPrefix();
      const server = await memoryServer({ log: { kind: 'kafka', kafka: kafkaOptions(prefix) }, historyShards: 2, matchingPartitions: 1 });
      await server.stop();
      const refused = await validate({ kafka: `, topicPrefix: ${prefix}`, rest: shards(4) });
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('persistence.numHistoryShards is 4, but the cluster') });
      expect(refused.err).toContain('was made with 2 history shards');
    });

    test('a start that may make no topics prints the commands of all of them, as lines, beside a log in JSON', async () => {
      const prefix = newPrefix();
      const rest = 'services: {frontend: {rpc: {grpcPort: 0}}}\nlog: {encoding: json}\n';
      const { code, err } = await on({ kafka: `, topicPrefix: ${prefix}`, rest }, ['server', 'start', '--config'], ['--no-auto-migrate']);
      expect(code).toBe(1);
      const made = err.split('\n').flatMap((line) => /^kafka-topics\.sh .* --create --topic (\S+) /.exec(line)?.[1] ?? []);
      const letters = ['transfer', 'timer', 'visibility', 'archival', 'outbound'].map((category) => `dlq.${prefix}.${category}.active`);
      const journals = ['history', 'matching', 'cluster'].map((name) => `${prefix}.${name}`);
      expect(made).toEqual([...journals, ...letters, ...['dlq-jobs', 'audit', 'dlq-redrive'].map((name) => `${prefix}.${name}`)]);
    });

    test.each([
      {
        name: 'a login at a listener without one',
        more: ', sasl: {mechanism: plain, username: u, password: p}',
        key: 'perdure.kafka.sasl',
      },
      { name: 'TLS at a plaintext listener', more: ', tls: true', key: 'perdure.kafka.tls' },
    ])('$name: exit code 1, and the key that repairs it', async ({ more, key }) => {
      const { code, err } = await validate({ kafka: more });
      expect(code).toBe(1);
      for (const broker of brokers) expect(err).toMatch(new RegExp(`^${broker}: .*${key}`, 'm'));
    });
  });

  describe.skipIf(noPostgres !== undefined)('config validate --connect, with PostgreSQL', () => {
    let postgres: LocalPostgres;
    beforeAll(async () => {
      postgres = await startPostgres();
      await postgres.run('CREATE DATABASE another');
    });
    afterAll(() => postgres?.stop());

    const tryOn = (prefix: string, database = 'postgres'): Promise<Ran> => {
      const url = `postgres://perdure@127.0.0.1:${postgres.port}/${database}`;
      return validate({ kafka: `, topicPrefix: ${prefix}`, beside: `, postgres: {url: "${url}"}`, rest: shards(2) });
    };
    /** As if another cluster had left its state there. */
    async function bindAnother(prefix: string): Promise<void> {
      const database = await openedPostgres(postgresOptions(postgres, { topicPrefix: prefix, database: 'another' }));
      await database.bind('theirs');
      await database.close();
    }

    test('says whose state the database holds, makes nothing in it, and refuses that of another cluster', async () => {
      const prefix = newPrefix();
      expect(await tryOn(prefix)).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringMatching(/^postgres \S+: ok, it holds no state yet$/m),
      });
      expect(await postgres.run(`SELECT 1 AS one FROM pg_namespace WHERE nspname = '${prefix}'`)).toEqual([]);
      await bindAnother(prefix);
      const beforeFirstStart = await tryOn(prefix, 'another');
      expect(beforeFirstStart).toMatchObject({ code: 1, out: expect.stringContaining('no cluster is there yet') });
      expect(beforeFirstStart.err).toMatch(/^postgres \S+ holds the state of cluster theirs, but kafka \S+ holds no cluster yet/);

      const state = {
        postgres: postgresOptions(postgres, { topicPrefix: prefix }),
        journalRetentionMs: 0,
        journalRetentionBytes: undefined,
      };
      const log = { kind: 'kafka', kafka: kafkaOptions(prefix), state } as const;
      const server = await memoryServer({ log, historyShards: 2, matchingPartitions: 16 });
      const whileServed = await tryOn(prefix);
      await server.stop();
      expect(whileServed).toMatchObject({ code: 0, err: '' });
      expect(whileServed.out).toMatch(/^postgres \S+: ok, it holds the state of this cluster$/m);
      const [, id = ''] = /^topics \S+: ok, cluster "active" \(id (\S+)\), made with 2 history shards$/m.exec(whileServed.out) ?? [];
      const owner = await postgres.run(`SELECT value FROM "${prefix}".perdure WHERE name = 'cluster'`);
      expect(owner).toEqual([{ value: id }]);
      expect((await tryOn(prefix, 'another')).err).toMatch(
        new RegExp(`^postgres \\S+ holds the state of cluster theirs, but the journals in kafka \\S+ are those of cluster ${id}\\. `),
      );
      // Of another time than the journals: it is ahead of what is left of them.
      const ahead = `epoch = 1, sequence = 1, next_offset = 1000000, last_offset = 999999, time_ms = 1, schema = 1, counters = '', trim_points = '[]'`;
      await postgres.run(`UPDATE "${prefix}".journals SET ${ahead}`);
      expect(await tryOn(prefix)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^postgres \S+ does not go with the journals in kafka /),
      });
    });
  });
}
