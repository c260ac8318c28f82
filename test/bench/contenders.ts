import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startKafka } from '../kafka/broker.ts';
import { startPostgres } from '../postgres/postgres.ts';
import { superuser } from '../postgres/local-postgres.ts';

/** One server to measure, one column of the table: started by a command, or running at an address. */
export type Contender = {
  readonly name: string;
  readonly command: string | undefined;
  readonly address: string | undefined;
  /** Processes beside the server itself whose CPU counts: a broker, a database. */
  readonly pids: readonly number[];
};

export type Field = { readonly contenders: readonly Contender[]; readonly close: () => Promise<void> };

const perdure = fileURLToPath(new URL('../../bin/perdure', import.meta.url));
const startDev = `${perdure} server start-dev --headless --log-level error --port {port}`;

/**
 * Our own server by the names of its logs: `memory`, `file`, `kafka`; `postgres`: on Kafka, with its state in PostgreSQL.
 *
 * On Kafka a broker is started for the whole run, and every start of the server gets topics of its own: a server that first has to read
 * what the last round left would be measured for that.
 */
export async function perdureContenders(logs: readonly string[]): Promise<Field> {
  const contenders: Contender[] = [];
  const closers: Closer[] = [];
  let kafka: Broker | undefined;
  for (const log of logs) {
    if (log === 'memory') contenders.push(started('Perdure, memory', startDev));
    else if (log === 'file') contenders.push(started('Perdure, file', `${startDev} --db-filename {folder}/perdure.db`));
    else if (log === 'kafka' || log === 'postgres') {
      kafka ??= await broker(closers);
      contenders.push(await onKafka(kafka, log === 'postgres' ? await database(closers) : undefined, closers));
    } else throw new Error(`--perdure takes memory, file, kafka, postgres; found ${log}`);
  }
  return { contenders, close: async () => void (await Promise.all(closers.map((close) => close()))) };
}

/**
 * Temporal's dev server as it comes, and with the queue readers of its history service unrationed: 20 polls a second and shard is a
 * default that nobody tuned, and it, not the server, would be what is measured.
 */
export function temporalContenders(program: string, modes: readonly string[]): readonly Contender[] {
  const command = `${program} server start-dev --headless --log-level error --port {port}`;
  return modes.map((mode) => {
    if (mode === 'memory') return started('Temporal, memory', command);
    if (mode === 'file') return started('Temporal, file', `${command} --db-filename {folder}/temporal.db`);
    if (mode === 'raised') {
      return started('Temporal, raised', `${command} --dynamic-config-value history.transferProcessorMaxPollRPS=1000`);
    }
    throw new Error(`--temporal-modes takes memory, file, raised; found ${mode}`);
  });
}

export function started(name: string, command: string, pids: readonly number[] = []): Contender {
  return { name, command, address: undefined, pids };
}

type Closer = () => Promise<void>;
type Broker = { readonly brokers: readonly string[]; readonly pids: readonly number[] };
type Database = { readonly url: string; readonly pids: readonly number[] };

async function broker(closers: Closer[]): Promise<Broker> {
  const kafka = await startKafka();
  if (kafka.brokers === undefined) throw new Error(`no Kafka broker: ${kafka.reason}`);
  closers.push(() => kafka.stop());
  return { brokers: kafka.brokers, pids: await childrenRunning('kafka.Kafka') };
}

async function database(closers: Closer[]): Promise<Database> {
  const postgres = await startPostgres();
  closers.push(() => postgres.stop());
  return { url: `postgres://${superuser}@${postgres.host}:${postgres.port}/postgres`, pids: await childrenRunning('postgres') };
}

async function onKafka({ brokers, pids }: Broker, state: Database | undefined, closers: Closer[]): Promise<Contender> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-kafka-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const config = join(folder, 'server.yaml');
  await writeFile(config, serverConfig(brokers, state));
  const command = `env BENCH_PORT={port} BENCH_PREFIX=bench-{port} ${perdure} server start --allow-no-auth --config ${config}`;
  return started(state === undefined ? 'Perdure, Kafka' : 'Perdure, Kafka + PostgreSQL', command, [...pids, ...(state?.pids ?? [])]);
}

function serverConfig(brokers: readonly string[], state: Database | undefined): string {
  const kafka = `{ brokers: ${JSON.stringify(brokers)}, topicPrefix: "\${BENCH_PREFIX}", replicationFactor: 1 }`;
  return [
    'log: { level: error, format: json }',
    'services: { frontend: { rpc: { grpcPort: "${BENCH_PORT}", bindOnIP: 127.0.0.1 } } }',
    `perdure: { kafka: ${kafka}${state === undefined ? '' : `, postgres: { url: "${state.url}" }`} }`,
    '',
  ].join('\n');
}

/** Processes that this one started and whose command line has that word: the broker, whose CPU belongs to the server's. */
async function childrenRunning(word: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    const [stat, command] = await Promise.all(
      ['stat', 'cmdline'].map((file) => readFile(join('/proc', name, file), 'utf8').catch(() => '')),
    );
    const parent = Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    if (parent === process.pid && command?.includes(word)) found.push(Number(name));
  }
  return found;
}
