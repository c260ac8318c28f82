/**
 * An incident with dead letters, from the first failure to zero, on a server of its own in a temporary folder.
 *
 *     npm run demo:dead-letters
 *
 *     a server in which starts of children fail ─▶ orders hang ─▶ letters: list, groups, show
 *     the same server without the fault         ─▶ merge ─▶ the orders complete
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { order } from './workflows.ts';

const perdure = fileURLToPath(new URL('../../bin/perdure', import.meta.url));
const fault = 'task=TASK_TYPE_TRANSFER_START_CHILD_EXECUTION,kind=failed,error=Unavailable dependency: the warehouse does not answer';
const taskQueue = 'dead-letters-demo';
const ORDERS = 6;
const WAIT_MS_MAX = 30_000;

class Server {
  readonly address: string;
  readonly #file: string;
  #process: ChildProcess | undefined;

  constructor(port: number, file: string) {
    this.address = `127.0.0.1:${port}`;
    this.#file = file;
  }

  async start(...flags: readonly string[]): Promise<void> {
    const args = ['server', 'start-dev', '--headless', '--port', this.address.split(':')[1] ?? '', '--db-filename', this.#file, ...flags];
    // Banner and warnings would drown the story.
    this.#process = spawn(perdure, args, { stdio: 'ignore' });
    await until(`a server on ${this.address}`, async () => {
      const connection = await Connection.connect({ address: this.address, connectTimeout: '1 second' });
      await connection.close();
      return true;
    });
  }

  async stop(): Promise<void> {
    const stopping = this.#process;
    if (stopping === undefined || stopping.exitCode !== null) return;
    const exited = new Promise((resolve) => stopping.once('exit', resolve));
    stopping.kill('SIGTERM');
    await exited;
  }

  /** What a person would type, and what comes of it. */
  async show(...args: readonly string[]): Promise<string> {
    console.log(`\n$ perdure ${args.map((arg) => (/\s/u.test(arg) ? `'${arg}'` : arg)).join(' ')}`);
    const printed = await this.run(...args);
    process.stdout.write(printed);
    return printed;
  }

  async run(...args: readonly string[]): Promise<string> {
    const env = { ...process.env, TEMPORAL_ADDRESS: this.address };
    const child = spawn(perdure, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    for await (const chunk of child.stdout) printed += String(chunk);
    return printed;
  }
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    if (await isSo().catch(() => false)) return;
    if (performance.now() > endMs) throw new Error(`waited ${WAIT_MS_MAX / 1_000} s in vain for ${what}`);
    await sleep(200);
  }
}

async function incident(server: Server): Promise<void> {
  say(`A server in which starts of children fail, and ${ORDERS} orders that each start one:`);
  await server.start('--dynamic-config-value', 'history.TaskDLQUnexpectedErrorAttempts=2', '--dev-faults', fault);
  const nativeConnection = await NativeConnection.connect({ address: server.address });
  const workflowsPath = fileURLToPath(new URL('./workflows.ts', import.meta.url));
  const worker = await Worker.create({ connection: nativeConnection, taskQueue, workflowsPath });
  const connection = await Connection.connect({ address: server.address });
  try {
    await worker.runUntil(async () => {
      const client = new Client({ connection });
      const orders = Array.from({ length: ORDERS }, (_, nth) =>
        client.workflow.start(order, { taskQueue, workflowId: `order-${nth + 1}` }),
      );
      const handles = await Promise.all(orders);
      await until(
        'the dead letters',
        async () => (await server.run('admin', 'queue', 'dlq', 'count', '--category', 'transfer')).trim() === String(ORDERS),
      );
      await server.show('admin', 'queue', 'dlq', 'list');
      await server.show('admin', 'queue', 'dlq', 'groups', '--category', 'transfer');
      await server.show('admin', 'queue', 'dlq', 'read', '--category', 'transfer', '-o', 'text');
      say('The dependency is repaired: the same server, without the fault. What was tried too often still waits in the queue:');
      await server.stop();
      await server.start();
      await server.show('admin', 'queue', 'dlq', 'merge', '--category', 'transfer', '--reason', 'the warehouse answers again');
      const results = await Promise.all(handles.map((handle) => handle.result()));
      say(`And ${results.filter((result) => result === 'shipped').length} of ${ORDERS} orders are shipped.`);
      await server.show('admin', 'queue', 'dlq', 'count', '--category', 'transfer');
      await server.show('admin', 'queue', 'dlq', 'job', 'list');
    });
  } finally {
    await connection.close();
    await nativeConnection.close();
  }
}

function say(text: string): void {
  console.log(`\n${text}`);
}

async function freePort(): Promise<number> {
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

// Its connection is lost while the server is started again.
Runtime.install({ logger: new DefaultLogger('ERROR') });
const folder = mkdtempSync(join(tmpdir(), 'perdure-demo-'));
const server = new Server(await freePort(), join(folder, 'demo.db'));
try {
  await incident(server);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}
