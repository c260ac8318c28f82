/**
 * A server whose log is in a file keeps its state in another one beside it: it goes on from there when it was killed, its log is trimmed, and
 * two files that do not belong together are refused in words.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { describe, expect, test } from 'vitest';
import { rowsOf } from '../support/listed-workflows.ts';
import { memoryServer } from '../support/memory-server.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';
import type { RunningServer } from '../../src/config/server-options.ts';

const workflows = 150;
const waitMsMax = 30_000;

test('after kill -9 everything is there, though the journal was trimmed; and once more', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'x.db');
    const server = await embeddedServer(file);
    try {
      await server.start();
      const before = await withClient(server.address, async (client) => {
        const handles = await Promise.all(ids(workflows).map((workflowId) => started(client, workflowId)));
        await Promise.all(handles.map((handle, nth) => (nth % 3 === 0 ? handle.terminate() : handle.signal('paid', nth))));
        return await seenIn(client);
      });
      await until(() => Number(stateRow(file, 'SELECT count(*) AS runs FROM runs WHERE status = 5')['runs']) === workflows / 3);
      for (let restart = 1; restart <= 2; restart++) {
        await server.kill9();
        expect(trimmedRecords(file), 'what checkpoints hold has left the journal').toBeGreaterThan(workflows);
        await server.start();
        expect(await withClient(server.address, seenIn), `restart ${restart}`).toEqual(before);
        await withClient(server.address, async (client) => {
          await started(client, `later-${restart}`);
          await client.workflow.getHandle('wf-1').signal('paid', restart);
          expect(await rowsOf(client)).toHaveLength(workflows + restart);
          await client.workflow.getHandle(`later-${restart}`).terminate();
          before.rows = await rowsOf(client);
          before.histories = await historiesIn(client);
        });
      }
    } finally {
      await server.stop();
    }
  });
});

test('after kill -9 tasks that wait for a worker reach one, though their journals were trimmed', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'x.db');
    const server = await embeddedServer(file);
    try {
      const waiting = ids(30);
      await server.start();
      await withClient(server.address, async (client) => await Promise.all(waiting.map((workflowId) => started(client, workflowId))));
      await until(() => Number(stateRow(file, 'SELECT count(*) AS tasks FROM matching_tasks')['tasks']) === waiting.length);
      await server.kill9();
      // Each journal but for its last record, which the checkpoint leaves as a witness; killed right in front of that, a start makes good for it.
      for (let starts = 0; trimmedRecords(file, 'perdure.matching') === 0; starts++) {
        expect(starts).toBeLessThan(10);
        await server.start();
        await server.kill9();
      }
      await server.start();
      const polled = await withClient(server.address, async (client) => await tasksOf(client, waiting.length));
      expect(polled.toSorted()).toEqual(waiting.toSorted());
    } finally {
      await server.stop();
    }
  });
});

test('tasks that wait for a worker are stored once, however often the server is killed; each reaches a worker once', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'x.db');
    const server = await embeddedServer(file);
    const stored = (): number => Number(stateRow(file, 'SELECT count(*) AS tasks FROM matching_tasks')['tasks']);
    const noted = (): number => Number(stateRow(file, 'SELECT count(*) AS tasks FROM transfer_tasks WHERE at_matching = 1')['tasks']);
    try {
      const waiting = [...ids(40)];
      await server.start();
      await withClient(server.address, async (client) => await Promise.all(waiting.map((workflowId) => started(client, workflowId))));
      for (let restart = 1; restart <= 3; restart++) {
        await until(() => noted() === waiting.length && stored() >= waiting.length);
        expect(stored(), `before kill ${restart}`).toBe(waiting.length);
        await server.kill9();
        await server.start();
        waiting.push(`later-${restart}`);
        await withClient(server.address, async (client) => await started(client, `later-${restart}`));
      }
      await until(() => noted() === waiting.length && stored() >= waiting.length);
      expect(stored(), 'in the end').toBe(waiting.length);
      const polled = await withClient(server.address, async (client) => await tasksOf(client, waiting.length));
      expect(polled.toSorted()).toEqual(waiting.toSorted());
      await until(() => stored() === 0);
    } finally {
      await server.stop();
    }
  });
});

describe('a start is refused', () => {
  test('with the state of another cluster, which is named, and goes on with its own', async () => {
    await withFolder(async (folder) => {
      const [one, other] = [join(folder, 'one.db'), join(folder, 'other.db')];
      await served(one);
      await served(other);
      const own = await readFile(`${other}-state`);
      await copyFile(`${one}-state`, `${other}-state`);
      const [mine, theirs] = [String(clusterOf(one)), await clusterInLogOf(other, own)];
      await expect(serverOn(other)).rejects.toThrow(
        `sqlite ${other}-state holds the state of cluster ${mine}, but the journals in ${other} are those of cluster ${theirs}. Put back`,
      );
      await writeFile(`${other}-state`, own);
      await goesOn(other);
    });
  });

  test('with a log that is empty, beside the state of a cluster', async () => {
    await withFolder(async (folder) => {
      const file = join(folder, 'x.db');
      await served(file);
      await rm(file);
      await expect(serverOn(file)).rejects.toThrow(
        `sqlite ${file}-state holds the state of cluster ${String(clusterOf(file))}, but ${file} holds no cluster yet: the journals were lost`,
      );
      await rm(`${file}-state`);
      await goesOn(file, 0);
    });
  });

  test('with a trimmed log whose state is gone, or older than the log begins', async () => {
    await withFolder(async (folder) => {
      const file = join(folder, 'x.db');
      await served(file, 1);
      const early = await readFile(`${file}-state`);
      await withServer(file, (client) => client.workflow.getHandle('wf-0').signal('paid', 1));
      // Trimmed behind that by the next start, for each does so once a minute.
      await goesOn(file, 1);
      const whole = await readFile(`${file}-state`);
      await writeFile(`${file}-state`, early);
      await expect(serverOn(file)).rejects.toThrow(
        /sqlite .*-state does not go with the journals in .*: perdure\.history\/\d: the journal starts at offset \d+, but the checkpoint in the database ends at offset \d+: .* Restore a newer backup/,
      );
      await rm(`${file}-state`);
      await expect(serverOn(file)).rejects.toThrow(
        /the journal starts at \d+, not at 0, and the database holds no checkpoint of it.*Restore a backup of the database whose checkpoint reaches offset \d+/,
      );
      await writeFile(`${file}-state`, whole);
      await goesOn(file, 1);
    });
  });

  test('with a file that is damaged, of another kind, of another version, or none', async () => {
    await withFolder(async (folder) => {
      const file = join(folder, 'x.db');
      const state = `${file}-state`;
      await served(file);
      const whole = await readFile(state);
      await writeFile(state, Buffer.concat([whole.subarray(0, 4096), randomBytes(whole.length - 4096)]));
      await expect(serverOn(file)).rejects.toThrow(`${state} is damaged`);
      await writeFile(state, 'remember the milk\n'.repeat(1_000));
      await expect(serverOn(file)).rejects.toThrow(`${state} is not the state of a Perdure server: it is not an SQLite database`);
      await copyFile(file, state);
      await expect(serverOn(file)).rejects.toThrow(`${state} is not the state of a Perdure server, but a log of one`);
      await writeFile(state, whole);
      const database = new DatabaseSync(state);
      database.exec(`UPDATE perdure SET value = '999' WHERE name = 'migration'`);
      database.close();
      await expect(serverOn(file)).rejects.toThrow(`${state} has schema migration 999, written by another version`);
      await writeFile(state, whole);
      const checkpoints = new DatabaseSync(state);
      checkpoints.exec(`UPDATE journals SET schema = 99 WHERE kind = 'history' AND next_offset > 0`);
      checkpoints.close();
      await expect(serverOn(file)).rejects.toThrow(
        /history\/\d.* its checkpoint has state schema 99, written by another version; this one reads 1: start that version/,
      );
      await rm(state);
      await mkdir(state);
      await expect(serverOn(file)).rejects.toThrow(`${state} cannot be opened`);
      await rm(state, { recursive: true });
      await writeFile(state, whole);
      await goesOn(file);
    });
  });
});

test('beside a file that is not ours, or that another server holds, nothing is made', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'notes.txt');
    await writeFile(file, 'remember the milk\n'.repeat(1_000));
    await expect(serverOn(file)).rejects.toThrow(`${file} is not a log of Perdure`);
    expect(existsSync(`${file}-state`)).toBe(false);
  });
});

// ── Servers in this process ──────────────────────────────────────────────────────────────────────────────────────────────────

function serverOn(filename: string): Promise<RunningServer> {
  return memoryServer({ log: { kind: 'embedded', filename, sqlitePragmas: [] }, historyShards: 4, matchingPartitions: 4 });
}

/** A server that stops afterwards, with a last checkpoint. */
async function withServer(file: string, use: (client: Client) => Promise<void>): Promise<void> {
  const server = await serverOn(file);
  await withClient(server.address, use);
  await server.stop();
}

