/** The image apache/kafka where a Docker engine answers, for machines without Java. */
import { setTimeout as pause } from 'node:timers/promises';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { kafkaVersion } from './kafka-libs.ts';
import { freePorts } from './local-broker.ts';

const engineTimeoutMs = 5_000;
const startTimeoutMs = 120_000;
const containerPort = 9092;

export type ContainerBroker = { readonly brokers: readonly string[]; stop(): Promise<void> };

export async function startContainerBroker(): Promise<ContainerBroker | { readonly missing: string }> {
  if (!(await engineAnswers())) return { missing: 'no Docker engine answers' };
  // The broker must know where it will be reached before it starts: the engine cannot draw the port.
  const [port = 0] = await freePorts(1);
  try {
    const container = await new KafkaContainer(port).start();
    return { brokers: [`127.0.0.1:${port}`], stop: async () => void (await container.stop()) };
  } catch (error) {
    return { missing: `the Kafka container did not start: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** An engine that takes the connection and never answers is none. */
async function engineAnswers(): Promise<boolean> {
  const answer = getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
  return await Promise.race([answer, pause(engineTimeoutMs, false, { ref: false })]);
}

class KafkaContainer extends GenericContainer {
  constructor(port: number) {
    super(`apache/kafka:${kafkaVersion}`);
    this.withEnvironment(environment(port))
      .withExposedPorts(containerPort)
      // The engine's port forwarding accepts connections before the broker does: its log tells.
      .withWaitStrategy(Wait.forLogMessage('Kafka Server started'))
      .withStartupTimeout(startTimeoutMs);
    // The package would publish it on every address of the machine, and anybody may use this broker.
    this.hostConfig.PortBindings = { [`${containerPort}/tcp`]: [{ HostIp: '127.0.0.1', HostPort: String(port) }] };
  }
}

function environment(port: number): Record<string, string> {
  return {
    KAFKA_NODE_ID: '1',
    KAFKA_PROCESS_ROLES: 'broker,controller',
    KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
    KAFKA_LISTENERS: `PLAINTEXT://:${containerPort},CONTROLLER://:9093`,
    KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://127.0.0.1:${port}`,
    KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
    KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
    KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
    KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
    KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
    KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
  };
}
