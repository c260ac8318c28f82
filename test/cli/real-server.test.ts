/** `bin/perdure` with the whole server behind it, as users and SDK test environments start it. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type ConnectionOptions, isGrpcServiceError } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { afterAll, describe, expect, test } from 'vitest';
import * as activities from '../../examples/hello/activities.ts';
import { hello } from '../../examples/hello/workflows.ts';
import { freePort } from '../support/server-process.ts';
import { Child } from './child.ts';
import { childrenOfEachTest } from './children-of-test.ts';

const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));
const workflowsPath = fileURLToPath(new URL('../../examples/hello/workflows.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'perdure-real-'));
afterAll(() => rmSync(folder, { recursive: true }));

const children = childrenOfEachTest();

async function startDev(...flags: readonly string[]): Promise<{ child: Child; address: string }> {
  const child = new Child(bin, ['server', 'start-dev', '--port', '0', ...flags]);
  children.push(child);
  const port = /\d+$/.exec(await child.seen('out', /^Server: +localhost:\d+(?=\n)/m))?.[0] ?? '';
  return { child, address: `127.0.0.1:${port}` };
}

async function withClient<Result>(
  address: string,
  use: (client: Client, connection: Connection) => Promise<Result>,
  how: Pick<ConnectionOptions, 'interceptors'> = {},
): Promise<Result> {
  const connection = await Connection.connect({ address, ...how });
  try {
    return await use(new Client({ connection }), connection);
  } finally {
    await connection.close();
  }
}

describe('perdure server start-dev', () => {
  test('answers when its banner is there, on gRPC and on /health, and stops in silence', async () => {
    const { child, address } = await startDev('--namespace', 'orders', '--search-attribute', 'CustomerId=keyword');
    const health = await fetch(`http://${address}/health`);
    expect([health.status, await health.text()]).toEqual([200, '{"status":"SERVING"}']);
    await withClient(address, async (_client, connection) => {
      const { capabilities } = await connection.workflowService.getSystemInfo({});
      expect(capabilities?.signalAndQueryHeader).toBe(true);
      for (const namespace of ['default', 'orders']) {
        const described = await connection.workflowService.describeNamespace({ namespace });
        expect(described.namespaceInfo?.name).toBe(namespace);
      }
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'orders' });
      expect(customAttributes).toMatchObject({ CustomerId: 2 });
    });
    child.process.kill('SIGTERM');
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(child.err).toBe('');
  });

  test('with a file loses nothing that was acknowledged when it is killed', async () => {
    const flags = ['--db-filename', join(folder, 'kept.db'), '--namespace', 'orders'];
    const first = await startDev(...flags);
    const runId = await withClient(first.address, async (client) => {
      const handle = await client.workflow.start('hello', { taskQueue: 'nobody', workflowId: 'kept', args: ['x'] });
      await handle.signal('note', 1);
      return handle.firstExecutionRunId;
    });
    first.child.process.kill('SIGKILL');
    await first.child.exit;
    const second = await startDev(...flags);
    await withClient(second.address, async (client) => {
      const handle = client.workflow.getHandle('kept');
      const described = await handle.describe();
      expect([described.runId, described.status.name]).toEqual([runId, 'RUNNING']);
      const { events } = await handle.fetchHistory();
      expect(events?.map((event) => Number(event.eventId))).toEqual([1, 2, 3]);
    });
  });

  test('refuses a file that another server has open', async () => {
    const filename = join(folder, 'locked.db');
    await startDev('--db-filename', filename);
    const second = new Child(bin, ['server', 'start-dev', '--port', '0', '--db-filename', filename]);
    children.push(second);
    expect(await second.exit).toEqual({ code: 3, signal: null });
    expect(second.err).toMatch(
      /^perdure: \S*locked\.db is in use by another server or by a tool: stop one of them, or name another file\n$/,
    );
    expect(second.out).toBe('');
  });

  test('refuses a search attribute that exists with another type', async () => {
    const flags = ['--db-filename', join(folder, 'attributes.db'), '--search-attribute'];
    await startDev(...flags, 'City=Keyword');
    await children[0]?.stop();
    const again = new Child(bin, ['server', 'start-dev', '--port', '0', ...flags, 'City=Int']);
    children.push(again);
    expect(await again.exit).toEqual({ code: 1, signal: null });
    expect(again.err).toBe(
      'perdure: search attribute City exists with type Keyword, asked for is Int: a type never changes; choose another name\n',
    );
  });

  test.each(['kept.db', 'kept.db-state'])('says of %s, which it may only read, that it is read-only', async (readOnly) => {
    const home = mkdtempSync(join(tmpdir(), 'perdure-read-only-'));
    const filename = join(home, 'kept.db');
    const { child: first } = await startDev('--db-filename', filename);
    const [, ...files] = /^Persistence: +(\S+) and (\S+)$/m.exec(first.out) ?? [];
    expect(files).toEqual([filename, `${filename}-state`]);
    await children[0]?.stop();
    chmodSync(home, 0o777);
    for (const file of files) chmodSync(file, file.endsWith(readOnly) ? 0o444 : 0o666);
    // Root may write everywhere.
    const asNobody = process.getuid?.() === 0 ? ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'] : [];
    const line = [...asNobody, bin, 'server', 'start-dev', '--port', '0', '--db-filename', filename];
    const child = new Child(line[0] ?? bin, line.slice(1));
    children.push(child);
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.err).toContain(`perdure: ${join(home, readOnly)} cannot be written: it, or its folder, is read-only for this user\n`);
    rmSync(home, { recursive: true });
  });

  test('refuses a file that is no database of ours', async () => {
    const second = new Child(bin, ['server', 'start-dev', '--port', '0', '--db-filename', bin]);
    children.push(second);
    expect(await second.exit).toEqual({ code: 1, signal: null });
    expect(second.err).toMatch(/^perdure: /);
    expect(second.err).not.toMatch(/^ {4}at /m);
  });
});

describe('perdure server start', () => {
  function fileServer(name: string, more = ''): Child {
    const config = join(folder, `${name}.yaml`);
    const store = `persistence: {datastores: {default: {sql: {pluginName: sqlite, databaseName: ${name}.db}}}}`;
    writeFileSync(config, `services: {frontend: {rpc: {grpcPort: 0}}}\n${store}\n${more}`);
    const child = new Child(bin, ['server', 'start', '--config', config]);
    children.push(child);
    return child;
  }

  test('logs one line for the start, with what it found and what it took, and one at the end', async () => {
    for (const life of ['first', 'second']) {
      const child = fileServer('lines');
      const serving = JSON.parse(await child.seen('err', /^.*"msg":"serving".*$/m)) as Record<string, unknown>;
      expect(serving).toMatchObject({
        level: 'info',
        version: expect.stringMatching(/^0\.1\.0\+([0-9a-f]{8}|sources)$/),
        log: join(folder, 'lines.db'),
        shards: 4,
        seconds: expect.any(Number),
        'start-heap-mib': expect.any(Number),
        'heap-limit-mib': expect.any(Number),
      });
      expect(Number(serving['records']) > 0).toBe(life === 'second');
      child.process.kill('SIGTERM');
      expect(await child.exit).toEqual({ code: 0, signal: null });
      const messages = child.err
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { readonly msg: string }).msg);
      expect(messages).toEqual(['serving', 'stopping', 'stopped']);
    }
  });
});

describe('memory', () => {
  async function heapLimitMiB(env: Readonly<Record<string, string>>): Promise<number> {
    const child = new Child(bin, ['server', 'start-dev', '--port', '0', '--log-level', 'info'], env);
    children.push(child);
    return Number(/\d+$/.exec(await child.seen('err', /heap-limit-mib=\d+/))?.[0]);
  }

  test('the heap may take three quarters of the machine, or what NODE_OPTIONS say', async () => {
    const machine = Math.min(totalmem(), process.constrainedMemory() || Infinity) / 2 ** 20;
    const limit = await heapLimitMiB({ NODE_OPTIONS: '' });
    expect(Math.abs(limit - 0.75 * machine)).toBeLessThan(0.05 * machine);
    const small = await heapLimitMiB({ NODE_OPTIONS: '--max-old-space-size=200' });
    expect(small).toBeGreaterThanOrEqual(200);
    expect(small).toBeLessThan(450);
  });

  test('a heap that is nearly full is told before V8 ends the process', async () => {
    const child = new Child(bin, ['server', 'start-dev', '--port', '0'], {
      NODE_OPTIONS: '--max-old-space-size=48 --max-semi-space-size=1',
    });
    children.push(child);
    const port = /\d+$/.exec(await child.seen('out', /^Server: +localhost:\d+(?=\n)/m))?.[0] ?? '';
    // A start may be refused before this process has read the line; the SDK would try it again for a minute.
    const withoutRetries = { interceptors: [] };
    const fill = async (client: Client): Promise<void> => {
      let isFull = false;
      const filling = async (worker: number): Promise<void> => {
        for (let count = 0; !isFull; count++) {
          const start = { taskQueue: `queue-${worker}`, workflowId: `${worker}-${count}-${'x'.repeat(900)}` };
          await client.workflow.start('w', start).catch((error: unknown) => {
            if (!isRefused(error)) throw error;
            isFull = true;
          });
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, worker) => filling(worker)));
    };
    const seen = child.seen('err', /WARN .*the heap is nearly full.*heap-limit-mib=\d+/);
    await Promise.all([seen, withClient(`127.0.0.1:${port}`, fill, withoutRetries)]);
  });
});

/** RESOURCE_EXHAUSTED. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && isGrpcServiceError(error.cause) && error.cause.code === 8;
}

describe('npm run hello', () => {
  const hello = fileURLToPath(new URL('../../examples/hello/hello.ts', import.meta.url));

  test('runs in a namespace that exists, and says what to do about one that does not', async () => {
    const { address } = await startDev('--namespace', 'orders');
    const run = async (namespace: string): Promise<Child> => {
      const child = new Child(process.execPath, [hello], { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
      children.push(child);
      await child.exit;
      return child;
    };
    const unknown = await run('nowhere');
    expect(unknown.process.exitCode).toBe(1);
    expect(unknown.err).toContain(
      'Create the namespace with the Temporal CLI (temporal operator namespace create --namespace nowhere), or start the server with --namespace nowhere\n',
    );
    expect((await run('orders')).out).toContain('Hello, Perdure!\n');
  });
});

test('config validate --connect tries every broker and the database, and says of each what it said', async () => {
  const hangsUp = createServer((socket) => void socket.destroy());
  const closed = await freePort();
  await new Promise<void>((resolve) => void hangsUp.listen(0, '127.0.0.1', resolve));
  const { port } = hangsUp.address() as AddressInfo;
  const config = join(folder, 'unreachable.yaml');
  const postgres = `postgres: {host: 127.0.0.1, port: ${closed}, password: x}`;
  writeFileSync(config, `perdure: {kafka: {brokers: ["127.0.0.1:${closed}", "127.0.0.1:${port}"]}, ${postgres}}\n`);
  const child = new Child(bin, ['config', 'validate', '--connect', config]);
  children.push(child);
  expect(await child.exit).toEqual({ code: 1, signal: null });
  expect(child.out).toBe(`${config}: ok\n`);
  const [refused = '', cut = '', database = ''] = child.err.split('\n');
  expect(refused).toMatch(new RegExp(`^127\\.0\\.0\\.1:${closed}: .*ECONNREFUSED`));
  expect(cut).toMatch(
    new RegExp(`^127\\.0\\.0\\.1:${port}: what listens at .* closes the connection, with TLS and without: is it a broker`),
  );
  expect(database).toMatch(new RegExp(`^postgres 127\\.0\\.0\\.1:${closed}/perdure cannot be reached`));
  const json = new Child(bin, ['config', 'validate', '--connect', config, '-o', 'json']);
  children.push(json);
  expect(await json.exit).toEqual({ code: 1, signal: null });
  expect(JSON.parse(json.out)).toMatchObject({ ok: false, problems: [], connections: [{ ok: false }, { ok: false }, { ok: false }] });
  hangsUp.close();
});

test('an SDK’s test environment starts it and runs a workflow', async () => {
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'existing-path', path: bin }, namespace: 'sdk-tests' },
  });
  try {
    const { client, nativeConnection, namespace } = environment;
    expect(namespace).toBe('sdk-tests');
    const worker = await Worker.create({
      connection: nativeConnection,
      ...(namespace === undefined ? {} : { namespace }),
      taskQueue: 'hello',
      workflowsPath,
      activities,
    });
    const greeting = await worker.runUntil(client.workflow.execute(hello, { taskQueue: 'hello', workflowId: 'hello', args: ['SDK'] }));
    expect(greeting).toBe('Hello, SDK!');
  } finally {
    await environment.teardown();
  }
});
