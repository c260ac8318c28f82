/** Whose database it is, looked at again where it did not answer before the first claim. Files of servers: test/acceptance/state-file.test.ts. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DatabaseError, type Database, type JournalId } from '../../src/projections/database-port.ts';
import { openSqlite } from '../../src/projections/sqlite/open-sqlite.ts';
import { ClusterDatabase } from '../../src/start/cluster-database.ts';
import { withFolder } from '../support/servers.ts';

const journal: JournalId = { kind: 'history', partition: 0 };

function inMemory(): Database {
  const database = openSqlite({ filename: undefined });
  onTestFinished(() => database.close());
  return database;
}

function away(): Promise<never> {
  return Promise.reject(new DatabaseError('unavailable', 'nobody listens'));
}

test('one that does not answer is ours to restore from only when it has said so', async () => {
  const tables = inMemory();
  let cluster: () => Promise<string | undefined> = away;
  const database = { ...tables, cluster: () => cluster() };
  const state = new ClusterDatabase({ database, isNew: false, logName: 'kafka a:1', clusterId: 'mine' });
  await expect(state.checkOwner()).rejects.toMatchObject({ code: 'unavailable' });
  await expect(state.database.restore(journal)).rejects.toMatchObject({ code: 'unavailable', message: 'nobody listens' });
  cluster = () => tables.cluster();
  const { fence } = await state.database.restore(journal);
  expect((await tables.position(journal)).fence).toBe(fence);
  expect(await tables.cluster()).toBe('mine');
});

test('one that turns out to be another cluster’s is left as it is', async () => {
  const tables = inMemory();
  await tables.bind('theirs');
  const state = new ClusterDatabase({ database: tables, isNew: false, logName: 'kafka a:1', clusterId: 'mine' });
  await expect(state.database.restore(journal)).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringMatching(
      /^sqlite in memory holds the state of cluster theirs, but the journals in kafka a:1 are those of cluster mine\. /,
    ),
  });
  expect(await tables.position(journal)).toEqual({ fence: 0, position: undefined });
});

test('one that is ours and cannot be written is found before anything rests on it', async () => {
  await withFolder(async (folder) => {
    const filename = join(folder, 'x.db-state');
    const before = openSqlite({ filename });
    await before.bind('mine');
    await before.close();
    const database = openSqlite({ filename, readsOnly: true });
    const state = new ClusterDatabase({ database, isNew: false, logName: 'x.db', clusterId: 'mine' });
    await state.checkOwner();
    await expect(state.makeOurs()).rejects.toThrow(`${filename} cannot be written`);
    await database.close();
  });
});

test('a first start that was killed before its cluster had an identity leaves it to the next', async () => {
  const tables = inMemory();
  const killed = new ClusterDatabase({ database: tables, isNew: false, logName: 'kafka a:1', clusterId: undefined });
  await killed.checkOwner();
  await killed.database.restore(journal);
  const next = new ClusterDatabase({ database: tables, isNew: false, logName: 'kafka a:1', clusterId: undefined });
  await next.checkOwner();
  await next.bind('mine');
  const late = new ClusterDatabase({ database: tables, isNew: false, logName: 'kafka b:1', clusterId: undefined });
  await expect(late.checkOwner()).rejects.toThrow(
    'sqlite in memory holds the state of cluster mine, but kafka b:1 holds no cluster yet: the journals were lost, or another log was named',
  );
});
