/**
 * Looks into folders that may hang: so many of one folder at a time, and none is waited for longer than whoever asks would wait.
 *
 *     run ─▶ room in its folder? ─┬─ yes ─▶ answered, or given up after 10 s: its room is free once it has ended
 *                                 └─ no ──▶ ArchiveAway at once
 *
 * A call to the file system cannot be taken back, and holds a thread that others need for names and files.
 */
import { ArchiveAway } from '../actors/archiver.ts';

const READS_PER_FOLDER_MAX = 4;
const READ_MS_MAX = 10_000;

export class FolderReads {
  readonly #readMsMax: number;
  readonly #running = new Map<string, number>();

  constructor(readMsMax = READ_MS_MAX) {
    this.#readMsMax = readMsMax;
  }

  /** Rejects with ArchiveAway, or as `read` does. */
  async run<Result>(folder: string, read: () => Promise<Result>): Promise<Result> {
    const running = this.#running.get(folder) ?? 0;
    if (running >= READS_PER_FOLDER_MAX) throw new ArchiveAway(`${folder} is read by ${running} calls now, its limit`);
    this.#running.set(folder, running + 1);
    const result = read().finally(() => this.#ended(folder));
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

  #ended(folder: string): void {
    const running = (this.#running.get(folder) ?? 1) - 1;
    if (running === 0) this.#running.delete(folder);
    else this.#running.set(folder, running);
  }
}
