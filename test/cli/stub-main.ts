/**
 * The command line in a process of its own, over a server that only listens. How it behaves stands in STUB:
 * `serve`, `slow-start`, `long-replay` (a second, in which it moves), `slow-stop`, `fatal`, `fenced` and `bug` (soon after the start), `refuse` and
 * `taken` (fail to start). With STUCK_THREAD a thread of it is in an SQLite statement that never ends.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { leaveAtOnce } from '../../src/cli/leave-at-once.ts';
import { runCli } from '../../src/cli/run.ts';
import { AnotherServerError } from '../../src/config/another-server.ts';
import type { RunningServer, ServerOptions } from '../../src/config/server-options.ts';

async function startServer(options: ServerOptions): Promise<RunningServer> {
  const how = process.env['STUB'] ?? 'serve';
  if (how === 'slow-start') {
    process.stderr.write('starting\n');
    await new Promise<never>(() => void setInterval(() => {}, 1_000));
  }
  if (how === 'long-replay') {
    for (let step = 0; step < 50; step++) {
      options.onProgress?.();
      await pause(20);
    }
  }
  if (how === 'refuse') throw new Error('the log is locked', { cause: new Error('another process has it') });
  if (how === 'taken') throw new AnotherServerError('another server serves it');
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  if (how === 'fenced') setImmediate(() => options.onFatal(new AnotherServerError('another server took it')));
  if (how === 'bug') setImmediate(throwBug);
  options.logger.debug('stub listens');
  if (how === 'fatal') setImmediate(() => options.onFatal(new Error('the disk is full')));
  const address = server.address();
  return {
    address: options.host,
    port: typeof address === 'object' && address !== null ? address.port : 0,
    rolePorts: {},
    started: { log: 'stub', topicPrefix: 'stub', historyShards: 4, records: 7, bytes: 0 },
    stop: async () => {
      options.logger.info('stub stops');
      if (how === 'slow-stop') await new Promise<never>(() => {});
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

function throwBug(): never {
  throw new Error('oops');
}

/** Resolves when the thread is about to begin its statement. */
async function stickThread(): Promise<void> {
  const forever = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n';
  const program = `
    const db = new (require('node:sqlite').DatabaseSync)(':memory:');
    const statement = db.prepare('${forever}');
    require('node:worker_threads').parentPort.postMessage('begins');
    statement.get();`;
  await once(new Worker(program, { eval: true }), 'message');
}

if (process.env['STUCK_THREAD'] !== undefined) await stickThread();
let waitsForThreads = true;
const code = await runCli(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  env: process.env,
  outTaken: async () => true,
  leaveThreads: () => (waitsForThreads = false),
  terminal: { columns: undefined, showsErrors: false, answers: false, ask: async () => undefined },
  loadServer: async () => ({
    startServer,
    tryStart: async () => [],
  }),
});
if (!waitsForThreads) leaveAtOnce(code);
process.exit(code);
