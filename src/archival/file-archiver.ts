/**
 * Closed histories in a folder, as Temporal's filestore has them: names and content are its own, so that its server reads what we wrote.
 *
 *     file:///var/archive/<fingerprint of namespace id><of workflow id><of run id>_0.history
 *     written beside it as ….tmp, synced, renamed, and the folder synced: a kill leaves the file whole, or the one before, or none
 *
 * Nothing is written but below `roots`, whoever asks: no `..`, and no symbolic link that leads out.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { isAbsolute, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCode, errorText } from '../kernel/error-text.ts';
import { fingerprint64 } from './fingerprint64.ts';
import type { HistoryJson } from './archived-history.ts';
import type { RunKey } from '../kernel/run-key.ts';
import { Tally } from '../kernel/tally.ts';
import { ArchiveAway, ArchiveDamaged, type ArchivedPage, type Archiver } from '../ports/archiver.ts';

export type FileArchiverOptions = {
  readonly roots: readonly string[];
  readonly fileMode: number;
  readonly dirMode: number;
  /** A look into a folder takes no longer. */
  readonly readMsMax?: number;
};

const READS_PER_FOLDER_MAX = 4;
const READ_MS_MAX = 10_000;
const READ_BYTES = 256 * 1024;
/** A batch of events is one line: an event is 2 MiB at most, and its text some more. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;
const PAGE_BYTES_MAX = 4 * 1024 * 1024;
const beginning = '[\n';
/** The version of runs that never failed over. */
const CLOSE_FAILOVER_VERSION = 0;

export class FileArchiver implements Archiver {
  readonly #options: FileArchiverOptions;
  readonly #reads: FolderReads;
  #json: Promise<HistoryJson> | undefined;

  constructor(options: FileArchiverOptions) {
    this.#options = options;
    this.#reads = new FolderReads(options.readMsMax);
  }

  destinationOf(uri: string): string {
    const folder = folderOf(uri);
    return folder instanceof Error ? '' : (this.#options.roots.find((root) => isInside(folder, normalize(root))) ?? '');
  }

  async problemOf(uri: string): Promise<string | undefined> {
    const folder = folderOf(uri);
    if (folder instanceof Error) return folder.message;
    try {
      return await this.#reads.run(this.destinationOf(uri), async () => {
        await this.#checkInside(folder);
        const found = await unlessMissing(stat(folder));
        return found === undefined || found.isDirectory() ? undefined : `${folder} is no folder`;
      });
    } catch (error) {
      return errorText(error);
    }
  }

  async write(uri: string, key: RunKey, pages: AsyncIterable<readonly Uint8Array[]>): Promise<void> {
    const folder = checked(folderOf(uri));
    await this.#checkInside(folder);
    await mkdir(folder, { recursive: true, mode: this.#options.dirMode });
    await this.#checkInside(folder);
    const filename = join(folder, archiveFileName(key));
    const beside = `${filename}.tmp`;
    const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
    const file = await open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, this.#options.fileMode);
    try {
      await this.#writeBatches(file, pages);
      await file.sync();
    } catch (error) {
      // The next attempt would write over it, but its run may be deleted first, and where the disk is full it takes what others need.
      await unlink(beside).catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
    await rename(beside, filename);
    await syncFolder(folder);
  }

  /** A plain write may take a part of its bytes, as where the disk is full, and no error tells of that; to append takes all of them. */
  async #writeBatches(file: FileHandle, pages: AsyncIterable<readonly Uint8Array[]>): Promise<void> {
    const json = await this.#loadJson();
    let separator = beginning;
    for await (const events of pages) {
      if (events.length === 0) continue;
      await file.appendFile(`${separator}${json.batch(events)}`);
      separator = ',\n';
    }
    await file.appendFile('\n]\n');
  }

  async read(uri: string, key: RunKey, place: number, eventsMin: number): Promise<ArchivedPage | undefined> {
    const folder = checked(folderOf(uri));
    try {
      return await this.#reads.run(this.destinationOf(uri), () => this.#read(folder, key, place, eventsMin));
    } catch (error) {
      // A mount whose server is away, rights or a root that were taken: an operator's to mend, and nothing is lost.
      throw isOfSystem(error) || error instanceof OutsideOfRoots ? new ArchiveAway(errorText(error), { cause: error }) : error;
    }
  }

  async #read(folder: string, key: RunKey, place: number, eventsMin: number): Promise<ArchivedPage | undefined> {
    await this.#checkInside(folder);
    const file = await openExisting(join(folder, archiveFileName(key)));
    if (file === undefined) return undefined;
    try {
      return await this.#page(new Lines(file, place === 0 ? beginning.length : place), eventsMin);
    } catch (error) {
      if (errorCode(error) !== 'EISDIR') throw error;
      throw new ArchiveDamaged('a folder is where the archived history was', { cause: error });
    } finally {
      await file.close();
    }
  }

  async #page(lines: Lines, eventsMin: number): Promise<ArchivedPage> {
    const json = await this.#loadJson();
    const events: Uint8Array[] = [];
    let bytes = 0;
    for (;;) {
      const place = lines.place;
      const line = await lines.next();
      if (line === undefined) throw new ArchiveDamaged('the archived history ends in its middle');
      const isLast = !line.endsWith(',');
      if (events.length > 0 && bytes + line.length > PAGE_BYTES_MAX) return { events, nextPlace: place };
      events.push(...eventsIn(json, isLast ? line : line.slice(0, -1)));
      bytes += line.length;
      if (isLast) return { events, nextPlace: undefined };
      if (events.length >= eventsMin) return { events, nextPlace: lines.place };
    }
  }

  #loadJson(): Promise<HistoryJson> {
    return (this.#json ??= loadJson());
  }

  /** Looks where links lead, too. What is not there yet leads nowhere. */
  async #checkInside(folder: string): Promise<void> {
    const real = await realpathOfExisting(folder);
    for (const root of this.#options.roots) {
      if (isInside(folder, normalize(root)) && isInside(real, await realpathOfExisting(root))) return;
    }
    throw new OutsideOfRoots(folder);
  }
}

