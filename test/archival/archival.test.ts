/** Closed histories of a whole server, through the front door: kept in a folder, read from there when they are gone. */
import { mkdtemp, readFile, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningServer, ServerOptions } from '../../src/config/server-options.ts';
import { LetterClient } from '../grpc/deadletter-service/letter-client.ts';
import { memoryServer } from '../support/memory-server.ts';

const { ARCHIVAL_STATE_ENABLED: enabled, ARCHIVAL_STATE_DISABLED: disabled } = temporal.api.enums.v1.ArchivalState;

let folder: string;
let uri: string;
let server: RunningServer;
let connection: Connection;
let letters: LetterClient;

async function serve(more: Partial<ServerOptions> = {}): Promise<void> {
  server = await memoryServer({
    dynamicConfig: new Map<string, unknown>([
      ['history.archivalProcessorArchiveDelay', '1ms'],
      ['history.TaskDLQUnexpectedErrorAttempts', 1],
    ]),
    archival: {
      isPaused: false,
      isRead: true,
      fileMode: 0o600,
      dirMode: 0o700,
      roots: [folder],
      namespaceDefault: { isEnabled: false, uri },
    },
    ...more,
  });
  // What fails is told at once, and not tried again for a while.
  connection = await Connection.connect({ address: server.address, interceptors: [] });
  letters = new LetterClient(server.address);
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-archival-'));
  uri = `file://${folder}/kept`;
});
afterEach(async () => {
  letters.close();
  await connection.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

function register(namespace: string, more: temporal.api.workflowservice.v1.IRegisterNamespaceRequest = {}) {
  const workflowExecutionRetentionPeriod = { seconds: 86_400 as never };
  return connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod, ...more });
}

async function configOf(namespace: string) {
  const { config } = await connection.workflowService.describeNamespace({ namespace });
  return [config?.historyArchivalState, config?.historyArchivalUri];
}

/** Of a run with so many signals. */
async function closedRun(namespace: string, workflowId: string, signals = 3): Promise<string> {
  const { workflowService } = connection;
  const start = { namespace, workflowId, workflowType: { name: 'T' }, taskQueue: { name: 'q' }, requestId: workflowId };
  const { runId } = await workflowService.startWorkflowExecution(start);
  const workflowExecution = { workflowId, runId };
  for (let nth = 0; nth < signals; nth++)
    await workflowService.signalWorkflowExecution({ namespace, workflowExecution, signalName: `s${nth}` });
  await workflowService.terminateWorkflowExecution({ namespace, workflowExecution, reason: 'over' });
  return runId;
}

function historyOf(namespace: string, workflowId: string, runId: string, more: object = {}) {
  return connection.workflowService.getWorkflowExecutionHistory({ namespace, execution: { workflowId, runId }, ...more });
}

async function deleteRun(namespace: string, workflowId: string, runId: string): Promise<void> {
  const workflowExecution = { workflowId, runId };
  await connection.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
  const describe = () => connection.workflowService.describeWorkflowExecution({ namespace, execution: workflowExecution });
  await expect.poll(() => describe().then(String, (error: unknown) => String(error))).toContain('not found');
}

const files = (): Promise<readonly string[]> => readdir(join(folder, 'kept')).catch(() => []);
/** Whole, and none on its way. */
const oneFile = [expect.stringMatching(/^\d+_0\.history$/)];

async function openLetters(): Promise<readonly { readonly [field: string]: unknown }[]> {
  const { letters: listed = [] } = await letters.onceServed('ListDeadLetters', { queues: [{ category: 'archival' }] });
  return listed as readonly { readonly [field: string]: unknown }[];
}

test('a history that is closed is in the folder, and is read from there once the run is gone, as it was before', async () => {
  await serve();
  await register('kept', { historyArchivalState: enabled });
  expect(await configOf('kept')).toEqual([enabled, uri]);
  const runId = await closedRun('kept', 'order');
  await expect.poll(files, { timeout: 60_000 }).toEqual(oneFile);
  const before = await historyOf('kept', 'order', runId);
  await deleteRun('kept', 'order', runId);
  const after = await historyOf('kept', 'order', runId);
  expect([before.archived, after.archived]).toEqual([false, true]);
  expect(after.history).toEqual(before.history);
  expect(after.history?.events).toHaveLength(6);
  await expect(historyOf('kept', 'order', '00000000-0000-4000-8000-000000000000')).rejects.toThrow(
    'requested workflow history does not exist',
  );
});

test('a history whose file is damaged is reported as lost, and never shown as if it ended there', async () => {
  await serve();
  await register('kept', { historyArchivalState: enabled });
  const runId = await closedRun('kept', 'order');
  await expect.poll(files, { timeout: 60_000 }).toEqual(oneFile);
  await deleteRun('kept', 'order', runId);
  const path = join(folder, 'kept', (await files())[0] ?? '');
  await truncate(path, (await stat(path)).size - 20);
  await expect(historyOf('kept', 'order', runId)).rejects.toMatchObject({
    code: 15,
    details: 'the archived history ends in its middle',
  });
});

