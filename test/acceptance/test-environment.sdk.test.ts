/**
 * The SDK's own test environment starts our executable as it would start Temporal's: spawn, connect within 5 s, SIGKILL at the end.
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { LocalTestWorkflowEnvironmentOptions } from '@temporalio/testing';
import { bundleWorkflowCode, DefaultLogger, makeTelemetryFilterString, Runtime, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { beforeAll, describe, expect, test } from 'vitest';
import { Child } from '../cli/child.ts';
import { followHistory, readHistory } from '../sdk/history.ts';
import { freePort } from '../support/server-process.ts';
import { withFolder } from '../support/servers.ts';
import * as activities from './activities.ts';
import { argumentsOf, processesWith } from './processes.ts';
import { guestBook, hello, visit } from './workflows.ts';

const perdure = fileURLToPath(new URL('../../bin/perdure', import.meta.url));
const executable = { type: 'existing-path', path: perdure } as const;
const taskQueue = 'acceptance';
let workflowBundle: WorkflowBundleWithSourceMap;

beforeAll(async () => {
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger, telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } } });
  workflowBundle = await bundleWorkflowCode({ workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)), logger });
});

type ServerOptions = NonNullable<LocalTestWorkflowEnvironmentOptions['server']>;

async function withEnvironment<T>(
  server: Omit<ServerOptions, 'executable'>,
  use: (env: TestWorkflowEnvironment) => Promise<T>,
): Promise<T> {
  const env = await created({ server: { executable, ...server } });
  try {
    return await use(env);
  } finally {
    await env.teardown();
  }
}

/** The SDK gives a server five seconds to start, which a machine that does much else may not have. */
async function created(options: LocalTestWorkflowEnvironmentOptions, triesLeft = 5): Promise<TestWorkflowEnvironment> {
  try {
    return await TestWorkflowEnvironment.createLocal(options);
  } catch (error) {
    if (triesLeft === 1 || !/connect|start/i.test(String(error))) throw error;
    return await created(options, triesLeft - 1);
  }
}

/** With a worker beside it for as long as `work` takes. */
async function worked<T>(env: TestWorkflowEnvironment, work: () => Promise<T>): Promise<T> {
  const worker = await Worker.create({
    connection: env.nativeConnection,
    namespace: env.namespace ?? 'default',
    taskQueue,
    workflowBundle,
    activities,
  });
  return await worker.runUntil(work);
}

function greet(env: TestWorkflowEnvironment, name: string): Promise<string> {
  return worked(env, () => env.client.workflow.execute(hello, { taskQueue, workflowId: `hello-${randomUUID()}`, args: [name] }));
}

function serversOn(port: number): readonly number[] {
  return processesWith('server', 'start-dev', '--port', String(port));
}

function serverOn(port: number): number {
  const [pid, other] = serversOn(port);
  if (pid === undefined || other !== undefined) throw new Error(`not one server on port ${port}: ${pid}, ${other}`);
  return pid;
}

describe('TestWorkflowEnvironment.createLocal starts bin/perdure', () => {
  test('a workflow with an activity runs, and teardown leaves no process', async () => {
    const port = await withEnvironment({}, async (env) => {
      expect(await greet(env, 'test environment')).toBe('Hello, test environment!');
      const started = Number(env.address.split(':').at(-1));
      expect(serversOn(started)).toHaveLength(1);
      return started;
    });
    expect(serversOn(port)).toEqual([]);
  });

  test("with the SDK's own arguments it says nothing but its banner", async () => {
    const line = await withEnvironment({}, async (env) => {
      const pid = serverOn(Number(env.address.split(':').at(-1)));
      const all = argumentsOf(pid);
      return all.slice(all.indexOf('server'));
    });
    expect(line).toContain('--dynamic-config-value');
    const server = new Child(perdure, line);
    await server.seen('out', /--workflow-id ID$/m);
    server.process.kill('SIGTERM');
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(server.err).toBe('');
    expect(server.out.trimEnd().split('\n')).toHaveLength(8);
  });

  test('ten times in a row, each on the port that the one before just left', async () => {
    const port = await freePort();
    for (let round = 1; round <= 10; round++) {
      await withEnvironment({ port }, async (env) => {
        expect(await greet(env, `round ${round}`)).toBe(`Hello, round ${round}!`);
      });
      expect(serversOn(port)).toEqual([]);
    }
  });

  test('its namespace and search attributes are there with the first call', async () => {
    const city = defineSearchAttributeKey('City', SearchAttributeType.KEYWORD);
    const guests = defineSearchAttributeKey('Guests', SearchAttributeType.INT);
    await withEnvironment({ namespace: 'acceptance-ns', searchAttributes: [city, guests] }, async (env) => {
      const typedSearchAttributes = new TypedSearchAttributes([
        { key: city, value: 'Zürich' },
        { key: guests, value: 3 },
      ]);
      const workflowId = randomUUID();
      const handle = await env.client.workflow.start(hello, { taskQueue, workflowId, args: ['attributes'], typedSearchAttributes });
      const described = await handle.describe();
      expect([described.typedSearchAttributes.get(city), described.typedSearchAttributes.get(guests)]).toEqual(['Zürich', 3]);
      expect(await worked(env, () => handle.result())).toBe('Hello, attributes!');
      const unknown = defineSearchAttributeKey('Country', SearchAttributeType.KEYWORD);
      const refused = env.client.workflow.start(hello, {
        taskQueue,
        workflowId: randomUUID(),
        args: ['nobody'],
        typedSearchAttributes: new TypedSearchAttributes([{ key: unknown, value: 'CH' }]),
      });
      await expect(refused).rejects.toMatchObject({ cause: { code: 3, details: expect.stringContaining('Country') } });
    });
  });
});

