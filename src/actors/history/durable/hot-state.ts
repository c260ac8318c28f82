/**
 * How much memory the workflows of a process may take, over all its shards. Past it the least recently used leave, those that are written
 * and that nobody waits for; closed ones first.
 *
 *     a checkpoint is durable, or something was loaded ─▶ more than bytesMax? ─▶ the shard with the oldest ─ some leave ─▶ …
 *                                                                                    └ a slice of the event loop at a time
 *
 * What cannot leave, because its database is away, stays: then the limit is passed (`unwrittenStateBytesMax` is what refuses starts).
 */
import type { Clock } from '../../../ports/machine.ts';

/** Runs looked at in one turn of the event loop, which takes well below a millisecond. */
const LOOKS_AT_ONCE = 200;

export interface HotShard {
  readonly hotBytes: number;
  /** When the run was used that is next to leave; Infinity: there is none. */
  readonly oldestMs: number;
  /** Lets some leave, up to that many bytes. Answers how many bytes left. */
  makeRoom(bytes: number, looksMax: number): number;
}

export class HotState {
  readonly bytesMax: number;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #shards = new Set<HotShard>();
  /** Shards that let nothing go since somebody last asked to look. */
  readonly #stuck = new Set<HotShard>();
  #isLooking = false;

  constructor(clock: Pick<Clock, 'after'>, bytesMax: number) {
    this.#clock = clock;
    this.bytesMax = bytesMax;
  }

  join(shard: HotShard): void {
    this.#shards.add(shard);
  }

  leave(shard: HotShard): void {
    this.#shards.delete(shard);
    this.#stuck.delete(shard);
  }

  /** More than there should be; 0 or less: there is room. */
  get excessBytes(): number {
    let bytes = -this.bytesMax;
    for (const { hotBytes } of this.#shards) bytes += hotBytes;
    return bytes;
  }

  /** There may be more than there should be, and something that can leave: perhaps in a shard that has just let nothing go. */
  look(): void {
    this.#stuck.clear();
    if (this.#isLooking || this.excessBytes <= 0) return;
    this.#isLooking = true;
    this.#clock.after(0, () => this.#slice());
  }

  #slice(): void {
    const excessBytes = this.excessBytes;
    const shard = excessBytes > 0 ? this.#next() : undefined;
    if (shard === undefined) return void (this.#isLooking = false);
    if (shard.makeRoom(excessBytes, LOOKS_AT_ONCE) === 0) this.#stuck.add(shard);
    this.#clock.after(0, () => this.#slice());
  }

  /** The shard whose oldest run was used longest ago. */
  #next(): HotShard | undefined {
    let next: HotShard | undefined;
    for (const shard of this.#shards) {
      if (this.#stuck.has(shard) || shard.oldestMs === Infinity) continue;
      if (next === undefined || shard.oldestMs < next.oldestMs) next = shard;
    }
    return next;
  }
}