test('a long history is read page by page', async () => {
  await serve();
  await register('kept', { historyArchivalState: enabled });
  const runId = await closedRun('kept', 'order', 250);
  await expect.poll(files, { timeout: 60_000 }).toEqual(oneFile);
  const before: unknown[] = [];
  const after: unknown[] = [];
  const readInto = async (events: unknown[]): Promise<void> => {
    for (let nextPageToken: Uint8Array = new Uint8Array(0); ;) {
      const page = await historyOf('kept', 'order', runId, { maximumPageSize: 60, nextPageToken });
      events.push(...(page.history?.events ?? []));
      nextPageToken = page.nextPageToken;
      if (nextPageToken.length === 0) return;
    }
  };
  await readInto(before);
  await deleteRun('kept', 'order', runId);
  await readInto(after);
  expect(after).toHaveLength(253);
  expect(after).toEqual(before);
});

test('a folder that cannot be written makes a dead letter; once it can, a merge writes the file, and the dead letter is gone', async () => {
  await serve();
  await register('kept', { historyArchivalState: enabled });
  await writeFile(join(folder, 'kept'), 'in the way');
  await closedRun('kept', 'order');
  await expect.poll(openLetters, { timeout: 60_000 }).toMatchObject([
    {
      taskType: 'TASK_TYPE_ARCHIVAL_ARCHIVE_EXECUTION',
      namespace: 'kept',
      workflowId: 'order',
      cause: 'retries-exhausted',
      disposition: 'systemic',
    },
  ]);
  await rename(join(folder, 'kept'), join(folder, 'out of the way'));
  const request = {
    operation: 'OPERATION_MERGE',
    queue: { category: 'archival', sourceCluster: 'active' },
    selection: {},
    reason: 'mended',
  };
  const { plan } = await letters.onceServed('PlanDeadLetters', request);
  await letters.call('ApplyPlan', { planId: (plan as { readonly planId: string }).planId });
  await expect.poll(openLetters, { timeout: 60_000 }).toEqual([]);
  expect(await files()).toEqual(oneFile);
  expect(JSON.parse(await readFile(join(folder, 'kept', (await files())[0] ?? ''), 'utf8'))).toMatchObject([
    { events: [{ eventId: '1' }, {}, {}, {}, {}, {}] },
  ]);
});

test('a namespace names its folder once, below those that are allowed, and what is on can be off', async () => {
  await serve();
  const outside = register('outside', { historyArchivalState: enabled, historyArchivalUri: 'file:///etc/kept' });
  await expect(outside).rejects.toThrow('/etc/kept is outside of the folders that may be written');
  await register('own', { historyArchivalState: enabled, historyArchivalUri: `file://${folder}/own` });
  const update = (config: temporal.api.namespace.v1.INamespaceConfig) =>
    connection.workflowService.updateNamespace({ namespace: 'own', config });
  await expect(update({ historyArchivalUri: `file://${folder}/other` })).rejects.toThrow('Cannot update existing archival URI');
  await update({ historyArchivalState: disabled });
  expect(await configOf('own')).toEqual([disabled, `file://${folder}/own`]);
  await closedRun('own', 'not kept');
  await update({ historyArchivalState: enabled });
  await closedRun('own', 'kept');
  await expect.poll(() => readdir(join(folder, 'own')).catch(() => []), { timeout: 60_000 }).toHaveLength(1);
  await register('silent');
  expect(await configOf('silent')).toEqual([disabled, '']);
});

test('in a cluster that archives nothing a namespace that wants it is registered, and says that it has none', async () => {
  await serve({ archival: undefined });
  await register('kept', { historyArchivalState: enabled, historyArchivalUri: uri });
  expect(await configOf('kept')).toEqual([disabled, '']);
  const runId = await closedRun('kept', 'order');
  await deleteRun('kept', 'order', runId);
  await expect(historyOf('kept', 'order', runId)).rejects.toThrow('not found');
  expect(await files()).toEqual([]);
});

test('who waits for the end of what is archived is told it, and odd reads are refused', async () => {
  await serve();
  await register('kept', { historyArchivalState: enabled });
  const runId = await closedRun('kept', 'order');
  await expect.poll(files, { timeout: 60_000 }).toEqual(oneFile);
  await deleteRun('kept', 'order', runId);
  const client = new Client({ connection, namespace: 'kept' });
  await expect(client.workflow.getHandle('order', runId).result()).rejects.toMatchObject({ cause: { name: 'TerminatedFailure' } });
  const followed = await historyOf('kept', 'order', runId, { waitNewEvent: true });
  expect([followed.archived, followed.history?.events?.length, followed.nextPageToken.length]).toEqual([true, 6, 0]);
  await expect(historyOf('kept', 'order', runId, { nextPageToken: Buffer.from('x') })).rejects.toThrow('Invalid NextPageToken.');
  await expect(historyOf('kept', '../../order', runId)).rejects.toThrow('requested workflow history does not exist');
  await expect(historyOf('kept', 'order', '../../order')).rejects.toThrow('Invalid RunId.');
});
