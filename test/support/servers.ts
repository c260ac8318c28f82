/** Our servers as tests start them: in memory, on a file, on Kafka. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HiddenOptions } from './perdure-with.ts';
import { freePort, ServerProcess } from './server-process.ts';

const perdureWith = fileURLToPath(new URL('perdure-with.ts', import.meta.url));

/** The program to run; undefined: `perdure` as it is. */
function programWith(hidden: HiddenOptions): readonly string[] | undefined {
  return Object.keys(hidden).length === 0 ? undefined : [process.execPath, perdureWith, JSON.stringify(hidden)];
}

/** `perdure server start-dev`; without a file it keeps its journals in memory. `flags` follow the others. */
export async function embeddedServer(
  database?: string,
  flags: readonly string[] = [],
  hidden: HiddenOptions = {},
  given?: number,
): Promise<ServerProcess> {
  const port = given ?? (await freePort());
  const where = database === undefined ? [] : ['--db-filename', database];
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--headless', '--log-level', 'error'];
  return new ServerProcess(port, [...args, ...where, ...flags], programWith(hidden));
}

/** `perdure server start --config`, `count` of them on the same topics. The config files go into `folder`. */
export async function kafkaServers(
  folder: string,
  brokers: readonly string[],
  topicPrefix: string,
  count: number,
  more: Partial<KafkaServerSettings> = {},
): Promise<readonly ServerProcess[]> {
  const servers: ServerProcess[] = [];
  for (let i = 0; i < count; i++) servers.push(await kafkaServer(folder, { ...more, brokers, topicPrefix }));
  return servers;
}

export type KafkaServerSettings = {
  readonly brokers: readonly string[];
  readonly topicPrefix: string;
  readonly replicationFactor?: number;
  /** As it stands in the file. */
  readonly sasl?: string;
  readonly logLevel?: 'info' | 'error';
  readonly hidden?: HiddenOptions;
  /** Lines of its file of dynamic configuration. */
  readonly dynamic?: readonly string[];
  /** More lines of `perdure`, as they stand in the file. */
  readonly perdure?: readonly string[];
  /** Of a start that does not move; half of it is how long it waits. */
  readonly maxJoinDuration?: string;
};

/** The port may be given, for a server with other settings at an address that clients know. */
export async function kafkaServer(folder: string, settings: KafkaServerSettings, port?: number): Promise<ServerProcess> {
  const grpcPort = port ?? (await freePort());
  const config = join(folder, `server-${grpcPort}.yaml`);
  const { dynamic } = settings;
  const dynamicFile = `dynamic-${grpcPort}.yaml`;
  if (dynamic !== undefined) await writeFile(join(folder, dynamicFile), `${dynamic.join('\n')}\n`);
  const client = dynamic === undefined ? '' : `dynamicConfigClient: { filepath: ${dynamicFile}, pollInterval: 5s }\n`;
  await writeFile(config, `${client}${kafkaServerConfig(grpcPort, settings)}`);
  const args = ['server', 'start', '--config', config, '--allow-no-auth'];
  return new ServerProcess(grpcPort, args, programWith(settings.hidden ?? {}));
}

function kafkaServerConfig(port: number, settings: KafkaServerSettings): string {
  const { brokers, topicPrefix, replicationFactor, sasl, logLevel, perdure, maxJoinDuration } = settings;
  return [
    `log: { level: ${logLevel ?? 'error'}, format: json }`,
    `global: { membership: { maxJoinDuration: ${maxJoinDuration ?? '30s'} } }`,
    'persistence: { numHistoryShards: 4 }',
    `services: { frontend: { rpc: { grpcPort: ${port}, bindOnIP: 127.0.0.1 } } }`,
    'perdure:',
    '  kafka:',
    `    brokers: [${brokers.map((broker) => `"${broker}"`).join(', ')}]`,
    `    topicPrefix: "${topicPrefix}"`,
    `    replicationFactor: ${replicationFactor ?? 1}`,
    ...(sasl === undefined ? [] : [`    sasl: ${sasl}`]),
    ...(perdure ?? []).map((line) => `  ${line}`),
    '',
  ].join('\n');
}

export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-test-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
