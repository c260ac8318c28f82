/**
 * Which letters came of the hand-overs of each shard: a hand-over whose answer was lost is repeated, and gets the same ids, also when those are
 * resolved by then.
 *
 *     shard 7     … 41 42 43 │ 44 45 46          sequences that the shard gives to its letters, one after the other
 *     ids                    │ 90 91 95          of the last HAND_OVER_LETTERS_MAX; what is older was answered, and the shard has journaled it
 *
 * A shard has one hand-over under way in each queue, of no more letters than that.
 */
export const HAND_OVER_LETTERS_MAX = 100;

export type HandedOver = { readonly sequence: number; readonly messageId: number };

/** `next`: a new one. `forgotten`: older than what is kept, so its answer was heard. `gap`: those in front of it are not here. */
export type HandOverVerdict = { readonly kind: 'known'; readonly messageId: number } | { readonly kind: 'next' | 'forgotten' | 'gap' };

export class HandOvers {
  /** The oldest first, sequences without a gap. */
  readonly #recent = new Map<number, HandedOver[]>();

  /** The last sequence that came from the shard; 0: none. */
  last(shard: number): number {
    return this.#recent.get(shard)?.at(-1)?.sequence ?? 0;
  }

  judge(shard: number, sequence: number): HandOverVerdict {
    const recent = this.#recent.get(shard) ?? [];
    const last = recent.at(-1)?.sequence ?? 0;
    if (sequence > last) return { kind: sequence === last + 1 ? 'next' : 'gap' };
    const known = recent[recent.length - 1 - (last - sequence)];
    return known === undefined ? { kind: 'forgotten' } : { kind: 'known', messageId: known.messageId };
  }

  note(shard: number, handedOver: HandedOver): void {
    const known = this.#recent.get(shard) ?? [];
    // Ids are found by counting back: what stands before one that is missing (it could not be read) is not told any more.
    const recent = known.at(-1)?.sequence === handedOver.sequence - 1 ? known : [];
    this.#recent.set(shard, recent);
    recent.push(handedOver);
    if (recent.length > HAND_OVER_LETTERS_MAX) recent.shift();
  }

  /** What stood for the shard gives way. */
  replace(shard: number, recent: readonly HandedOver[]): void {
    this.#recent.set(shard, recent.slice(-HAND_OVER_LETTERS_MAX));
  }

  /** By shard. */
  get all(): ReadonlyMap<number, readonly HandedOver[]> {
    return this.#recent;
  }
}
