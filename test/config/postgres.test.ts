import { describe, expect, test } from 'vitest';
import { effectiveConfig, toYaml } from '../../src/config/effective.ts';
import { readConfigFile } from '../../src/config/read-file.ts';
import { settingsOf } from '../../src/config/settings.ts';

function read(perdure: string, autoCreateTopics = true) {
  const file = readConfigFile(`perdure: {${perdure}}`, { env: {}, strict: true });
  if (file.config === undefined) return { settings: undefined, problems: file.problems.map(({ message }) => message), log: undefined };
  const { settings, problems } = settingsOf(file.config, { autoCreateTopics, locate: file.locate, folder: '/etc/perdure' });
  const messages = [...file.problems, ...problems].map(({ path, message }) => `${path}: ${message}`);
  const log = settings?.server.log;
  return { settings, problems: messages, log: log?.kind === 'kafka' ? log : undefined };
}

const onKafka = (postgres: string, more = ''): string => `kafka: {brokers: [a:1], topicPrefix: orders}, postgres: {${postgres}}${more}`;
const stateOf = (postgres: string, more = '') => read(onKafka(postgres, more)).log?.state;
const problemsOf = (postgres: string, more = ''): readonly string[] => read(onKafka(postgres, more)).problems;

const plain = {
  host: 'db',
  port: 5432,
  database: 'perdure',
  user: 'perdure',
  password: undefined,
  tls: undefined,
  topicPrefix: 'orders',
  connectionsMax: 4,
  timeoutMs: 10_000,
  migrate: true,
};
const trusted = { ca: undefined, cert: undefined, key: undefined, serverName: undefined, verifyServer: true };

describe('perdure.postgres', () => {
  test('a host is enough; the journals keep a day', () => {
    expect(stateOf('host: db')).toEqual({ postgres: plain, journalRetentionMs: 86_400_000, journalRetentionBytes: undefined });
  });

  test('every key', () => {
    const all = 'host: "::1", port: 6432, database: d, user: u, password: p, tls: true, pool: 9, migrate: false';
    const more = { host: '::1', port: 6432, database: 'd', user: 'u', password: 'p', tls: trusted, connectionsMax: 9, migrate: false };
    expect(stateOf(all, ', journalRetention: 0s')).toEqual({ postgres: { ...plain, ...more }, journalRetentionMs: 0 });
  });

  test.each([
    ['postgres://db', {}],
    ['postgresql://u:p%40%3A@[::1]:6432/my%20d', { host: '::1', port: 6432, user: 'u', password: 'p@:', database: 'my d' }],
    ['postgres://db?sslmode=disable', {}],
    ['postgres://db/perdure?sslmode=require', { tls: { ...trusted, verifyServer: false } }],
    ['postgres://db?sslmode=verify-full', { tls: trusted }],
  ])('the URL %s', (url, more) => {
    expect(stateOf(`url: "${url}"`)?.postgres).toEqual({ ...plain, ...more });
  });

  test('a password may stand beside the URL', () => {
    expect(stateOf('url: "postgres://u@db", password: p')?.postgres).toMatchObject({ user: 'u', password: 'p' });
  });

  test.each([
    ['port: 1', 'perdure.postgres: host is missing: where PostgreSQL listens; or write url: postgres://user@host/database'],
    ['url: "postgres://db", user: u', 'perdure.postgres.user: url is set too; keep one of them'],
    ['url: "postgres://u:p@db", password: q', 'perdure.postgres.password: is also in url; keep one of them'],
    ['url: "postgres://db?sslmode=require", tls: true', 'perdure.postgres.tls: url has an sslmode; keep one of them'],
    [
      'url: "postgres://db?sslmode=prefer"',
      'perdure.postgres.url: has another sslmode than disable, require and verify-full; for more, use perdure.postgres.tls',
    ],
    ['url: "postgres://db?options=x"', 'perdure.postgres.url: has the parameter options, which is not read; only sslmode is'],
    ['host: db, tls: {certFile: c}', 'perdure.postgres.tls: certFile and keyFile go together'],
  ])('%s is refused', (postgres, problem) => {
    expect(problemsOf(postgres)).toContain(problem);
  });

  test.each(['mysql://u:hunter2@db', 'hunter2', 'postgres://u:%zzhunter2@db', 'postgres:///hunter2', '271828'])(
    'of %s nothing is repeated: a password may stand anywhere in it',
    (url) => {
      const [problem = ''] = problemsOf(`url: "${url}"`);
      expect(problem).toMatch(/^perdure\.postgres\.url: .*expected postgres:\/\/user:password@host:port\/database/);
      expect(problem).not.toMatch(/hunter2|271828/);
    },
  );

  test('--no-auto-migrate makes no tables either', () => {
    expect(read(onKafka('host: db'), false).log?.state?.postgres.migrate).toBe(false);
  });

  test('it goes with Kafka; without it, journals keep everything', () => {
    expect(read('postgres: {host: db}').problems).toContainEqual(expect.stringMatching(/^perdure\.postgres: goes with journals on Kafka/));
    const { settings, problems } = read('kafka: {brokers: [a:1]}, journalRetention: 1h');
    expect(problems).toEqual(['perdure.journalRetention: means nothing without perdure.postgres: the topics keep everything']);
    expect(settings?.server.log).toMatchObject({ kind: 'kafka', state: undefined });
  });

  test('printed, it is a server file again, without the password', () => {
    const { settings } = read(onKafka('url: "postgres://u:hunter2@db:1/d"', ', journalRetention: 90m'));
    if (settings === undefined) throw new Error('it is a server file');
    const printed = toYaml(effectiveConfig(settings.server, settings));
    expect(printed).not.toContain('hunter2');
    const again = readConfigFile(printed.replaceAll('"***"', 'hunter2'), { env: {}, strict: true });
    if (again.config === undefined) throw new Error(printed);
    const { settings: same } = settingsOf(again.config, { autoCreateTopics: true, locate: again.locate, folder: '/etc/perdure' });
    expect(same).toEqual(settings);
  });
});
