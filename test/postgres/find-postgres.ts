/** PostgreSQL's programs: those of this machine, or fetched once as Debian packages into the repository's cache. */
import { execFile } from 'node:child_process';
import { access, mkdir, readdir, realpath, rename, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const cacheFolder = fileURLToPath(new URL('../../.cache/', import.meta.url));
const debianFolder = '/usr/lib/postgresql';

export type PostgresPrograms = {
  /** Holds `initdb` and `postgres`. */
  readonly bin: string;
  /** For LD_LIBRARY_PATH; empty where the system has what they need. */
  readonly libraries: readonly string[];
};
export type Found = PostgresPrograms | { readonly missing: string };

/** `POSTGRES_BIN`, else the PATH, else Debian's folder, else the cache, else the Debian packages (20 MB, once). */
export async function findPostgres(): Promise<Found> {
  const named = process.env['POSTGRES_BIN'];
  if (named !== undefined && named !== '') {
    return (await holdsPrograms(named)) ? await resolved(named) : { missing: `POSTGRES_BIN=${named} holds no initdb and postgres` };
  }
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''), ...(await versionsIn(debianFolder))];
  for (const folder of folders) if (await holdsPrograms(folder)) return await resolved(folder);
  const cached = join(cacheFolder, 'postgresql');
  return (await unpackedIn(cached)) ?? (await fetchPackages(cached));
}

/** PostgreSQL finds its files from where its program really is. */
async function resolved(folder: string): Promise<PostgresPrograms> {
  return { bin: dirname(await realpath(join(folder, 'initdb'))), libraries: [] };
}

async function holdsPrograms(folder: string): Promise<boolean> {
  const found = await Promise.all(['initdb', 'postgres'].map((name) => exists(join(folder, name))));
  return found.every(Boolean);
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

/** `15/bin`, `17/bin`, the newest first. */
async function versionsIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => /^\d+$/.test(name))
    .toSorted((a, b) => Number(b) - Number(a))
    .map((name) => join(folder, name, 'bin'));
}

async function unpackedIn(root: string): Promise<PostgresPrograms | undefined> {
  const [bin] = await versionsIn(join(root, debianFolder));
  if (bin === undefined || !(await holdsPrograms(bin))) return undefined;
  const libraries: string[] = [];
  for (const parent of [join(root, 'usr/lib'), join(root, 'lib')]) {
    const names = await readdir(parent).catch(() => []);
    libraries.push(...names.filter((name) => name.endsWith('-linux-gnu')).map((name) => join(parent, name)));
  }
  return { bin, libraries };
}

/** The packages are unpacked, not installed: nothing of the machine changes, and nobody needs to be root. */
async function fetchPackages(folder: string): Promise<Found> {
  const work = `${folder}.${process.pid}`;
  try {
    await mkdir(join(work, 'root'), { recursive: true });
    const names = await packagesNeeded();
    await run('apt-get', ['download', ...names], { cwd: work, timeout: 300_000 });
    for (const name of await readdir(work)) {
      if (name.endsWith('.deb')) await run('dpkg-deb', ['-x', join(work, name), join(work, 'root')]);
    }
    // Whole or not at all: another run may look, or fetch, at the same time.
    await rename(join(work, 'root'), folder).catch(async (error: unknown) => {
      if ((await unpackedIn(folder)) === undefined) throw error;
    });
    return (await unpackedIn(folder)) ?? { missing: `the Debian packages ${names.join(' ')} hold no initdb and postgres` };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      missing: `there is no initdb and postgres, and fetching Debian's package failed (is its list old? apt-get update): ${reason}`,
    };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The server's package, and the libraries it needs that are not installed. Its compiler for queries (LLVM) stays away: tests do not need it. */
async function packagesNeeded(): Promise<readonly string[]> {
  const only = ['--no-recommends', '--no-suggests', '--no-conflicts', '--no-breaks', '--no-replaces', '--no-enhances'];
  const { stdout } = await run('apt-cache', ['depends', '--recurse', ...only, 'postgresql'], { maxBuffer: 2 ** 26 });
  const names = new Set(stdout.split('\n').filter((line) => /^[a-z0-9]/.test(line)));
  const server = [...names].find((name) => /^postgresql-\d+$/.test(name));
  if (server === undefined) throw new Error('apt-cache names no package postgresql-<version>');
  const libraries = [...names].filter((name) => /^(lib|zlib)/.test(name) && !/^lib(llvm|perl|c6$|z3)/.test(name) && !name.includes(':'));
  const missing = await Promise.all(libraries.map(async (name) => ((await isInstalled(name)) ? [] : [name])));
  return [server, ...missing.flat()];
}

async function isInstalled(name: string): Promise<boolean> {
  return await run('dpkg-query', ['-W', '-f', '${db:Status-Status}', name]).then(
    ({ stdout }) => stdout === 'installed',
    () => false,
  );
}
