/**
 * A real PostgreSQL of the tests' own: data under the temporary folder, a free port on loopback, no passwords, fsync on.
 *
 * It refuses to run as root, so for root it runs as a user that every system has. Its backends are processes of their own, each the head of
 * its process group: who stops or kills the server has to name them all.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chown, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { driver, type Client } from '../../src/projections/postgres/driver.ts';
import { freePorts } from '../kafka/local-broker.ts';
import { pauseProcess } from '../support/pause-process.ts';
import type { PostgresPrograms } from './find-postgres.ts';
import type { ChildProcess } from 'node:child_process';

const run = promisify(execFile);

const startTimeoutMs = 60_000;
const stopTimeoutMs = 30_000;
/** Who owns the cluster: the role of every connection that names none. */
export const superuser = 'perdure';

type User = { readonly uid: number; readonly gid: number } | undefined;

export type LocalPostgresOptions = PostgresPrograms & {
  /** Lines of postgresql.conf: `name: value`. */
  readonly settings?: Readonly<Record<string, string>>;
};

export class LocalPostgres {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly folder: string;
  readonly #programs: PostgresPrograms;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #user: User;
  #child: ChildProcess | undefined;

  static async start(options: LocalPostgresOptions): Promise<LocalPostgres> {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-postgres-'));
    const user = await unprivilegedUser();
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    const [port = 0] = await freePorts(1);
    const postgres = new LocalPostgres(options, folder, port, user);
    const layout = ['--auth=trust', `--username=${superuser}`, '--encoding=UTF8', '--locale=C', '--no-sync'];
    await run(join(options.bin, 'initdb'), ['-D', postgres.#data, ...layout], { ...postgres.#as(), cwd: folder });
    await postgres.#launch();
    return postgres;
  }

  private constructor(options: LocalPostgresOptions, folder: string, port: number, user: User) {
    this.#programs = options;
    this.#settings = options.settings ?? {};
    this.folder = folder;
    this.port = port;
    this.#user = user;
  }

  /** A plain connection as superuser, to the database `postgres`. */
  async connect(): Promise<Client> {
    const client = new driver.Client({
      host: this.host,
      port: this.port,
      user: superuser,
      database: 'postgres',
      connectionTimeoutMillis: 10_000,
    });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  /** On such a connection: what a test prepares, or looks at. */
  async run(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = await this.connect();
    try {
      const { rows } = await client.query(statement);
      return rows as readonly Readonly<Record<string, unknown>>[];
    } finally {
      await client.end();
    }
  }

  /** SIGKILL to the server and to each backend: nothing is flushed, nothing says goodbye. */
  async kill9(): Promise<void> {
    const child = this.#child;
    const backends = backendsOf(child?.pid);
    await this.#end('SIGKILL');
    for (const backend of backends) signal(backend, 'SIGKILL');
    while (backends.some(isRunning)) await pause(5);
  }

  /** At once, but in order: clients are told, data is written. */
  async shutDown(): Promise<void> {
    this.resume();
    await this.#end('SIGINT');
  }

  /** The killed or stopped server again, on its port and its data. */
  async restart(): Promise<void> {
    await this.shutDown();
    await this.#launch();
  }

  /** Frozen: connections stay, and nothing is answered. */
  pause(): void {
    // First the server, or it would start backends that nobody stops.
    pauseProcess(this.#child);
    for (const backend of backendsOf(this.#child?.pid)) signal(backend, 'SIGSTOP');
  }

  resume(): void {
    for (const backend of backendsOf(this.#child?.pid)) signal(backend, 'SIGCONT');
    this.#child?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    await this.shutDown();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** What its backends have used so far, those that are gone left out: time that others take from us does not count. */
  cpuMs(): number {
    const spentNs = backendsOf(this.#child?.pid).map((pid) => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]));
    return spentNs.reduce((sum, ns) => sum + ns, 0) / 1e6;
  }

  /** A file among its data, which only the server reads: `pg_hba.conf` says who has to show a password, `server.key` is for TLS. */
  async addFile(name: string, text: string): Promise<void> {
    const path = join(this.#data, name);
    await writeFile(path, text, { mode: 0o600 });
    if (this.#user !== undefined) await chown(path, this.#user.uid, this.#user.gid);
    await this.reload();
  }

  /** Reads its configuration again: a new connection meets it when this ends. Other processes of the server hear of it in their own time. */
  async reload(): Promise<void> {
    // A backend is forked with what the postmaster had read by then, so a new one tells when the postmaster did.
    const readAt = async () => String((await this.run('SELECT pg_conf_load_time()::text AS at'))[0]?.['at']);
    const before = await readAt();
    await this.run('SELECT pg_reload_conf()');
    while ((await readAt()) === before) await pause(5);
  }

  get #data(): string {
    return join(this.folder, 'data');
  }

  get #log(): string {
    return join(this.folder, 'server.log');
  }

  #as(): { readonly uid?: number; readonly gid?: number; readonly env: NodeJS.ProcessEnv } {
    const libraries = this.#programs.libraries.join(':');
    return { ...this.#user, env: { ...process.env, ...(libraries === '' ? {} : { LD_LIBRARY_PATH: libraries }) } };
  }

  async #launch(): Promise<void> {
    const output = await open(this.#log, 'a');
    const settings = { ...ourSettings, ...this.#settings, port: String(this.port) };
    const child = spawn(
      join(this.#programs.bin, 'postgres'),
      ['-D', this.#data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      { ...this.#as(), cwd: this.folder, stdio: ['ignore', output.fd, output.fd] },
    );
    this.#child = child;
    await output.close();
    this.#watch(child);
    await this.#answering(child);
  }

  /** The server must not outlive this process, not even its SIGKILL: the watcher sees its input end. QUIT ends backends too. */
  #watch(child: ChildProcess): void {
    const watcher = spawn('sh', ['-c', `cat > /dev/null; kill -QUIT ${child.pid}; kill -CONT ${child.pid}`], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.once('exit', () => {
      watcher.kill('SIGKILL');
      watcher.stdin.destroy();
    });
    watcher.unref();
  }

  async #answering(child: ChildProcess): Promise<void> {
    const deadline = Date.now() + startTimeoutMs;
    for (;;) {
      try {
        await this.run('SELECT 1');
        return;
      } catch (error) {
        if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
          const said = await readFile(this.#log, 'utf8');
          throw new Error(`PostgreSQL did not start (exit code ${child.exitCode}); it said: ${said.slice(-2000)}`, { cause: error });
        }
      }
      await pause(20);
    }
  }

  async #end(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGQUIT'), stopTimeoutMs);
    await exited;
    clearTimeout(timer);
  }
}

const ourSettings: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  shared_buffers: '64MB',
  max_connections: '100',
  jit: 'off',
};

function backendsOf(pid: number | undefined): readonly number[] {
  if (pid === undefined) return [];
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function isRunning(pid: number): boolean {
  try {
    // `pid (name) state …`: a dead one that nobody has buried yet holds nothing.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !['Z', 'X'].includes(stat.charAt(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has gone by itself since it was found: its client left, or its server did.
  }
}

async function unprivilegedUser(): Promise<User> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const id = async (what: string): Promise<number> => Number((await run('id', [what, name])).stdout);
    const user = await Promise.all([id('-u'), id('-g')]).catch(() => undefined);
    if (user !== undefined) return { uid: user[0], gid: user[1] };
  }
  throw new Error('PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody');
}