class OutsideOfRoots extends Error {
  constructor(folder: string) {
    super(`${folder} is outside of the folders that may be written (perdure.archival.roots)`);
  }
}

function eventsIn(json: HistoryJson, line: string): readonly Uint8Array[] {
  try {
    return json.events(line);
  } catch (error) {
    throw new ArchiveDamaged(`the archived history cannot be decoded: ${errorText(error)}`, { cause: error });
  }
}

/** Megabytes of code that most servers never need. */
async function loadJson(): Promise<HistoryJson> {
  const { loadHistoryJson } = await import('./archived-history.ts');
  return await loadHistoryJson();
}

/** Fingerprints in decimal, without anything between them. */
export function archiveFileName({ namespaceId, workflowId, runId }: RunKey): string {
  const of = [namespaceId, workflowId, runId].map((id) => fingerprint64(id).toString()).join('');
  return `${of}_${CLOSE_FAILOVER_VERSION}.history`;
}

function folderOf(uri: string): string | Error {
  try {
    const url = new URL(uri);
    if (url.protocol !== 'file:') return new Error(`unknown scheme of an archival URI: ${url.protocol.slice(0, -1)}; file is known`);
    if (uri.split(/[/\\]/).includes('..') || /%2e|%2f|%5c/i.test(uri)) return new Error('an archival URI has no ".." in it');
    const path = normalize(fileURLToPath(url));
    return isAbsolute(path) && path !== sep ? path.replace(/\/+$/, '') : new Error(`an archival URI names a folder: file:///var/archive`);
  } catch (error) {
    return new Error(`an archival URI is like file:///var/archive: ${errorText(error)}`);
  }
}

function checked(folder: string | Error): string {
  if (folder instanceof Error) throw folder;
  return folder;
}

function isInside(path: string, folder: string): boolean {
  const root = folder.replace(/\/+$/, '');
  return path === root || path.startsWith(`${root}${sep}`);
}

/** The real path of as much as is there; the rest is as it is named. */
async function realpathOfExisting(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    // A link to nowhere is there, and mkdir would follow it.
    if ((await unlessMissing(lstat(path))) !== undefined) throw new Error(`${path} is a link to nowhere`, { cause: error });
    const parent = join(path, '..');
    return parent === path ? path : join(await realpathOfExisting(parent), path.slice(parent.length));
  }
}

async function unlessMissing<Found>(found: Promise<Found>): Promise<Found | undefined> {
  try {
    return await found;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function openExisting(filename: string): Promise<FileHandle | undefined> {
  try {
    return await unlessMissing(open(filename, constants.O_RDONLY | constants.O_NOFOLLOW));
  } catch (error) {
    if (errorCode(error) === 'ELOOP') throw new ArchiveDamaged('a link is where the archived history was', { cause: error });
    throw error;
  }
}

/** So that the name is there after a power cut. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whether the system has answered so, and no mistake of ours in what we ask. */
function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}

/** Lines of a file from a place on, without what follows them in memory. */
class Lines {
  readonly #file: FileHandle;
  #bytes = Buffer.alloc(0);
  place: number;

  constructor(file: FileHandle, place: number) {
    this.#file = file;
    this.place = place;
  }

  async next(): Promise<string | undefined> {
    let searched = 0;
    for (;;) {
      const end = this.#bytes.indexOf(0x0a, searched);
      if (end >= 0) return this.#take(end);
      searched = this.#bytes.length;
      if (searched > LINE_BYTES_MAX) throw new ArchiveDamaged('this is not a history that Perdure has archived: it has no lines');
      const more = Buffer.alloc(Math.max(READ_BYTES, searched));
      const { bytesRead } = await this.#file.read(more, 0, more.length, this.place + searched);
      if (bytesRead === 0) return undefined;
      this.#bytes = Buffer.concat([this.#bytes, more.subarray(0, bytesRead)]);
    }
  }

  #take(end: number): string {
    const line = this.#bytes.toString('utf8', 0, end);
    this.#bytes = this.#bytes.subarray(end + 1);
    this.place += end + 1;
    return line;
  }
}

/**
 * Looks into folders that may hang: so many of one folder at a time, and none is waited for longer than whoever asks would wait.
 *
 *     run ─▶ room in its folder? ─┬─ yes ─▶ answered, or given up after 10 s: its room is free once it has ended
 *                                 └─ no ──▶ ArchiveAway at once
 *
 * A call to the file system cannot be taken back, and holds a thread that others need for names and files.
 */
class FolderReads {
  readonly #readMsMax: number;
  readonly #running = new Tally();

  constructor(readMsMax = READ_MS_MAX) {
    this.#readMsMax = readMsMax;
  }

  /** Rejects with ArchiveAway, or as `read` does. */
  async run<Result>(folder: string, read: () => Promise<Result>): Promise<Result> {
    const running = this.#running.of(folder);
    if (running >= READS_PER_FOLDER_MAX) throw new ArchiveAway(`${folder} is read by ${running} calls now, its limit`);
    this.#running.add(folder, 1);
    const result = read().finally(() => this.#running.add(folder, -1));
    let timer: NodeJS.Timeout | undefined;
    const givenUp = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new ArchiveAway(`${folder} has not answered within ${this.#readMsMax} ms`)), this.#readMsMax);
    });
    try {
      return await Promise.race([result, givenUp]);
    } finally {
      clearTimeout(timer);
    }
  }
}
