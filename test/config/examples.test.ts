import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Environment } from '../../src/config/environment.ts';
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

const compose = parse(readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8')) as {
  readonly services: Readonly<Record<string, { readonly environment: Environment; readonly ports: readonly string[] }>>;
};

test('docker-compose.yml starts the server with a file and variables that it knows, on the services beside it', () => {
  expect(compose).toMatchObject({
    services: {
      perdure: {
        command: ['server', 'start', '--config', '/etc/perdure/server.yaml', '--allow-no-auth'],
        volumes: ['./examples/config/kafka-postgres.yaml:/etc/perdure/server.yaml:ro'],
        ports: ['127.0.0.1:7233:7233', '127.0.0.1:9464:9464'],
        depends_on: { kafka: {}, postgres: {} },
        // Exit codes 2 and 3 must not be followed by another start, and Docker cannot tell codes apart.
        restart: 'no',
      },
    },
  });
  expect(compose.services['postgres']).not.toHaveProperty('profiles');
  const read = readConfigFile(readFileSync(new URL('kafka-postgres.yaml', folder), 'utf8'), {
    env: compose.services['perdure']?.environment ?? {},
    strict: true,
  });
  if (read.config === undefined) throw new Error('the example is not valid');
  const { settings } = settingsOf(read.config, { autoCreateTopics: true, locate: read.locate, folder: '/etc/perdure' });
  const { POSTGRES_USER: user, POSTGRES_DB: database, POSTGRES_PASSWORD: password } = compose.services['postgres']?.environment ?? {};
  expect(settings?.server).toMatchObject({
    host: '0.0.0.0',
    port: 7233,
    log: {
      kind: 'kafka',
      kafka: { brokers: ['kafka:19092'] },
      state: { postgres: { host: 'postgres', port: 5432, user, database, password } },
    },
    metrics: { host: '0.0.0.0', port: 9464 },
  });
});
