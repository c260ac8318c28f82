import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openKafkaLog } from '../../src/topics/kafka/kafka-log.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { baseOf, LogWriter, record } from '../contract/log-writer.ts';
import { canStartLocalKafka, startLocalKafka } from '../kafka/broker.ts';
import { freePorts } from '../kafka/local-broker.ts';
import type { LocalBroker } from '../kafka/local-broker.ts';
import type { KafkaSasl, KafkaTls } from '../../src/config/kafka-options.ts';
import type { Log } from '../../src/ports/log.ts';

const run = promisify(execFile);

/** By what the listener speaks; `plain`: TLS without a login; `open`: neither; `odd`: neither, and it advertises an address of nobody. */
type Ports = Readonly<Record<'controller' | 'plain' | 'sasl' | 'tls' | 'open' | 'odd', number>>;

describe.skipIf(!(await canStartLocalKafka('Kafka with TLS and SASL')))('a Kafka that asks who we are', () => {
  let folder: string;
  let broker: LocalBroker;
  let ca: string;
  let ports: Ports;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perdure-kafka-tls-'));
    ca = await makeKeyStore(folder);
    const [controller = 0, plain = 0, sasl = 0, tls = 0, open_ = 0, odd = 0] = await freePorts(6);
    ports = { plain, sasl, tls, open: open_, odd, controller };
    broker = await startLocalKafka({
      ports: [plain, controller],
      settings: secureSettings(folder, ports),
      formatArguments: [
        '--add-scram',
        'SCRAM-SHA-256=[name=app,password=app-secret]',
        '--add-scram',
        'SCRAM-SHA-512=[name=app,password=app-secret]',
      ],
    });
  });
  afterAll(async () => {
    await broker?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function open(port: number, tls?: Partial<KafkaTls>, sasl?: Partial<KafkaSasl>): Promise<Log> {
    return openKafkaLog({
      kafka: {
        brokers: [`127.0.0.1:${port}`],
        topicPrefix: 'test',
        replicationFactor: 1,
        tls: tls && { ca, cert: undefined, key: undefined, serverName: undefined, verifyServer: true, ...tls },
        sasl: sasl && { mechanism: 'plain', username: 'app', password: 'app-secret', ...sasl },
        autoCreateTopics: true,
      },
      topics: [{ name: 'test.secure', partitions: 1, purpose: 'a test' }],
      logger: silentLogger,
    });
  }

  async function works(log: Log): Promise<void> {
    const at = { topic: 'test.secure', partition: 0 };
    const end = await log.end(at);
    expect(baseOf(await new LogWriter(log, at).append(record(1)))).toBe(end);
    expect((await log.read(at, end, 1000))[0]?.sequence).toBe(1);
    await log.close();
  }

  test.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)('login with %s', async (mechanism) => {
    await works(await open(ports.sasl, undefined, { mechanism }));
  });

  test('TLS alone, and TLS with a login', async () => {
    await works(await open(ports.plain, {}));
    await works(await open(ports.tls, {}, { mechanism: 'scram-sha-256' }));
  });

  type Attempt = Parameters<typeof open>;
  const trusted: Partial<KafkaTls> = {};
  const login: Partial<KafkaSasl> = {};

  /** What somebody reads who comes the wrong way: one sentence, with what to change. */
  test.each<readonly [string, () => Attempt, RegExp]>([
    [
      'no login where one is asked for',
      () => [ports.sasl],
      /^the listener at \S+ asks for a login \(plain, scram-sha-256, scram-sha-512\), but perdure\.kafka\.sasl is not set: correct that key, or name/,
    ],
    [
      'no TLS where it is spoken',
      () => [ports.plain],
      /^the listener at \S+ speaks TLS, but perdure\.kafka\.tls is not set: correct that key, or name/,
    ],
    [
      'neither of the two that are wanted',
      () => [ports.tls],
      /^the listener at \S+ speaks TLS, but perdure\.kafka\.tls is not set, and asks for a login \(.*\), but perdure\.kafka\.sasl is not set: correct these keys/,
    ],
    [
      'TLS where a login alone is wanted',
      () => [ports.sasl, trusted, login],
      /^the listener at \S+ does not speak TLS, but perdure\.kafka\.tls is set: correct/,
    ],
    [
      'TLS without the login',
      () => [ports.tls, trusted],
      /^the listener at \S+ asks for a login \(.*\), but perdure\.kafka\.sasl is not set/,
    ],
    [
      'TLS where nothing is wanted',
      () => [ports.open, trusted],
      /^the listener at \S+ does not speak TLS, but perdure\.kafka\.tls is set: correct/,
    ],
    [
      'a login where none is asked for',
      () => [ports.open, undefined, login],
      /^the listener at \S+ asks for no login, but perdure\.kafka\.sasl is set: remove it, or name the SASL_PLAINTEXT listener/,
    ],
    [
      'a login where TLS alone is wanted',
      () => [ports.plain, trusted, login],
      /^the listener at \S+ asks for no login, but perdure\.kafka\.sasl is set: remove it, or name the SASL_SSL listener/,
    ],
    [
      'a wrong password',
      () => [ports.sasl, undefined, { mechanism: 'scram-sha-256', password: 'guess' }],
      /^Kafka at \S+ refused the user name or the password: correct perdure\.kafka\.sasl \(user "app", mechanism scram-sha-256\)$/,
    ],
    [
      'an authority that is not known',
      () => [ports.plain, { ca: undefined }],
      /^the certificate of \S+ was signed by an authority that is not known here: name its certificate in perdure\.kafka\.tls\.caFile$/,
    ],
    [
      'another name than the certificate has',
      () => [ports.plain, { serverName: 'kafka.example' }],
      /^the certificate of \S+ is for DNS:localhost, IP Address:127\.0\.0\.1: set perdure\.kafka\.tls\.serverName to one of its names/,
    ],
    [
      'a controller',
      () => [ports.controller],
      /^the server at \S+ is not a broker \(a KRaft controller\?\): name the listeners of brokers in perdure\.kafka\.brokers$/,
    ],
  ])('%s', async (_, attempt, words) => {
    const error = await failureOf(open(...attempt()));
    expect(error).toMatchObject({ name: 'LogError', code: 'misconfigured', message: expect.stringMatching(words) });
    expect(error.message).not.toMatch(/\n|guess/);
  });

  test('an address that the broker advertises and nobody reaches', async () => {
    const error = await failureOf(open(ports.odd));
    expect(error).toMatchObject({ code: 'unavailable' });
    expect(error.message).toBe(
      `Kafka answers at 127.0.0.1:${ports.odd}, but advertises a broker at 127.0.0.1:1, which cannot be reached from here (ECONNREFUSED): ` +
        'set advertised.listeners of that broker to an address that can, or name another listener in perdure.kafka.brokers',
    );
  });

  test('a certificate that nobody checks', async () => {
    await works(await open(ports.plain, { ca: undefined, verifyServer: false }));
  });

  async function failureOf(opening: Promise<Log>): Promise<Error> {
    return await opening.then(
      async (log) => {
        await log.close();
        throw new Error('it was let in');
      },
      (error: Error) => error,
    );
  }
});

