/**
 * The read barrier: many ask for the end of the log, few requests go out.
 *
 *     end() end() end()     end() end()
 *       └─────┴─────┴─ wave 1 ─▶ answer
 *                            └─────┴─ wave 2 ─▶ answer
 *
 * An answer proves something only to callers who asked before its request was sent. Who asks while a wave is under way gets the next one.
 */
import { partitionName, type PartitionId } from '../../ports/log.ts';

type Waiter = { readonly resolve: (end: number) => void; readonly reject: (error: unknown) => void };
type Asked = { readonly id: PartitionId; readonly waiters: Waiter[] };

/** The ends in the order of the ids; undefined where the common request had no answer. Never rejects. */
export type EndsTogether = (ids: readonly PartitionId[]) => Promise<readonly (number | undefined)[]>;

export class EndBarrier {
  readonly #together: EndsTogether;
  readonly #alone: (id: PartitionId) => Promise<number>;
  #next = new Map<string, Asked>();
  #out = false;
  #scheduled = false;

  /** `alone` asks for one partition with all the patience that its trouble needs; the next wave does not wait for it. */
  constructor(together: EndsTogether, alone: (id: PartitionId) => Promise<number>) {
    this.#together = together;
    this.#alone = alone;
  }

  end(id: PartitionId): Promise<number> {
    return new Promise((resolve, reject) => {
      const key = partitionName(id);
      const asked = this.#next.get(key) ?? { id, waiters: [] };
      this.#next.set(key, asked);
      asked.waiters.push({ resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#out || this.#scheduled || this.#next.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => void this.#wave());
  }

  async #wave(): Promise<void> {
    this.#scheduled = false;
    this.#out = true;
    const wave = [...this.#next.values()];
    this.#next = new Map();
    const ends = await this.#together(wave.map(({ id }) => id));
    this.#out = false;
    this.#schedule();
    for (const [index, asked] of wave.entries()) this.#settle(asked, ends[index]);
  }

  #settle({ id, waiters }: Asked, end: number | undefined): void {
    if (end !== undefined) {
      for (const { resolve } of waiters) resolve(end);
      return;
    }
    this.#alone(id).then(
      (later) => waiters.forEach(({ resolve }) => resolve(later)),
      (error: unknown) => waiters.forEach(({ reject }) => reject(error)),
    );
  }
}
