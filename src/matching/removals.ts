/** Ids of stored tasks that are done, not journaled as such yet. They go with the next record, or alone once the first has waited long. */
import type { MatchingLimits } from './matching-limits.ts';

const none: readonly number[] = [];

export class Removals {
  readonly #limits: MatchingLimits;
  readonly #ids = new Set<number>();
  /** When they must be journaled; Infinity = there are none. */
  dueMs = Infinity;

  constructor(limits: MatchingLimits) {
    this.#limits = limits;
  }

  has(storedId: number): boolean {
    return this.#ids.has(storedId);
  }

  /** How many of those tasks are among them: a takeover asks for each of its lanes, and there may be thousands of both. */
  countIn(tasks: ReadonlyMap<number, unknown>): number {
    const [fewer, other] = tasks.size < this.#ids.size ? [tasks.keys(), this.#ids] : [this.#ids.keys(), tasks];
    let count = 0;
    for (const id of fewer) if (other.has(id)) count++;
    return count;
  }

  add(storedId: number, nowMs: number): void {
    this.#ids.add(storedId);
    if (this.dueMs === Infinity) this.dueMs = nowMs + this.#limits.removalsFlushMs;
  }

  /** Removals go with the command that is being handled. */
  hasten(nowMs: number): void {
    if (this.#ids.size > 0) this.dueMs = Math.min(this.dueMs, nowMs);
  }

  setBack(byMs: number): void {
    this.dueMs -= byMs;
  }

  /** Removals that go into a record now: a full one's worth, or none before their time unless there is a record anyway. */
  take(nowMs: number, withRecord: boolean): readonly number[] {
    if (this.#ids.size === 0 || (!withRecord && this.dueMs > nowMs)) return none;
    const taken = [...this.#ids].slice(0, this.#limits.removalsPerRecordMax);
    for (const id of taken) this.#ids.delete(id);
    this.dueMs = this.#ids.size > 0 ? nowMs + this.#limits.removalsFlushMs : Infinity;
    return taken;
  }
}
