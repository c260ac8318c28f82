/** `perdure config validate --connect` against a real broker: in with the right settings, and told what is wrong with the others. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import { loadKafkajs } from '../../src/topics/kafka/load-kafkajs.ts';
import { Child } from '../cli/child.ts';
import { memoryServer } from '../support/memory-server.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { withFolder } from '../support/servers.ts';

const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('connecting to Kafka', kafka.missing);
else connecting(kafka.brokers);

function connecting(brokers: readonly string[]): void {
  type Ran = { readonly code: number | null; readonly out: string; readonly err: string };

  async function on(more: string, rest: string, words: readonly string[], flags: readonly string[] = []): Promise<Ran> {
    return await withFolder(async (folder) => {
      const file = join(folder, 'server.yaml');
      writeFileSync(file, `${rest}perdure: {kafka: {brokers: ${JSON.stringify(brokers)}${more}}}\n`);
      const child = new Child(bin, [...words, file, ...flags]);
      const { code } = await child.exit;
      return { code, out: child.out, err: child.err };
    });
  }
  const validate = (more: string, rest = ''): Promise<Ran> => on(more, rest, ['config', 'validate', '--connect']);
  const newPrefix = (): string => `test.${randomUUID()}`;

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
      const { code, out, err } = await validate('');
      expect({ code, err }).toEqual({ code: 0, err: '' });
      for (const broker of brokers) expect(out).toContain(`${broker}: ok, a cluster of `);
    });

    test('says what a start would refuse of the topics that it would make, and makes none', async () => {
      const prefix = newPrefix();
      const more = `, topicPrefix: ${prefix}, replicationFactor: 99`;
      const { code, out, err } = await validate(more);
      expect(code).toBe(1);
      expect(out).toContain(': ok, a cluster of ');
      expect(err).toMatch(/^topics \S+: perdure\.kafka\.replicationFactor is 99, but the cluster has \d+ brokers? alive: /);
      expect(await validate(`, topicPrefix: ${prefix}`)).toMatchObject({ code: 0, err: '' });
      expect(await topicsOf(prefix)).toEqual([]);
    });

    test('says what a start would refuse of the cluster that is there', async () => {
      const prefix = newPrefix();
      const options = { brokers, topicPrefix: prefix, replicationFactor: 1, tls: undefined, sasl: undefined, autoCreateTopics: true };
      const server = await memoryServer({ log: { kind: 'kafka', kafka: options }, historyShards: 2, matchingPartitions: 1 });
      await server.stop();
      const shards = (count: number): string => `persistence: {numHistoryShards: ${count}}\n`;
      const refused = await validate(`, topicPrefix: ${prefix}`, shards(4));
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('persistence.numHistoryShards is 4, but the cluster') });
      expect(refused.err).toContain('was made with 2 history shards');
    });

    test('a start that may make no topics prints the commands of all of them, as lines, beside a log in JSON', async () => {
      const prefix = newPrefix();
      const rest = 'services: {frontend: {rpc: {grpcPort: 0}}}\nlog: {encoding: json}\n';
      const { code, err } = await on(`, topicPrefix: ${prefix}`, rest, ['server', 'start', '--config'], ['--no-auto-migrate']);
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
    ])('$name: exit code 1, and the key that mends it', async ({ more, key }) => {
      const { code, err } = await validate(more);
      expect(code).toBe(1);
      for (const broker of brokers) expect(err).toMatch(new RegExp(`^${broker}: .*${key}`, 'm'));
    });
  });
}
