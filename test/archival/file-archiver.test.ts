/** Histories in folders: whole or not there, and nowhere but where it was allowed. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ArchiveAway, ArchiveDamaged } from '../../src/ports/archiver.ts';
import { archiveFileName, FileArchiver } from '../../src/archival/file-archiver.ts';
import { loadPublicMessages } from '../../src/wire/services.ts';

const key = { namespaceId: 'namespace', workflowId: 'workflow', runId: 'run' };
let folder: string;
let archiver: FileArchiver;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-archive-'));
  await mkdir(join(folder, 'allowed'));
  archiver = new FileArchiver({ roots: [join(folder, 'allowed')], fileMode: 0o640, dirMode: 0o750 });
});
afterEach(() => rm(folder, { recursive: true }));

const uriOf = (path: string): string => `file://${join(folder, path)}`;

async function eventsOf(count: number): Promise<readonly Uint8Array[]> {
  const { HistoryEvent } = (await loadPublicMessages()).history.v1;
  return Array.from({ length: count }, (_, nth) => HistoryEvent.encode(HistoryEvent.fromObject({ eventId: String(nth + 1) })).finish());
}

async function* pagesOf(events: readonly Uint8Array[], size: number, failsAfter = Infinity): AsyncGenerator<readonly Uint8Array[]> {
  for (let at = 0; at < events.length; at += size) {
    if (at / size >= failsAfter) throw new Error('the shard is gone');
    yield await Promise.resolve(events.slice(at, at + size));
  }
}

async function readAll(uri: string, eventsMin: number): Promise<readonly number[]> {
  const lengths: number[] = [];
  for (let place = 0; ;) {
    const page = await archiver.read(uri, key, place, eventsMin);
    if (page === undefined) throw new Error('there is a file');
    lengths.push(page.events.length);
    if (page.nextPlace === undefined) return lengths;
    place = page.nextPlace;
  }
}

test('what is written is a list of histories, and is read page by page from it', async () => {
  const uri = uriOf('allowed/deep/er');
  const events = await eventsOf(250);
  await archiver.write(uri, key, pagesOf(events, 100));
  const [name = '', ...others] = await readdir(join(folder, 'allowed/deep/er'));
  expect([name, others]).toEqual([archiveFileName(key), []]);
  expect(name).toMatch(/^\d{40,60}_0\.history$/);
  const text = await readFile(join(folder, 'allowed/deep/er', name), 'utf8');
  const batches = JSON.parse(text) as readonly { readonly events: readonly object[] }[];
  expect(batches.map((batch) => batch.events.length)).toEqual([100, 100, 50]);
  expect(await readAll(uri, 1)).toEqual([100, 100, 50]);
  expect(await readAll(uri, 150)).toEqual([200, 50]);
  expect((await archiver.read(uri, key, 0, 1_000))?.events).toEqual(events);
  expect(await archiver.read(uri, { ...key, runId: 'another' }, 0, 1)).toBeUndefined();
});

test('a history that cannot be read to its end leaves no file, and one that is written again the same bytes', async () => {
  const uri = uriOf('allowed');
  const events = await eventsOf(30);
  await expect(archiver.write(uri, key, pagesOf(events, 10, 2))).rejects.toThrow('the shard is gone');
  expect(await readdir(join(folder, 'allowed'))).toEqual([]);
  expect(await archiver.read(uri, key, 0, 1)).toBeUndefined();
  await archiver.write(uri, key, pagesOf(events, 10));
  const filename = join(folder, 'allowed', archiveFileName(key));
  const first = await readFile(filename);
  await archiver.write(uri, key, pagesOf(events, 10));
  expect(await readFile(filename)).toEqual(first);
  expect(await readdir(join(folder, 'allowed'))).toEqual([archiveFileName(key)]);
});

test.runIf(process.platform === 'linux')(
  'a history of which the disk takes a part is not archived, though there is room again later',
  async () => {
    const writer = fileURLToPath(new URL('write-into-little-room.ts', import.meta.url));
    // What Node keeps of compiled code is a file as well.
    const env = { ...process.env, NODE_COMPILE_CACHE: undefined };
    expect(execFileSync(process.execPath, [writer, join(folder, 'allowed')], { env, encoding: 'utf8' })).toBe('EFBIG');
    expect(await archiver.read(uriOf('allowed'), key, 0, 1)).toBeUndefined();
  },
);

describe('what somebody has done to a file is reported, and never taken for a history', () => {
  let path: string;
  const uri = (): string => uriOf('allowed/orders');
  beforeEach(async () => {
    await archiver.write(uri(), key, pagesOf(await eventsOf(250), 100));
    path = join(folder, 'allowed/orders', archiveFileName(key));
  });

  test('it is cut off, between two batches or within one', async () => {
    const whole = await readFile(path, 'utf8');
    for (const end of [whole.lastIndexOf('\n', whole.length - 5) + 1, Math.floor(whole.length / 2), 1, 0]) {
      await writeFile(path, whole.slice(0, end));
      await expect(readAll(uri(), 1), `${end} of ${whole.length}`).rejects.toThrow(ArchiveDamaged);
    }
  });

  test('it is something else', async () => {
    const texts = ['[\n{"events": 7}\n]\n', '[\nnull\n]\n', '[\n]\n', '[\n{"events":[]}\n]\n', 'x'.repeat(1_000)];
    for (const text of texts) {
      await writeFile(path, text);
      await expect(readAll(uri(), 1), text.slice(0, 40)).rejects.toThrow(ArchiveDamaged);
    }
  });

  test('it is no file', async () => {
    await rm(path);
    await mkdir(path);
    await expect(readAll(uri(), 1)).rejects.toThrow(ArchiveDamaged);
    await rmdir(path);
    await symlink('elsewhere', path);
    await expect(readAll(uri(), 1)).rejects.toThrow(ArchiveDamaged);
  });
});

test('a folder of which the file system says that it cannot be read may be read later', async () => {
  await writeFile(join(folder, 'allowed/file'), '');
  for (const path of ['allowed/file', 'allowed/file/deeper', `allowed/${'x'.repeat(300)}`])
    await expect(archiver.read(uriOf(path), key, 0, 1), path).rejects.toThrow(ArchiveAway);
});

test('a folder that hangs is not waited for, and takes no more than four threads', async () => {
  const patient = new FileArchiver({ roots: [join(folder, 'allowed')], fileMode: 0o640, dirMode: 0o750, readMsMax: 100 });
  const path = join(folder, 'allowed', archiveFileName(key));
  // Whoever opens it waits for whoever writes it.
  execFileSync('mkfifo', [path]);
  const read = () => patient.read(uriOf('allowed'), key, 0, 1);
  const asked = Array.from({ length: 10 }, async () => await read().catch((error: unknown) => error));
  const errors = await Promise.all(asked);
  expect(errors.every((error) => error instanceof ArchiveAway)).toBe(true);
  const told = errors.map((error) => (error as Error).message.replaceAll(/^.*allowed /g, ''));
  expect(Map.groupBy(told, (message) => message).get('is read by 4 calls now, its limit')).toHaveLength(6);
  // They come to their end. All threads wait for that, so it takes a call that needs none.
  const writer = openSync(path, 'r+');
  await expect.poll(async () => await read().catch((error: unknown) => String(error))).not.toContain('its limit');
  closeSync(writer);
});

test('a history whose folder is allowed no longer cannot be read now, which is not to say that it is lost', async () => {
  await expect(archiver.read(`file://${folder}/elsewhere`, key, 0, 1)).rejects.toMatchObject({
    name: 'ArchiveAway',
    message: expect.stringContaining('perdure.archival.roots'),
  });
});

describe('nothing is written outside of the folders that are allowed', () => {
  beforeEach(async () => {
    await mkdir(join(folder, 'elsewhere'));
    await symlink(join(folder, 'elsewhere'), join(folder, 'allowed/out'));
    await symlink(join(folder, 'nowhere'), join(folder, 'allowed/dangling'));
    await writeFile(join(folder, 'allowed/file'), '');
  });

  test.each([
    ['elsewhere', 'is outside of the folders that may be written'],
    ['allowed-too', 'is outside of the folders that may be written'],
    ['allowed/out', 'is outside of the folders that may be written'],
    ['allowed/out/deeper', 'is outside of the folders that may be written'],
    ['allowed/dangling/deeper', 'is a link to nowhere'],
    ['allowed/file', 'is no folder'],
  ])('%s', async (path, problem) => {
    expect(await archiver.problemOf(uriOf(path))).toContain(problem);
    await expect(archiver.write(uriOf(path), key, pagesOf(await eventsOf(1), 1))).rejects.toThrow();
    expect(await readdir(folder)).toEqual(['allowed', 'elsewhere']);
    expect(await readdir(join(folder, 'elsewhere'))).toEqual([]);
  });

  test.each([
    ['allowed/../elsewhere', 'has no ".." in it'],
    ['allowed/%2e%2e/elsewhere', 'has no ".." in it'],
    ['allowed/..%2felsewhere', 'has no ".." in it'],
  ])('%s', async (path, problem) => {
    expect(await archiver.problemOf(`file://${folder}/${path}`)).toContain(problem);
  });

  test.each([
    ['s3://bucket/folder', 'unknown scheme of an archival URI: s3'],
    ['/var/archive', 'an archival URI is like file:///var/archive'],
    ['file://another.host/archive', 'an archival URI is like file:///var/archive'],
    ['file:///', 'names a folder'],
  ])('%s', async (uri, problem) => {
    expect(await archiver.problemOf(uri)).toContain(problem);
  });
});
