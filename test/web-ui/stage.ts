/** A server with workflows in every state that a page shows, a worker for them, and Temporal's web UI beside it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { Context } from '@temporalio/activity';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { freePort } from '../support/server-process.ts';
import { embeddedServer } from '../support/servers.ts';

const START_TIMEOUT_MS = 30_000;
const taskQueue = 'orders';

export type Stage = {
  /** Of the web UI, without a slash at its end. */
  readonly url: string;
  readonly client: Client;
  readonly taskQueue: string;
  stop(): Promise<void>;
};

/** `webUi` is the program that test/web-ui/server builds. */
export async function openStage(webUi: string): Promise<Stage> {
  const undo: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const server = await embeddedServer();
    undo.push(() => server.stop());
    await server.start();
    const connection = await Connection.connect({ address: server.address });
    undo.push(() => connection.close());
    undo.push(await startWorker(server.address));
    const ui = await startWebUi(webUi, server.address);
    undo.push(() => ui.stop());
    return { url: ui.url, client: new Client({ connection }), taskQueue, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startWorker(address: string): Promise<() => Promise<void>> {
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger, telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } } });
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    taskQueue,
    identity: 'warehouse-worker',
    workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
    activities: { reserveStock },
    shutdownForceTime: '5s',
  });
  const ran = worker.run();
  return async () => {
    worker.shutdown();
    await ran;
    await connection.close();
  };
}

/** Ends when it is cancelled, which it hears of by its heartbeats. */
async function reserveStock(sku: string): Promise<void> {
  const context = Context.current();
  context.heartbeat(`looking for ${sku}`);
  await context.cancelled;
}

async function startWebUi(program: string, address: string): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const port = await freePort();
  const child = spawn(program, ['-address', address, '-port', String(port)], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk.toString()));
  const closed = once(child, 'close');
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await closed;
  };
  const url = `http://127.0.0.1:${port}`;
  const deadlineMs = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadlineMs && child.exitCode === null) {
    const answer = await fetch(`${url}/healthz`).catch(() => undefined);
    if (answer?.ok === true) return { url, stop };
    await delay(20);
  }
  await stop();
  throw new Error(`the web UI does not serve:\n${output.join('')}`);
}