function served(file: string, count = 2): Promise<void> {
  return withServer(file, async (client) => void (await Promise.all(ids(count).map((id) => started(client, id)))));
}

function goesOn(file: string, count = 2): Promise<void> {
  return withServer(file, async (client) => expect(await rowsOf(client)).toHaveLength(count));
}

// ── Clients ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function ids(count: number): readonly string[] {
  return Array.from({ length: count }, (_, nth) => `wf-${nth}`);
}

function started(client: Client, workflowId: string): Promise<WorkflowHandle> {
  return client.workflow.start('Order', { workflowId, taskQueue: 'orders', memo: { workflowId } });
}

/** Workflow ids of so many workflow tasks. */
async function tasksOf({ connection, workflowService }: Client, count: number): Promise<readonly string[]> {
  const found: string[] = [];
  while (found.length < count) {
    const request = { namespace: 'default', taskQueue: { name: 'orders' }, identity: 'worker' };
    const { workflowExecution } = await connection.withDeadline(Date.now() + 10_000, () => workflowService.pollWorkflowTaskQueue(request));
    found.push(workflowExecution?.workflowId ?? 'none came');
  }
  return found;
}

async function seenIn(client: Client) {
  return { rows: await rowsOf(client), histories: await historiesIn(client) };
}

async function historiesIn(client: Client): Promise<readonly string[]> {
  const some = ids(workflows).filter((_, nth) => nth % 20 < 2);
  return await Promise.all(some.map(async (id) => `${id} ${(await eventTypes(client.workflow.getHandle(id))).join()}`));
}

async function eventTypes(handle: WorkflowHandle): Promise<readonly string[]> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).map(({ eventType }) => String(eventType));
}

// ── Files ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function rowIn(file: string, sql: string) {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    return { ...database.prepare(sql).get() };
  } finally {
    database.close();
  }
}

function stateRow(file: string, sql: string) {
  return rowIn(`${file}-state`, sql);
}

function clusterOf(file: string): unknown {
  return stateRow(file, `SELECT value FROM perdure WHERE name = 'cluster'`)['value'];
}

/** As its own database has it. */
async function clusterInLogOf(file: string, ownState: Buffer): Promise<string> {
  await writeFile(`${file}-own-state`, ownState);
  return String(clusterOf(`${file}-own`));
}

function trimmedRecords(file: string, topic = 'perdure.history'): number {
  return Number(rowIn(file, `SELECT sum(start) AS records FROM partitions WHERE topic = '${topic}'`)['records']);
}

async function until(isSo: () => boolean): Promise<void> {
  for (const endMs = Date.now() + waitMsMax; !isSo(); await pause(50)) if (Date.now() > endMs) throw new Error('it never came');
}