async function makeKeyStore(folder: string): Promise<string> {
  const store = ['-storetype', 'PKCS12', '-keystore', join(folder, 'ks.p12'), '-storepass', 'changeit'];
  const names = ['-dname', 'CN=localhost', '-ext', 'SAN=dns:localhost,ip:127.0.0.1', '-ext', 'bc:c', '-validity', '365'];
  await run('keytool', ['-genkeypair', '-alias', 'k', '-keyalg', 'EC', '-groupname', 'secp256r1', ...names, ...store]);
  await run('keytool', ['-exportcert', '-rfc', '-alias', 'k', '-file', join(folder, 'ca.pem'), ...store]);
  return await readFile(join(folder, 'ca.pem'), 'utf8');
}

/** `plain` is the port of the SSL listener without a login: the harness waits for it. */
function secureSettings(folder: string, ports: Ports): Readonly<Record<string, string>> {
  const scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
  const plain = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_app="app-secret";';
  const external = (odd: number): string =>
    `SSL://127.0.0.1:${ports.plain},SASL_PLAINTEXT://127.0.0.1:${ports.sasl},SASL_SSL://127.0.0.1:${ports.tls},` +
    `PLAINTEXT://127.0.0.1:${ports.open},ODD://127.0.0.1:${odd}`;
  return {
    listeners: `${external(ports.odd)},CONTROLLER://127.0.0.1:${ports.controller}`,
    'advertised.listeners': external(1),
    'listener.security.protocol.map':
      'CONTROLLER:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,ODD:PLAINTEXT',
    'inter.broker.listener.name': 'SSL',
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    'listener.name.sasl_plaintext.plain.sasl.jaas.config': plain,
    'listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config': scram,
    'listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config': scram,
    'listener.name.sasl_ssl.plain.sasl.jaas.config': plain,
    'listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config': scram,
    'listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config': scram,
    'ssl.keystore.type': 'PKCS12',
    'ssl.keystore.location': join(folder, 'ks.p12'),
    'ssl.keystore.password': 'changeit',
    'ssl.truststore.type': 'PKCS12',
    'ssl.truststore.location': join(folder, 'ks.p12'),
    'ssl.truststore.password': 'changeit',
  };
}
