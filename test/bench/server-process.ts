import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { GrpcConnection } from './grpc-connection.ts';
import { loopDelayEnvironment } from './loop-delay.ts';

const giveUpAfterMs = 60_000;

/** A server started from a command line in which `{port}` stands for a free port and `{folder}` for an empty folder of its own. */
export class ServerProcess {
  readonly address: string;
  readonly pid: number;
  /** From exec until GetSystemInfo was answered. */
  readonly readyMs: number;
  /** When it was started, on the clock of `performance.now()`. */
  readonly startedAt: number;
  /** What it writes is here. */
  readonly folder: string;
  /** For `loopDelayFigures`. */
  readonly loopDelayFile: string;
  readonly #command: string;
  readonly #child: ChildProcess;

  private constructor(command: string, child: ChildProcess, folder: string, pid: number, address: string, startedAt: number) {
    this.#command = command;
    this.#child = child;
    this.folder = folder;
    this.loopDelayFile = loopDelayFileIn(folder);
    this.pid = pid;
    this.address = address;
    this.startedAt = startedAt;
    this.readyMs = performance.now() - startedAt;
  }

  static async start(command: string): Promise<ServerProcess> {
    return ServerProcess.#startIn(command, await mkdtemp(join(tmpdir(), 'bench-server-')));
  }

  static async #startIn(command: string, folder: string): Promise<ServerProcess> {
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    const logFile = join(folder, 'output.log');
    const log = openSync(logFile, 'w');
    const startedAt = performance.now();
    // `exec`: the shell becomes the server, so that the process id is the server's own.
    const line = command.replaceAll('{port}', String(port)).replaceAll('{folder}', folder);
    const child = spawn('/bin/sh', ['-c', `exec ${line}`], {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...loopDelayEnvironment(loopDelayFileIn(folder)) },
    });
    closeSync(log);
    try {
      await answers(address, child);
    } catch (error) {
      child.kill('SIGKILL');
      throw new Error(`${command} did not start: ${String(error)}\n${readFileSync(logFile, 'utf8').slice(-2_000)}`, { cause: error });
    }
    if (child.pid === undefined) throw new Error(`${command} has no process id`);
    return new ServerProcess(command, child, folder, child.pid, address, startedAt);
  }

  /** SIGKILL, and the same command on the same folder. */
  async killAndStart(): Promise<ServerProcess> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
    return ServerProcess.#startIn(this.#command, this.folder);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exited = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
      await exited;
      clearTimeout(timer);
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}

function loopDelayFileIn(folder: string): string {
  return join(folder, 'loop-delay');
}

/** Asks every few milliseconds: a test environment does it every 100, which would round the figure. */
async function answers(address: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + giveUpAfterMs;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`exit code ${child.exitCode}`);
    try {
      const connection = await GrpcConnection.connect(address);
      try {
        await connection.call('GetSystemInfo', new Uint8Array(), 5);
        return;
      } finally {
        await connection.close();
      }
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(3);
    }
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  server.close();
  await once(server, 'close');
  return port;
}
