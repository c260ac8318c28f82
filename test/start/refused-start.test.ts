/** A start that is refused leaves nothing behind: no file that was not there, and none changed. Topics: test/acceptance/refused-start.kafka.test.ts. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { memoryServer } from '../support/memory-server.ts';
import { withFolder } from '../support/servers.ts';
import type { ServerOptions } from '../../src/config/server-options.ts';

type Asked = Partial<Pick<ServerOptions, 'namespaces' | 'searchAttributes' | 'historyShards' | 'clusterName'>>;

const onFile = (filename: string, sqlitePragmas: readonly (readonly [string, string])[] = []) =>
  ({ kind: 'embedded', filename, sqlitePragmas }) as const;

/** Name → bytes of what is in the folder; of a folder in it, nothing. */
async function seen(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true });
  return new Map(
    await Promise.all(
      entries.map(async (entry) => [entry.name, entry.isFile() ? await readFile(join(folder, entry.name), 'base64') : 'folder'] as const),
    ),
  );
}

async function refused(folder: string, log: ServerOptions['log'], message: string | RegExp, asked: Asked = {}): Promise<void> {
  const before = await seen(folder);
  await expect(memoryServer({ log, ...asked })).rejects.toThrow(message);
  expect(await seen(folder)).toEqual(before);
}

async function served(file: string): Promise<void> {
  const server = await memoryServer({ log: onFile(file) });
  await server.stop();
}

test.each<readonly [string, Asked, string]>([
  ['a search attribute of the system', { searchAttributes: new Map([['WorkflowId', 'Keyword']]) }, 'WorkflowId is reserved by system'],
  ['a search attribute of a type that there is not', { searchAttributes: new Map([['Color', 'Paint']]) }, 'unknown type Paint'],
  [
    'the namespace of the system',
    { namespaces: ['temporal-system'] },
    'namespace temporal-system: Namespace "temporal-system" already exists',
  ],
  ['a namespace whose name is too long', { namespaces: ['n'.repeat(1_001)] }, 'Namespace length exceeds limit.'],
  ['more search attributes than have a place', { searchAttributes: new Map(manyOf('Int', 7)) }, 'cannot have more than'],
])('%s is wanted', async (_what, asked, message) => {
  await withFolder(async (folder) => await refused(folder, onFile(join(folder, 'x.db')), message, asked));
});

test('a pragma that would unlock the log, and one that is none', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'x.db');
    await refused(folder, onFile(file, [['locking_mode', 'NORMAL']]), 'the pragma locking_mode cannot be set');
    await refused(folder, onFile(file, [['no pragma', '1']]), 'is not the name of an SQLite pragma');
  });
});

test('the log is gone, and beside it is the state of a cluster, of another program, or none that can be read', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'x.db');
    await served(file);
    await rm(file);
    await refused(folder, onFile(file), /-state holds the state of cluster .*, but .* holds no cluster yet/);
    await writeFile(`${file}-state`, 'not a database at all, and longer than a header of SQLite would be: '.repeat(20));
    await refused(folder, onFile(file), /x\.db-state/);
    await rm(`${file}-state`);
    await mkdir(`${file}-state`);
    await refused(folder, onFile(file), /x\.db-state/);
    await rm(`${file}-state`, { recursive: true });
    await served(file);
  });
});

test('the state is gone, and the log does not begin at its beginning', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'x.db');
    await served(file);
    const log = new DatabaseSync(file);
    log.exec(`UPDATE partitions SET start = 1 WHERE topic = 'perdure.history'`);
    log.close();
    await rm(`${file}-state`);
    await refused(
      folder,
      onFile(file),
      /x\.db-state is not there, but belongs to the journals in .*: the journal starts at \d+, not at 0, and the database holds no checkpoint of it/,
    );
  });
});

test('the cluster in the log is another one than the options say', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'x.db');
    await served(file);
    await rm(`${file}-state`);
    await refused(folder, onFile(file), 'perdure.history was created with 1 partitions, asked for are 3', { historyShards: 3 });
    await refused(folder, onFile(file), 'clusterMetadata.currentClusterName is "other", but', { clusterName: 'other' });
  });
});

function manyOf(type: string, count: number): readonly (readonly [string, string])[] {
  return Array.from({ length: count }, (_, nth) => [`Attribute${nth}`, type] as const);
}
