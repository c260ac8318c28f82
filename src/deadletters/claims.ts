/** Which jobs have which letters: no two the same. Volatile: after a takeover jobs claim again. */
import type { IdRange } from './commands.ts';

export class Claims {
  /** The ranges of a job rise and do not touch each other. */
  readonly #byJob = new Map<string, readonly IdRange[]>();

  get jobs(): number {
    return this.#byJob.size;
  }

  has(jobId: string): boolean {
    return this.#byJob.has(jobId);
  }

  /** Another job that has one of those; undefined: nobody else. `ranges` rise. */
  overlapping(jobId: string, ranges: readonly IdRange[]): string | undefined {
    for (const [other, held] of this.#byJob) if (other !== jobId && overlap(held, ranges)) return other;
    return undefined;
  }

  grant(jobId: string, ranges: readonly IdRange[]): void {
    this.#byJob.set(jobId, ranges);
  }

  release(jobId: string): void {
    this.#byJob.delete(jobId);
  }

  covers(jobId: string, id: number): boolean {
    const ranges = this.#byJob.get(jobId) ?? [];
    let low = 0;
    let high = ranges.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((ranges[middle]?.to ?? Infinity) < id) low = middle + 1;
      else high = middle;
    }
    return (ranges[low]?.from ?? Infinity) <= id;
  }
}

/** Both rise. */
function overlap(some: readonly IdRange[], others: readonly IdRange[]): boolean {
  let at = 0;
  for (const { from, to } of some) {
    while (at < others.length && (others[at]?.to ?? Infinity) < from) at += 1;
    if ((others[at]?.from ?? Infinity) <= to) return true;
  }
  return false;
}
