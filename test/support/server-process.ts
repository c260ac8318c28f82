/** One `perdure` server as a child process that a test may kill, pause and start again on the same data. Ended by its id only. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pauseProcess } from './pause-process.ts';
import { ServiceClient } from './service-client.ts';
import {
  decodeGetSystemInfoResponse,
  emptyGetSystemInfoRequest,
  encodeGetSystemInfoRequest,
} from '../../src/wire/generated/lean/namespace_service.ts';

const perdure = fileURLToPath(new URL('../../bin/perdure', import.meta.url));
/** As `bin/perdure` has it: of what is started from its sources, most of a start is to compile them. */
const compileCache = fileURLToPath(new URL('../../node_modules/.cache/perdure', import.meta.url));
const getSystemInfo = { name: 'GetSystemInfo', encode: encodeGetSystemInfoRequest, decode: decodeGetSystemInfoResponse } as const;

const START_TIMEOUT_MS = 60_000;

export class ServerProcess {
  readonly address: string;
  readonly #program: readonly string[];
  readonly #args: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  readonly #output: string[] = [];
  #child: ChildProcess | undefined;
  #exited: Promise<number | null> | undefined;

  /** `args` follow the program; they must make it listen on `port` of the loopback address. `environment`: beside that of this process. */
  constructor(port: number, args: readonly string[], program: readonly string[] = [perdure], environment: NodeJS.ProcessEnv = {}) {
    this.address = `127.0.0.1:${port}`;
    this.#args = args;
    this.#program = program;
    this.#environment = environment;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** What it wrote since it was first started, both streams. */
  get output(): string {
    return this.#output.join('');
  }

  async start(): Promise<void> {
    const [program = perdure, ...first] = this.#program;
    const env = { NODE_COMPILE_CACHE: compileCache, ...process.env, ...this.#environment };
    const child = spawn(program, [...first, ...this.#args], { stdio: ['ignore', 'pipe', 'pipe'], env });
    this.#child = child;
    // With its last words, which may come after its exit.
    this.#exited = once(child, 'close').then(([code]) => code as number | null);
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => this.#output.push(chunk.toString()));
    await this.#untilServing(child);
  }

  async #untilServing(child: ChildProcess): Promise<void> {
    const client = new ServiceClient(this.address);
    const deadlineMs = Date.now() + START_TIMEOUT_MS;
    try {
      while (Date.now() < deadlineMs && child.exitCode === null) {
        if ((await client.call(getSystemInfo, emptyGetSystemInfoRequest(), 1_000)).kind === 'ok') return;
        await delay(20);
      }
    } finally {
      client.close();
    }
    throw new Error(`the server at ${this.address} does not serve (exit code ${child.exitCode}):\n${this.output}`);
  }

  /** Returns when the process is gone. */
  async kill9(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#exited;
  }

  pause(): void {
    pauseProcess(this.#child);
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** The code with which it ended by itself; undefined when it still runs after `timeoutMs`. */
  async exitCode(timeoutMs: number): Promise<number | null | undefined> {
    const timer = new AbortController();
    const code = await Promise.race([this.#exited, delay(timeoutMs, undefined, { signal: timer.signal, ref: false })]);
    timer.abort();
    return code;
  }

  async stop(): Promise<void> {
    if (this.#child === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGCONT');
    this.#child.kill('SIGTERM');
    if ((await this.exitCode(10_000)) === undefined) await this.kill9();
  }
}

export async function freePort(): Promise<number> {
  for (;;) {
    // Below those that systems give to connections: one of another test's would take it between the end of a server and the start of the next.
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
