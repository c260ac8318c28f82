/**
 * A real Kafka broker in a JVM of its own: KRaft, broker and controller in one node, loopback only, data under the temporary folder.
 *
 * The first start in a checkout leaves an AppCDS archive behind when it is stopped; later starts take 0.7 s instead of 2.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { cacheFolder, kafkaVersion } from './kafka-libs.ts';
import { pauseProcess } from '../support/pause-process.ts';
import type { ChildProcess } from 'node:child_process';

const run = promisify(execFile);

export type LocalBrokerOptions = {
  readonly libs: string;
  /** Of Kafka, where it is not the one that the tests usually run on. */
  readonly version?: string;
  /** Lines that replace or join the settings below: `name=value`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Broker and controller port; free ones otherwise. */
  readonly ports?: readonly [number, number];
  /** Of `StorageTool format`, for SCRAM users. */
  readonly formatArguments?: readonly string[];
};

const jvm = ['-Xms128m', '-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData'];
const startTimeoutMs = 60_000;
const stopTimeoutMs = 30_000;

export class LocalBroker {
  readonly brokers: readonly string[];
  readonly folder: string;
  readonly #libs: string;
  readonly #version: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  static async start(options: LocalBrokerOptions): Promise<LocalBroker> {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-kafka-'));
    const [port = 0, controllerPort = 0] = options.ports ?? (await freePorts(2));
    const broker = new LocalBroker(options.libs, options.version ?? kafkaVersion, folder, port);
    const settings = { ...brokerSettings(folder, port, controllerPort), ...options.settings };
    await writeFile(
      broker.#properties,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    const format = ['-t', 'AAAAAAAAQACAAAAAAAAAAQ', '-c', broker.#properties, ...(options.formatArguments ?? [])];
    await run('java', [
      ...jvm,
      ...(await sharedArchive(broker.#version)),
      '-cp',
      `${options.libs}/*`,
      'kafka.tools.StorageTool',
      'format',
      ...format,
    ]);
    await broker.#launch();
    return broker;
  }

  private constructor(libs: string, version: string, folder: string, port: number) {
    this.#libs = libs;
    this.#version = version;
    this.folder = folder;
    this.#port = port;
    this.brokers = [`127.0.0.1:${port}`];
  }

  get #properties(): string {
    return join(this.folder, 'server.properties');
  }

  /** SIGKILL: nothing is flushed, nothing says goodbye. */
  async kill9(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** When it ends by itself. */
  async exited(): Promise<void> {
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }

  /** When compaction went through the first partitions of a topic: the cleaner keeps a list of how far it came. */
  async cleaned(topic: string, partitions: number): Promise<void> {
    const listed = async (): Promise<string> =>
      await readFile(join(this.folder, 'log', 'cleaner-offset-checkpoint'), 'utf8').catch(() => '');
    const cleanedAll = (list: string): boolean =>
      Array.from({ length: partitions }, (_, partition) => new RegExp(`^${topic} ${partition} [1-9]`, 'm')).every((line) =>
        line.test(list),
      );
    while (!cleanedAll(await listed())) await pause(50);
  }

  /** Starts the killed or stopped broker again, on its ports and its data. */
  async restart(): Promise<void> {
    if (this.#child !== undefined) await this.#end('SIGTERM');
    await this.#launch();
  }

  pause(): void {
    pauseProcess(this.#child);
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    this.resume();
    await this.#end('SIGTERM');
    await keepArchive(this.folder, this.#version);
    await rm(this.folder, { recursive: true, force: true });
  }

  async #launch(): Promise<void> {
    const output = await open(join(this.folder, 'broker.log'), 'a');
    const archive = await sharedArchive(this.#version);
    const flags = archive.length > 0 ? archive : [`-XX:ArchiveClassesAtExit=${join(this.folder, 'kafka.jsa')}`];
    const child = spawn('java', [...jvm, ...flags, '-cp', `${this.#libs}/*`, 'kafka.Kafka', this.#properties], {
      stdio: ['ignore', output.fd, output.fd],
    });
    this.#child = child;
    await output.close();
    this.#watch(child);
    await this.#answering(child);
  }

  /** The JVM must not outlive this process, not even its SIGKILL: the watcher sees its input end. */
  #watch(child: ChildProcess): void {
    const watcher = spawn('sh', ['-c', `cat > /dev/null; kill -KILL ${child.pid}`], { stdio: ['pipe', 'ignore', 'ignore'] });
    child.once('exit', () => {
      watcher.kill('SIGKILL');
      watcher.stdin.destroy();
    });
    watcher.unref();
  }

  /** Without a logging backend the broker says nothing: the port is the sign. */
  async #answering(child: ChildProcess): Promise<void> {
    const deadline = Date.now() + startTimeoutMs;
    while (!(await accepts(this.#port))) {
      if (child.exitCode !== null || Date.now() > deadline) {
        const said = await readFile(join(this.folder, 'broker.log'), 'utf8');
        throw new Error(`the Kafka broker did not start (exit code ${child.exitCode}); it said: ${said.slice(-2000)}`);
      }
      await pause(20);
    }
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
    await exited;
    clearTimeout(timer);
  }
}

function brokerSettings(folder: string, port: number, controllerPort: number): Readonly<Record<string, string>> {
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': join(folder, 'log'),
    'auto.create.topics.enable': 'false',
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'transaction.state.log.num.partitions': '1',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    'group.initial.rebalance.delay.ms': '0',
    'group.min.session.timeout.ms': '500',
    'num.network.threads': '2',
    'num.io.threads': '4',
    'background.threads': '2',
    'num.recovery.threads.per.data.dir': '1',
    'log.cleaner.dedupe.buffer.size': '2097152',
    'log.retention.check.interval.ms': '1000',
    'log.initial.task.delay.ms': '1000',
    'log.flush.start.offset.checkpoint.interval.ms': '1000',
    'file.delete.delay.ms': '1000',
    // The default of 9 s is how long a killed broker waits for its own ghost.
    'broker.session.timeout.ms': '1000',
    'broker.heartbeat.interval.ms': '200',
  };
}

/** An archive fits one Java and one Kafka only. */
async function archivePath(kafka: string): Promise<string> {
  return join(cacheFolder, `kafka-${kafka}-java-${(await javaVersion()) ?? 'unknown'}.jsa`);
}

let java: Promise<string | undefined> | undefined;

/** undefined: there is none on the path. To ask is to start one, so it is asked once. */
export async function javaVersion(): Promise<string | undefined> {
  java ??= run('java', ['-version']).then(
    ({ stderr }) => /version "([^"]+)"/.exec(stderr)?.[1] ?? 'unknown',
    () => undefined,
  );
  return await java;
}

async function sharedArchive(kafka: string): Promise<readonly string[]> {
  const path = await archivePath(kafka);
  // An archive that does not fit its jars (another KAFKA_LIBS) is passed over with a warning, no more.
  return await access(path).then(
    () => [`-XX:SharedArchiveFile=${path}`, '-Xlog:cds=off', '-Xlog:cds+dynamic=off'],
    () => [],
  );
}

async function keepArchive(folder: string, kafka: string): Promise<void> {
  await mkdir(cacheFolder, { recursive: true });
  const path = await archivePath(kafka);
  const copy = `${path}.${process.pid}`;
  try {
    await writeFile(copy, await readFile(join(folder, 'kafka.jsa')));
    await rename(copy, path);
  } catch {
    // None was made: there was one already, or the broker was killed.
    await rm(copy, { force: true });
  }
}

export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening');
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  for (const server of servers) await once(server.close(), 'close');
  return ports;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
  });
}
