import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { DockerEngineStub } from './docker-engine-stub.ts';
import { kafkaVersion } from './kafka-libs.ts';

const run = promisify(execFile);
/** Without the settings of whoever runs the tests. */
const home = mkdtempSync(join(tmpdir(), 'perdure-docker-'));
afterAll(() => rmSync(home, { recursive: true }));

/** In a process of its own, for the package finds its engine once. Prints what it got, and stops it. */
const script = `
  const { startContainerBroker } = await import(${JSON.stringify(new URL('container-broker.ts', import.meta.url).href)});
  const broker = await startContainerBroker();
  console.log(JSON.stringify(broker));
  await broker.stop?.();
  process.exit(0);
`;

async function brokerOf(engine: string): Promise<unknown> {
  const env = { PATH: process.env['PATH'], HOME: home, DOCKER_HOST: engine, TESTCONTAINERS_RYUK_DISABLED: 'true' };
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { env, timeout: 50_000 });
  return JSON.parse(stdout);
}

test('a broker in a container is found under the address that it advertises, on loopback only, and is removed', async () => {
  const engine = await DockerEngineStub.start('[KafkaRaftServer nodeId=1] Kafka Server started');
  try {
    const broker = await brokerOf(engine.address);
    expect(broker).toEqual({ brokers: [expect.stringMatching(/^127\.0\.0\.1:\d+$/)] });
    const address = (broker as { readonly brokers: readonly string[] }).brokers[0] ?? '';
    expect(engine.created).toEqual([
      expect.objectContaining({
        Image: `apache/kafka:${kafkaVersion}`,
        Env: expect.arrayContaining([`KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://${address}`, 'KAFKA_AUTO_CREATE_TOPICS_ENABLE=false']),
        HostConfig: expect.objectContaining({ PortBindings: { '9092/tcp': [{ HostIp: '127.0.0.1', HostPort: address.split(':')[1] }] } }),
      }),
    ]);
    expect(engine.removed).toEqual(['c1']);
  } finally {
    await engine.close();
  }
});

test('a container that ends before Kafka has started is no broker, and the reason is said', async () => {
  const engine = await DockerEngineStub.start('exec format error');
  try {
    expect(await brokerOf(engine.address)).toEqual({
      missing: expect.stringMatching(/^the Kafka container did not start: .*Kafka Server started/),
    });
    expect(engine.removed).toEqual(['c1']);
  } finally {
    await engine.close();
  }
});

test('an engine that never answers is none', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = silent.address();
  try {
    expect(typeof address).toBe('object');
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await brokerOf(`tcp://127.0.0.1:${port}`)).toEqual({ missing: 'no Docker engine answers' });
    expect(sockets).not.toEqual([]);
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
  }
});
