/**
 * The servers that the scenarios run on. A scenario never learns which one it is on: that one list passes on both logs is the proof that
 * the log is only an adapter.
 *
 * `PERDURE_TEST_ADDRESS=host:port` puts one server that is already running in the place of all of them; this is how the scenarios
 * themselves are proven against Temporal's own dev server, which wants the settings below too.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer, kafkaServers } from '../support/servers.ts';

/** Scenarios run beside each other, and batch jobs may by default not. */
const settings = { 'frontend.MaxConcurrentBatchOperationPerNamespace': 20 };
const flags = Object.entries(settings).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]);
const dynamic = Object.entries(settings).map(([key, value]) => `${key}: [{ value: ${value} }]`);

export type RunningServer = {
  readonly address: string;
  readonly namespace: string;
  stop(): Promise<void>;
};

export type ServerUnderTest = {
  readonly name: string;
  /** Why it cannot be started on this machine; such a server is skipped aloud, and with `CI` set fails. */
  readonly missing: string | undefined;
  start(): Promise<RunningServer>;
};

export function serversUnderTest(): readonly ServerUnderTest[] {
  const address = process.env['PERDURE_TEST_ADDRESS'];
  if (address !== undefined && address !== '') return [runningAt(address)];
  return ourServers();
}

function runningAt(address: string): ServerUnderTest {
  const namespace = process.env['PERDURE_TEST_NAMESPACE'] ?? 'default';
  return { name: `server at ${address}`, missing: undefined, start: async () => ({ address, namespace, stop: async () => {} }) };
}

function ourServers(): readonly ServerUnderTest[] {
  const kafka = inject('kafka');
  const missing = 'missing' in kafka ? kafka.missing : undefined;
  return [
    // How asks travel is the same on each log: that they may as bytes is seen on one.
    {
      name: 'Perdure in memory',
      missing: undefined,
      start: async () => started(await embeddedServer(undefined, flags, { asks: 'as bytes' })),
    },
    {
      name: 'Perdure on Kafka',
      missing,
      start: () => startOnKafka('brokers' in kafka ? kafka.brokers : []),
    },
  ];
}

/** What is on a file comes through the same port as what is in memory: for the few suites that want to see it all the same. */
export function onFile(): readonly ServerUnderTest[] {
  const address = process.env['PERDURE_TEST_ADDRESS'];
  if (address !== undefined && address !== '') return [];
  return [{ name: 'Perdure on a file', missing: undefined, start: startOnFile }];
}

async function startOnFile(): Promise<RunningServer> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-sdk-'));
  return withFolder(folder, await started(await embeddedServer(join(folder, 'perdure.db'), flags)));
}

function withFolder(folder: string, running: RunningServer): RunningServer {
  return {
    ...running,
    stop: async () => {
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startOnKafka(brokers: readonly string[]): Promise<RunningServer> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-sdk-'));
  const [server] = await kafkaServers(folder, brokers, `sdk-${randomUUID()}`, 1, { dynamic });
  return withFolder(folder, await started(server!));
}

async function started(server: ServerProcess): Promise<RunningServer> {
  await server.start();
  return { address: server.address, namespace: 'default', stop: () => server.stop() };
}
