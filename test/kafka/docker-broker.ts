/** The image apache/kafka through the docker command, for machines with an engine but without Java. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { kafkaVersion } from './kafka-libs.ts';

const run = promisify(execFile);
const startTimeoutMs = 120_000;

export type DockerBroker = { readonly brokers: readonly string[]; stop(): Promise<void> };

export async function startDockerBroker(): Promise<DockerBroker | { readonly missing: string }> {
  const engine = await run('docker', ['version', '--format', '{{.Server.Version}}'], { timeout: 5_000 }).then(
    () => true,
    () => false,
  );
  if (!engine) return { missing: 'no Docker engine answers' };
  const port = await freePort();
  try {
    const { stdout } = await run(
      'docker',
      ['run', '--detach', '--rm', '--publish', `127.0.0.1:${port}:9092`, ...environment(port), `apache/kafka:${kafkaVersion}`],
      {
        timeout: startTimeoutMs,
      },
    );
    const id = stdout.trim();
    const stop = async (): Promise<void> => void (await run('docker', ['rm', '--force', id]));
    await started(id).catch(async (error: unknown) => {
      await stop();
      throw error;
    });
    return { brokers: [`127.0.0.1:${port}`], stop };
  } catch (error) {
    return { missing: `docker run failed: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function environment(port: number): readonly string[] {
  const settings = {
    KAFKA_NODE_ID: '1',
    KAFKA_PROCESS_ROLES: 'broker,controller',
    KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
    KAFKA_LISTENERS: 'PLAINTEXT://:9092,CONTROLLER://:9093',
    KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://127.0.0.1:${port}`,
    KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
    KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
    KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
    KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
    KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
    KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
  };
  return Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
}

/** The engine's port forwarding accepts connections before the broker does: its log tells. */
async function started(id: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  while (Date.now() < deadline) {
    const { stdout } = await run('docker', ['logs', id]);
    if (stdout.includes('Kafka Server started')) return;
    await pause(200);
  }
  throw new Error('the Kafka container did not start in time');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await once(server.close(), 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