describe('--db-filename', () => {
  test('five SIGKILLs lose nothing that was acknowledged, and a worker finishes the work', async () => {
    const kills = 5;
    await withFolder(async (folder) => {
      const dbFilename = join(folder, 'perdure.db');
      const port = await freePort();
      const workflowId = 'guest-book';
      const acknowledged: string[] = [];
      let runId = '';
      for (let life = 0; life < kills; life++) {
        const env = await TestWorkflowEnvironment.createLocal({ server: { executable, dbFilename, port } });
        const { workflow } = env.client;
        if (life === 0) runId = (await workflow.start(guestBook, { taskQueue, workflowId, args: [2 * kills] })).firstExecutionRunId;
        for (const name of [`guest ${life}a`, `guest ${life}b`]) {
          await workflow.getHandle<typeof guestBook>(workflowId).signal(visit, name);
          acknowledged.push(name);
        }
        // Some lives have a worker that greets all who came, some have none.
        if (life % 2 === 1) {
          await worked(env, () =>
            followHistory(
              workflow,
              'default',
              { workflowId, runId },
              ({ types }) => greeted(types) === acknowledged.length && types.at(-1) === 'WorkflowTaskCompleted',
            ),
          );
        }
        process.kill(serverOn(port), 'SIGKILL');
        await env.teardown().catch(() => {});
      }
      await withEnvironment({ dbFilename, port }, async (env) => {
        const handle = env.client.workflow.getHandle<typeof guestBook>(workflowId);
        expect(await worked(env, () => handle.result())).toEqual(acknowledged.map((name) => `Hello, ${name}!`));
        const { types } = await readHistory(env.client.workflow, 'default', { workflowId, runId });
        expect(types.filter((type) => type === 'WorkflowExecutionSignaled')).toHaveLength(acknowledged.length);
        expect(greeted(types)).toBe(acknowledged.length);
      });
    });
  });

  function greeted(types: readonly string[]): number {
    return types.filter((type) => type === 'ActivityTaskCompleted').length;
  }
});

describe('the end of a server', () => {
  test.each(['in memory', 'in a file'] as const)(
    'SIGTERM with work and polls under way, journals %s: exit 0, port free at once',
    async (where) => {
      await withFolder(async (folder) => {
        const port = await freePort();
        const file = where === 'in a file' ? ['--db-filename', join(folder, 'perdure.db')] : [];
        const line = ['server', 'start-dev', '--port', String(port), '--headless', '--log-level', 'error', ...file];
        const server = new Child(perdure, line);
        await server.seen('out', /^Server:/m);
        const env = await TestWorkflowEnvironment.createFromExistingServer({ address: `127.0.0.1:${port}` });
        const worker = await Worker.create({
          connection: env.nativeConnection,
          namespace: 'default',
          taskQueue,
          workflowBundle,
          activities,
        });
        const running = worker.run();
        await env.client.workflow.execute(hello, { taskQueue, workflowId: randomUUID(), args: ['SIGTERM'] });
        server.process.kill('SIGTERM');
        expect(await server.exit).toEqual({ code: 0, signal: null });
        const next = new Child(perdure, line);
        await next.seen('out', /^Server:/m);
        worker.shutdown();
        await running;
        await env.teardown();
        next.process.kill('SIGTERM');
        expect(await next.exit).toEqual({ code: 0, signal: null });
        await rm(join(folder, 'perdure.db'), { force: true });
      });
    },
  );
});
