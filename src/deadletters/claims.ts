/** Which jobs have which letters, each letter at most one. Volatile: after a takeover jobs claim again. */
import type { IdRange } from './letter-commands.ts';
import { hasId, idsOverlap } from './bounds/id-ranges.ts';

export class Claims {
  /** The ranges of a job rise and do not touch each other. */
  readonly #byJob = new Map<string, readonly IdRange[]>();

  get jobs(): number {
    return this.#byJob.size;
  }

  holders(): readonly string[] {
    return [...this.#byJob.keys()];
  }

  has(jobId: string): boolean {
    return this.#byJob.has(jobId);
  }

  /** Another job that has one of those; undefined: nobody else. `ranges` rise. */
  overlapping(jobId: string, ranges: readonly IdRange[]): string | undefined {
    for (const [other, held] of this.#byJob) if (other !== jobId && idsOverlap(held, ranges)) return other;
    return undefined;
  }

  grant(jobId: string, ranges: readonly IdRange[]): void {
    this.#byJob.set(jobId, ranges);
  }

  release(jobId: string): void {
    this.#byJob.delete(jobId);
  }

  isClaimed(id: number): boolean {
    for (const ranges of this.#byJob.values()) if (hasId(ranges, id)) return true;
    return false;
  }

  covers(jobId: string, id: number): boolean {
    return hasId(this.#byJob.get(jobId) ?? [], id);
  }
}

export function overlapMessage(jobId: string): string {
  return `job ${jobId} works on some of these dead letters: wait until it has ended, or cancel it`;
}
