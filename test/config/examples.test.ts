import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfigFile } from '../../src/config/read-file.ts';
import { settingsOf } from '../../src/config/settings.ts';

const folder = new URL('../../examples/config/', import.meta.url);

test.each(readdirSync(folder))('examples/config/%s has no problem, not even a warning', (name) => {
  const read = readConfigFile(readFileSync(new URL(name, folder), 'utf8'), {
    env: { KAFKA_PASSWORD: 'x', POSTGRES_PASSWORD: 'x' },
    strict: true,
  });
  expect(read.problems).toEqual([]);
  if (read.config === undefined) throw new Error('no problem, and no config');
  expect(settingsOf(read.config, { autoCreateTopics: true, locate: read.locate, folder: '/etc/perdure' }).problems).toEqual([]);
});

test('docker-compose.yml starts the server with a file and variables that it knows', () => {
  const compose: unknown = parse(readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8'));
  expect(compose).toMatchObject({
    services: {
      perdure: {
        command: ['server', 'start', '--config', '/etc/perdure/server.yaml', '--allow-no-auth'],
        volumes: ['./examples/config/kafka.yaml:/etc/perdure/server.yaml:ro'],
        environment: { KAFKA_BROKERS: 'kafka:19092', PERDURE_BIND_IP: '0.0.0.0' },
      },
    },
  });
  const read = readConfigFile(readFileSync(new URL('kafka.yaml', folder), 'utf8'), {
    env: { KAFKA_BROKERS: 'kafka:19092', PERDURE_BIND_IP: '0.0.0.0' },
    strict: true,
  });
  if (read.config === undefined) throw new Error('the example is not valid');
  const { settings } = settingsOf(read.config, { autoCreateTopics: true, locate: read.locate, folder: '/etc/perdure' });
  expect(settings?.server).toMatchObject({ host: '0.0.0.0', port: 7233, log: { kind: 'kafka', kafka: { brokers: ['kafka:19092'] } } });
});
