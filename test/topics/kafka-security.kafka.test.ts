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
import type { Log } from '../../src/actors/log.ts';

const run = promisify(execFile);

describe.skipIf(!(await canStartLocalKafka('Kafka with TLS and SASL')))('a Kafka that asks who we are', () => {
  let folder: string;
  let broker: LocalBroker;
  let ca: string;
  let ports: { readonly plain: number; readonly sasl: number; readonly tls: number };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perdure-kafka-tls-'));
    ca = await makeKeyStore(folder);
    const [controller = 0, plain = 0, sasl = 0, tls = 0] = await freePorts(4);
    ports = { plain, sasl, tls };
    broker = await startLocalKafka({
      ports: [plain, controller],
      settings: secureSettings(folder, ports, controller),
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

  test('a wrong password', async () => {
    const wrong = open(ports.sasl, undefined, { mechanism: 'scram-sha-256', password: 'guess' });
    await expect(wrong).rejects.toMatchObject({ code: 'misconfigured', message: expect.stringContaining('perdure.kafka.sasl') });
    await expect(open(ports.sasl, undefined, { password: 'guess' })).rejects.not.toThrow(/guess/);
  });

  test('no login where one is asked for, and no TLS where it is spoken, are told apart from a broker that is down', async () => {
    await expect(open(ports.sasl)).rejects.toThrow(/expects TLS \(perdure\.kafka\.tls\) or a login \(perdure\.kafka\.sasl\)/);
    await expect(open(ports.plain)).rejects.toThrow(/expects TLS \(perdure\.kafka\.tls\) or a login \(perdure\.kafka\.sasl\)/);
  });

  test('a certificate that nobody we know has signed', async () => {
    await expect(open(ports.plain, { ca: undefined })).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('Check perdure.kafka.tls'),
    });
    await works(await open(ports.plain, { ca: undefined, verifyServer: false }));
  });
});

async function makeKeyStore(folder: string): Promise<string> {
  const store = ['-storetype', 'PKCS12', '-keystore', join(folder, 'ks.p12'), '-storepass', 'changeit'];
  const names = ['-dname', 'CN=localhost', '-ext', 'SAN=dns:localhost,ip:127.0.0.1', '-ext', 'bc:c', '-validity', '365'];
  await run('keytool', ['-genkeypair', '-alias', 'k', '-keyalg', 'EC', '-groupname', 'secp256r1', ...names, ...store]);
  await run('keytool', ['-exportcert', '-rfc', '-alias', 'k', '-file', join(folder, 'ca.pem'), ...store]);
  return await readFile(join(folder, 'ca.pem'), 'utf8');
}

/** `plain` is the port of the SSL listener without a login: the harness waits for it. */
function secureSettings(
  folder: string,
  ports: { readonly plain: number; readonly sasl: number; readonly tls: number },
  controller: number,
): Readonly<Record<string, string>> {
  const scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
  const plain = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_app="app-secret";';
  const external = `SSL://127.0.0.1:${ports.plain},SASL_PLAINTEXT://127.0.0.1:${ports.sasl},SASL_SSL://127.0.0.1:${ports.tls}`;
  return {
    listeners: `${external},CONTROLLER://127.0.0.1:${controller}`,
    'advertised.listeners': external,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL',
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
