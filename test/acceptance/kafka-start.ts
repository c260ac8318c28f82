/** `perdure server start` on Kafka as an operator sees it: what it wrote, with what it exited, and what its advice does. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { Child } from '../cli/child.ts';
import { freePort, ServerProcess } from '../support/server-process.ts';
import { withFolder } from '../support/servers.ts';
import { obey } from './kafka-admin.ts';
import type { Admin } from 'kafkajs';

const perdure = fileURLToPath(new URL('../../bin/perdure', import.meta.url));

export type StartSettings = {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly shards?: number;
  readonly replicationFactor?: number;
  readonly sasl?: string;
  readonly postgresPort?: number;
  readonly clusterName?: string;
  readonly logFormat?: 'json' | 'console';
};

function configOf(
  port: number,
  { brokers, prefix, shards = 4, replicationFactor = 1, sasl, postgresPort, clusterName = 'active', logFormat = 'json' }: StartSettings,
): string {
  return [
    `log: { level: warn, format: ${logFormat} }`,
    `persistence: { numHistoryShards: ${shards} }`,
    `clusterMetadata: { currentClusterName: ${clusterName} }`,
    `services: { frontend: { rpc: { grpcPort: ${port}, bindOnIP: 127.0.0.1 } } }`,
    'perdure:',
    '  kafka:',
    `    brokers: [${brokers.map((broker) => `"${broker}"`).join(', ')}]`,
    `    topicPrefix: "${prefix}"`,
    `    replicationFactor: ${replicationFactor}`,
    ...(sasl === undefined ? [] : [`    sasl: ${sasl}`]),
    ...(postgresPort === undefined ? [] : [`  postgres: { host: 127.0.0.1, port: ${postgresPort}, password: x }`]),
    '',
  ].join('\n');
}

export async function writeConfig(folder: string, settings: StartSettings): Promise<{ readonly file: string; readonly port: number }> {
  const port = await freePort();
  const file = join(folder, `${randomUUID()}.yaml`);
  await writeFile(file, configOf(port, settings));
  return { file, port };
}

/** A server that goes on instead would never end. */
const refusalMsMax = 40_000;

/** What it wrote before it gave up. */
export async function refusedStart(settings: StartSettings, flags: readonly string[] = []): Promise<string> {
  return withFolder(async (folder) => {
    // In a text log people find the commands one per line.
    const { file } = await writeConfig(folder, { ...settings, logFormat: 'console' });
    const child = new Child(perdure, ['server', 'start', '--config', file, '--allow-no-auth', ...flags]);
    const hangs = setTimeout(() => child.process.kill('SIGKILL'), refusalMsMax);
    const ended = await child.exit;
    clearTimeout(hangs);
    expect({ ...ended, out: child.out }, `it was not refused: ${child.err}`).toEqual({ code: 1, signal: null, out: '' });
    expect(child.err).toMatch(/^perdure: /m);
    expect(child.err, 'no stack for what an operator can mend').not.toMatch(/^\s+at /m);
    // On a busy machine lines before it say that the start still tries.
    return child.err.slice(child.err.search(/^perdure: /m));
  });
}

export async function startsAndStops(settings: StartSettings, flags: readonly string[] = []): Promise<void> {
  await whileServing(settings, async () => {}, flags);
}

/** A server that serves until `use` is done, and then stops as it should. */
export async function whileServing<T>(
  settings: StartSettings,
  use: (server: ServerProcess) => Promise<T>,
  flags: readonly string[] = [],
): Promise<T> {
  return await withFolder(async (folder) => {
    const { file, port } = await writeConfig(folder, settings);
    const server = new ServerProcess(port, ['server', 'start', '--config', file, '--allow-no-auth', ...flags]);
    try {
      await server.start();
      return await use(server);
    } finally {
      await server.stop();
      expect(await server.exitCode(0), server.output).toBe(0);
    }
  });
}

export function commandsIn(output: string): readonly string[] {
  return output.split('\n').filter((line) => line.startsWith('kafka-'));
}

/** `isWanted`: of those `count` commands; absent: all. */
export async function obeyAll(admin: Admin, output: string, count: number, isWanted = (_command: string) => true): Promise<void> {
  expect(commandsIn(output)).toHaveLength(count);
  for (const command of commandsIn(output).filter(isWanted)) await obey(admin, command);
}
