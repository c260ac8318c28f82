/**
 * Letters that are in the queue are written again at the end of its journal, so that the journal may begin later, and of what was purged or merged
 * nothing can be read any more.
 *
 *     claim ─ 41 ─ 42 ─ ✝41 ─ 43 │ claim ─ 42 ─ 43 ─ @from ─ @head, cut │ …
 *                               cut: the claim from which on a journal may be folded
 *
 * It takes many commands, with merges and purges between them: what has changed since stands behind the cut already, and what somebody has read
 * of it is old.
 */
export class Carrying {
  /** The ids written since the copy began. Undefined: it has not. */
  #changed: Set<number> | undefined;
  /** Purges whose letters stand before the cut. */
  #purgesBefore = 0;

  begin(uncutPurges: number): void {
    this.#changed = new Set();
    this.#purgesBefore = uncutPurges;
  }

  /** How many of `uncutPurges` were made since it began: their letters may stand behind the cut. */
  purgesSince(uncutPurges: number): number {
    return uncutPurges - this.#purgesBefore;
  }

  get isUnderWay(): boolean {
    return this.#changed !== undefined;
  }

  /** A letter is written again with what has changed. */
  wrote(messageId: number): void {
    this.#changed?.add(messageId);
  }

  /** True if the letter has not changed since it was read. */
  isAsRead(messageId: number): boolean {
    return this.#changed?.has(messageId) === false;
  }

  finish(): void {
    this.#changed = undefined;
  }
}
